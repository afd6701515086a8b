/// The permanent number of a row within its entity, from 1. 0 stands for no row.
@usableFromInline
typealias RowNumber = UInt64

/// How often a row was committed: 1 after the commit that inserted it, and one more for each commit that changed it. A deleted
/// row that comes back counts on from the number of the commit that brings it back, which is higher than any version it had.
///
/// 0 stands for a row that does not exist: not yet saved, or deleted.
public struct RowVersion: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The version as a plain number.
    public let number: UInt64

    @usableFromInline
    init(_ number: UInt64) {
        self.number = number
    }

    static let none = RowVersion(0)

    var next: RowVersion { RowVersion(number + 1) }

    /// Earlier versions of one row come first; comparing versions of different rows has no meaning.
    public static func < (lhs: RowVersion, rhs: RowVersion) -> Bool { lhs.number < rhs.number }

    /// The number in decimal digits.
    public var description: String { String(number) }
}

/// The position of a commit in the store's history: 1, 2, 3 … without gaps. 0 is the empty store.
public struct CommitNumber: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The position as a plain number.
    public let number: UInt64

    init(_ number: UInt64) {
        self.number = number
    }

    static let none = CommitNumber(0)

    var next: CommitNumber { CommitNumber(number + 1) }

    /// Earlier commits come first.
    public static func < (lhs: CommitNumber, rhs: CommitNumber) -> Bool { lhs.number < rhs.number }

    /// The number in decimal digits.
    public var description: String { String(number) }
}
