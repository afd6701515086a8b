import Synchronization

@testable import Graph

/// How many instances of a class are alive, for tests that look for leaks and double releases.
final class LiveCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ difference: Int) {
        count.wrappingAdd(difference, ordering: .relaxed)
    }
}

/// A row that holds a counted instance, and enough beside it to notice a row that was copied in part.
struct TokenRow: Sendable, Equatable {
    final class Token: Sendable {
        let number: UInt64
        private let live: LiveCount

        init(_ number: UInt64, _ live: LiveCount) {
            self.number = number
            self.live = live
            live.add(1)
        }

        deinit { live.add(-1) }
    }

    static let layout = RowLayout(TokenRow.self)

    var before: UInt64
    var token: Token
    var after: UInt8

    init(_ number: UInt64, _ live: LiveCount) {
        before = number
        token = Token(number, live)
        after = UInt8(truncatingIfNeeded: number)
    }

    var isWhole: Bool { token.number == before && after == UInt8(truncatingIfNeeded: before) }

    static func == (lhs: TokenRow, rhs: TokenRow) -> Bool {
        lhs.before == rhs.before && lhs.token === rhs.token && lhs.after == rhs.after
    }
}

extension RowTable {
    @discardableResult
    mutating func set<Value>(_ row: RowNumber, version: UInt64, _ value: Value) -> Bool {
        withUnsafePointer(to: value) { set(row, version: RowVersion(version), copying: $0) }
    }

    @discardableResult
    mutating func set<Value>(_ row: RowNumber, version: UInt64, moving value: Value) -> Bool {
        withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
            memory.initializeElement(at: 0, to: value)
            return set(row, version: RowVersion(version), moving: UnsafeMutableRawPointer(memory.baseAddress!))
        }
    }

    /// What `forEachRow` walks over; the addresses are valid as long as the table.
    var entries: [(row: RowNumber, version: RowVersion, address: UnsafeRawPointer)] {
        var entries: [(RowNumber, RowVersion, UnsafeRawPointer)] = []
        forEachRow { entries.append(($0, $1, $2)) }
        return entries
    }

    var rowNumbers: [RowNumber] { entries.map(\.row) }
}

extension WorkingState {
    func rows<E: Entity>(of type: E.Type) -> [RowNumber] {
        snapshot.entities[schema.number(of: type)].rows.rowNumbers
    }
}
