/// The number of a record in its file: 1, 2, 3 … without gaps. 0 stands for none.
///
/// A type of its own, since it stands beside offsets nearly everywhere.
struct JournalSequence: Sendable, Hashable, Comparable, CustomStringConvertible {
    let number: UInt64

    init(_ number: UInt64) {
        self.number = number
    }

    static let none = JournalSequence(0)

    var next: JournalSequence { JournalSequence(number + 1) }

    /// Earlier records come first.
    static func < (lhs: JournalSequence, rhs: JournalSequence) -> Bool { lhs.number < rhs.number }

    var description: String { String(number) }
}
