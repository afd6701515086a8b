/// The items of an error: the first 10,000 at most, and how many there are in all.
///
/// ```swift
/// } catch GraphError.notUnique(let violations) {
///     for violation in violations { print(violation) }
///     if violations.totalCount > violations.count { print("… of \(violations.totalCount)") }
/// }
/// ```
///
/// Its description has the first ten at most, in about 2,000 characters.
public struct ErrorList<Element: Sendable>: Sendable {
    private var elements: [Element]
    /// How many items there are; `count` is how many of them the list holds.
    public private(set) var totalCount: Int

    /// The maximum length, so that an error about a million objects does not list them all.
    static var limit: Int { 10_000 }
    private static var printedLimit: Int { 10 }
    private static var printedLength: Int { 2_000 }

    init() {
        (elements, totalCount) = ([], 0)
    }

    init(_ elements: some Collection<Element>) {
        self.elements = Array(elements.prefix(Self.limit))
        totalCount = elements.count
    }

    /// Evaluates the element only if it is listed.
    mutating func append(_ element: @autoclosure () -> Element) {
        totalCount += 1
        if elements.count < Self.limit { elements.append(element()) }
    }

    mutating func modifyEach(_ body: (inout Element) -> Void) {
        for position in elements.indices { body(&elements[position]) }
    }

    /// A list of what becomes of the items, with the number of all.
    func mapItems<Other>(_ transform: (Element) -> Other) -> ErrorList<Other> {
        var list = ErrorList<Other>(elements.map(transform))
        list.totalCount = totalCount
        return list
    }

    static func += (list: inout ErrorList, other: ErrorList) {
        list.elements += other.elements.prefix(limit - list.elements.count)
        list.totalCount += other.totalCount
    }
}

extension ErrorList: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of items in the list.
    public var endIndex: Int { elements.count }

    /// The item at a position, counted from 0.
    ///
    /// Complexity: O(1).
    public subscript(position: Int) -> Element { elements[position] }
}

extension ErrorList: ExpressibleByArrayLiteral {
    /// A list of these items.
    ///
    /// Complexity: O(*k*) for *k* items.
    public init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension ErrorList: Equatable where Element: Equatable {}
extension ErrorList: Hashable where Element: Hashable {}

extension ErrorList: CustomStringConvertible {
    /// The first ten items, each on a line or more, and how many others there are.
    public var description: String { lines(indent: "").joined(separator: "\n") }

    func lines(indent: String) -> [String] {
        var lines: [String] = []
        var length = 0
        for element in elements.prefix(Self.printedLimit) {
            // Long elements leave less room for others, but the first is always printed.
            if length > Self.printedLength { break }
            let line = indent + "\(element)".shortened(to: Self.printedLength)
            length += line.utf8.count
            lines.append(line)
        }
        if totalCount > lines.count { lines.append("\(indent)and \(totalCount - lines.count) more") }
        return lines
    }

    /// `values are not unique: 2 violations`, and the first of them.
    func description(_ title: String, _ noun: String, indent: String = "  ") -> String {
        let count = totalCount == 1 ? "1 \(noun)" : "\(totalCount) \(noun)s"
        return (["\(title): \(count)"] + lines(indent: indent)).joined(separator: "\n")
    }
}

extension String {
    /// The length of a single value in messages.
    static var longestValue: Int { 100 }

    /// The text, or its beginning and its length in bytes of UTF-8.
    func shortened(to length: Int = longestValue) -> String {
        let count = utf8.count
        guard count > length else { return self }
        // Cut between scalars: a character may be of any length.
        let end = utf8.index(startIndex, offsetBy: length)
        return "\(self[..<index(roundingDown: end)])… (\(count) bytes)"
    }

    private func index(roundingDown index: String.Index) -> String.Index {
        var index = index
        while index > startIndex, index.samePosition(in: unicodeScalars) == nil { index = utf8.index(before: index) }
        return index
    }
}
