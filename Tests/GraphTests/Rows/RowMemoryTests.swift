import Synchronization
import Testing

@testable import Graph

struct RowMemoryTests {
    @Test func `every copy of a row is released exactly once`() {
        let census = Census()
        var generator = SeededGenerator(seed: 5)
        do {
            var table = RowTable(layout: RowLayout(Counted.self))
            var copies: [RowTable] = []
            var model: [UInt64: Int] = [:]
            for step in 0..<4_000 {
                let row = UInt64.random(in: 1...300, using: &generator) << (step % 7 == 0 ? 40 : 0)
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<6:
                    let value = Counted(token: Token(census), number: step, text: "a text of more than fifteen bytes")
                    withUnsafePointer(to: value) { _ = table.set(row, version: RowVersion(1), copying: $0) }
                    model[row] = step
                case 6..<9:
                    table.remove(row)
                    model[row] = nil
                default:
                    copies.append(table)
                    if copies.count > 5 { copies.removeFirst() }
                }
            }
            #expect(table.checkInvariants() == [])
            #expect(table.count == model.count)
            for (row, number) in model { #expect(table.value(of: row, as: Counted.self)?.number == number) }
            #expect(census.count > 0)
        }
        #expect(census.count == 0)
    }

    @Test func `rows without a size, with sixteen-byte alignment and with padding keep their places`() {
        check(Nothing()) { $0 == $1 }
        check(Wide(first: true, number: -5, last: 7)) { $0 == $1 }
        check(Padded(a: true, b: 1 << 40, c: nil, d: .text("x"))) { $0 == $1 }
        check(Box(value: "a text of more than fifteen bytes")) { $0 == $1 }
        check(Box<Int8>(value: 3)) { $0 == $1 }
    }

    private func check<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) {
        var table = RowTable(layout: RowLayout(Value.self))
        let rows: [UInt64] = Array(1...100) + [1 << 20, 1 << 63, .max - 40]
        for row in rows { withUnsafePointer(to: value) { _ = table.set(row, version: RowVersion(row), copying: $0) } }
        let copy = table
        for row in rows where row % 2 == 0 { table.remove(row) }
        #expect(table.checkInvariants() == [] && copy.checkInvariants() == [])
        var walked: [UInt64] = []
        copy.forEachRow { row, version, address in
            #expect(version.number == row)
            #expect(Int(bitPattern: address) % MemoryLayout<Value>.alignment == 0)
            #expect(areEqual(address.assumingMemoryBound(to: Value.self).pointee, value))
            walked.append(row)
        }
        #expect(walked == rows)
        var gone: [UInt64] = []
        table.forEachDifference(from: copy) { row, old, new in
            #expect(old != nil && new == nil)
            gone.append(row)
        }
        #expect(gone == rows.filter { $0 % 2 == 0 })
    }
}

/// Entities whose rows end before their stride does, or have no bytes.
struct RowEndTests {
    @Test func `rows that end before their stride are read to their end and no further`() async throws {
        let coordinator = try await Coordinator(for: Short.self, Empty.self)
        let context = Context(coordinator)
        for round in 0..<50 {
            try await context.transaction { context in
                for _ in 0..<20 {
                    context.insert(Short(number: round, isLast: true))
                    context.insert(Empty())
                }
                for short in try context.fetch(Short.self, limit: 5) { short.isLast.toggle() }
                context.insert(contentsOf: [Empty(), Empty()])
            }
        }
        #expect(try coordinator.snapshot.fetchValues(Short.self).count == 1_000)
        #expect(coordinator.snapshot.count(of: Empty.self) == 1_100)
    }
}

@Entity private struct Short {
    var number: Int
    var isLast: Bool
}

@Entity private struct Empty {
}

private final class Census: Sendable {
    private let living = Mutex(0)
    var count: Int { living.withLock { $0 } }
    func add(_ number: Int) { living.withLock { $0 += number } }
}

private final class Token: Sendable {
    private let census: Census

    init(_ census: Census) {
        self.census = census
        census.add(1)
    }

    deinit { census.add(-1) }
}

private struct Counted: Sendable {
    var token: Token
    var number: Int
    var text: String
}

private struct Nothing: Equatable {}

private struct Wide: Equatable {
    var first: Bool
    var number: Int128
    var last: Int8
}

private struct Padded: Equatable {
    enum Payload: Equatable {
        case text(String)
        case number(Int)
    }

    var a: Bool
    var b: UInt64
    var c: Bool?
    var d: Payload
}

private struct Box<Value: Sendable & Equatable>: Equatable {
    var value: Value
}
