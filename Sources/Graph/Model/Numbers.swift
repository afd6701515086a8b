/// The permanent number of a row within its entity, from 1. 0 stands for no row.
@usableFromInline
typealias RowNumber = UInt64

/// How often a row was committed: 1 after the commit that inserted it, one more for each commit that changed it. A row that was
/// deleted and has come back counts on from the number of the commit that brought it back, which no version of it can have reached.
///
/// 0 stands for a row that is not there: not yet saved, or deleted.
public struct RowVersion: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The version as a plain number.
    public let number: UInt64

    @usableFromInline
    init(_ number: UInt64) {
        self.number = number
    }

    static let none = RowVersion(0)

    var next: RowVersion { RowVersion(number + 1) }

    /// Earlier versions of one row come first; versions of different rows say nothing about each other.
    public static func < (lhs: RowVersion, rhs: RowVersion) -> Bool { lhs.number < rhs.number }

    /// The number in decimal digits.
    public var description: String { String(number) }
}

/// The place of a commit in the store's history: 1, 2, 3 … without gaps. 0 is the empty store.
public struct CommitNumber: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The place as a plain number.
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
