import Synchronization

/// Hands out row numbers: one counter for each entity, ascending from 1, without waiting for anybody.
final class RowCounters: Sendable {
    /// The largest row number that a file may contain; far from where adding could overflow.
    static let maximum: RowNumber = 1 << 62

    private final class Counter: Sendable {
        let next: Atomic<RowNumber>

        init(_ next: RowNumber) {
            self.next = Atomic(next)
        }
    }

    private let counters: [Counter]

    /// - Parameter next: by entity, the first number to hand out.
    init(next: [RowNumber]) {
        counters = next.map { Counter($0) }
    }

    func next(of entity: Int) -> RowNumber {
        counters[entity].next.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    /// By entity, the first number that is not handed out yet.
    var all: [RowNumber] {
        counters.map { $0.next.load(ordering: .relaxed) }
    }

    /// What a mark and the end of a file hold.
    static func encode(_ counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendCounters(counters)
        return writer.bytes
    }
}
