#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A predicate, made ready to be asked about the rows of one state.
///
/// Confined to whoever makes it: it remembers which row it is at.
final class RowPredicate<E: Entity> {
    private let predicate: Predicate<E>
    /// The state whose rows are asked about, and in which relationships are followed.
    var snapshot: Snapshot

    /// - Throws: `GraphError.predicateNotSupported`.
    init(_ predicate: Predicate<E>, in snapshot: Snapshot) throws {
        self.predicate = predicate
        self.snapshot = snapshot
    }

    func matches(_ value: E) throws -> Bool { try predicate.evaluate(value) }
}
