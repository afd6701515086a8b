#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// All that a fetch says: which objects, in what order, and which part of them.
///
/// ```swift
/// var adults = FetchDescriptor<Person>(predicate: #Predicate { $0.age >= 18 }, sortBy: [.ascending(\.name)])
/// adults.fetchLimit = 20
/// let people = try snapshot.fetchValues(adults)
/// ```
///
/// It belongs to no store: keep it, change it, pass it to any thread, and fetch with it from any snapshot or context.
public struct FetchDescriptor<E: Entity>: Sendable {
    /// The condition that objects must meet; nil for all objects. <doc:Queries> says what it may contain.
    public var predicate: Predicate<E>?
    /// The sort criteria, the most significant one first; without any, results come in insertion order.
    public var sortBy: [Ordering<E>]
    /// How many results to return at most, which must not be negative; nil for all.
    public var fetchLimit: Int?
    /// How many of the first results to skip; must not be negative.
    public var fetchOffset: Int
    /// Where the result begins: behind the page that a ``FetchPage`` has ended; nil for the beginning. The offset counts from there.
    public var after: PageToken?
    /// Whether a context's unsaved changes count. Snapshots have none.
    public var includesPendingChanges = true

    /// Describes a fetch.
    ///
    /// Complexity: O(1).
    public init(
        predicate: Predicate<E>? = nil,
        sortBy: [Ordering<E>] = [],
        fetchLimit: Int? = nil,
        fetchOffset: Int = 0,
        after: PageToken? = nil
    ) {
        self.predicate = predicate
        self.sortBy = sortBy
        self.fetchLimit = fetchLimit
        self.fetchOffset = fetchOffset
        self.after = after
    }
}

extension FetchDescriptor: CustomStringConvertible, CustomReflectable {
    /// What the fetch says but for its predicate, which Foundation cannot describe where it asks for members:
    /// `Person by a predicate, sorted by name descending, offset 40, limit 20`.
    public var description: String {
        let parts = [
            "\(E.self)" + (predicate == nil ? "" : " by a predicate"),
            sortBy.isEmpty ? nil : "sorted by \(sortBy.map(\.description).joined(separator: ", "))",
            after == nil ? nil : "after a page", fetchOffset == 0 ? nil : "offset \(fetchOffset)",
            fetchLimit.map { "limit \($0)" }, includesPendingChanges ? nil : "without pending changes",
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
