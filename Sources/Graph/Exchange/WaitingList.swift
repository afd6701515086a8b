/// What waits in an import, in the order in which it came.
///
/// A batch costs no more for what others have left here: elements are appended to pieces that copies share, and one that waits no
/// longer is removed when its piece is next joined to another one. Lists are equal if the same elements wait in the same order.
struct WaitingList<Element: Sendable & Hashable>: Sendable {
    private struct Event: Sendable {
        let element: Element
        /// Whether the element waits no longer.
        let isEnd: Bool
    }

    private var shared = Pieces<[Event]>()
    /// Since the last call of `share()`.
    private var recent: [Event] = []
    /// How many recent events there may be before those that cancel each other are removed.
    private var recentLimit = Self.leastLimit

    private static var leastLimit: Int { 1_024 }

    init(_ elements: [Element] = []) {
        shared.append(elements.map { Event(element: $0, isEnd: false) }, joiningBy: Self.join)
    }

    /// - Parameter element: one that has not waited before.
    mutating func append(_ element: Element) { append(Event(element: element, isEnd: false)) }

    /// - Parameter element: one that waits.
    mutating func remove(_ element: Element) { append(Event(element: element, isEnd: true)) }

    private mutating func append(_ event: Event) {
        recent.append(event)
        guard recent.count > recentLimit else { return }
        recent = Self.waiting(recent)
        recentLimit = max(2 * recent.count, Self.leastLimit)
    }

    /// Prepares a copy, after which each change would copy what is recent.
    mutating func share() {
        shared.append(Self.waiting(recent), joiningBy: Self.join)
        (recent, recentLimit) = ([], Self.leastLimit)
    }

    /// What waits.
    ///
    /// Complexity: O(*n*) for what has come since the last joining of pieces.
    var elements: [Element] { Self.waiting(shared.all.joined() + recent).map(\.element) }

    private static func join(_ older: [Event], _ newer: [Event]) -> [Event] { waiting(older + newer) }

    /// The events without elements that both come and end here.
    private static func waiting(_ events: [Event]) -> [Event] {
        let ends = Set(events.lazy.filter(\.isEnd).map(\.element))
        guard !ends.isEmpty else { return events }
        let both = Set(events.lazy.filter { !$0.isEnd && ends.contains($0.element) }.map(\.element))
        return events.filter { !both.contains($0.element) }
    }
}

extension WaitingList: Hashable {
    static func == (lhs: WaitingList, rhs: WaitingList) -> Bool { lhs.elements == rhs.elements }

    func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

/// A list of the elements.
extension WaitingList: Codable where Element: Codable {
    init(from decoder: any Decoder) throws { self.init(try [Element](from: decoder)) }

    func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
}
