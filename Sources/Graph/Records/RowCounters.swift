import Synchronization

/// Hands out row numbers: one counter for each entity, ascending from 1, without waiting for anybody.
final class RowCounters: Sendable {
    /// The largest row number that a file may contain; far from where adding could overflow.
    static let maximum: RowNumber = 1 << 62
    /// Of a row number, the bits that count. Those above are the number of the writer that handed it out: 0 in a store that never
    /// had more than one.
    static let countingBits: RowNumber = 44

    private final class Counter: Sendable {
        let next: Atomic<RowNumber>

        init(_ next: RowNumber) {
            self.next = Atomic(next)
        }
    }

    private let counters: [Counter]
    /// By entity, numbers that imports have taken and not used, in their order. Counters never go down.
    private let unused: Mutex<[[ClosedRange<RowNumber>]]>

    /// - Parameter next: by entity, the first number to hand out.
    init(next: [RowNumber]) {
        counters = next.map { Counter($0) }
        unused = Mutex(next.map { _ in [] })
    }

    func next(of entity: Int) -> RowNumber {
        counters[entity].next.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    /// Hands out a number that the caller chooses, with others beside it; nil if somebody has it.
    func take(_ row: RowNumber, of entity: Int) -> ClosedRange<RowNumber>? {
        let counter = counters[entity]
        var next = counter.next.load(ordering: .relaxed)
        while next <= row {
            let (isDone, found) = counter.next.compareExchange(expected: next, desired: row + 1, ordering: .relaxed)
            if isDone { return next...row }
            next = found
        }
        return unused.withLock { unused in
            unused[entity].firstIndex { $0.contains(row) }.map { unused[entity].remove(at: $0) }
        }
    }

    /// The next numbers, by entity, of a store that has lost commits. What these inserted may have had numbers from here on, of
    /// this writer or of later ones; it is less than what is left out.
    static func next(afterLossBehind next: [RowNumber]) -> [RowNumber] {
        let writer = lastWriter(next)
        guard writer > 0 else { return next.map { min($0 + 1 << 36, 1 << countingBits - 1) } }
        return next.map { _ in min((writer + 256) << countingBits + 1, maximum) }
    }

    /// Hands out none below these, by entity.
    func raise(to next: [RowNumber]) {
        for (counter, next) in zip(counters, next) { counter.next.max(next, ordering: .relaxed) }
    }

    /// Takes back numbers that were taken and that nothing has.
    func giveBack(_ rows: ClosedRange<RowNumber>, of entity: Int) {
        unused.withLock { unused in
            var merged: [ClosedRange<RowNumber>] = []
            for range in (unused[entity] + [rows]).sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let last = merged.last, last.upperBound + 1 == range.lowerBound {
                    merged[merged.count - 1] = last.lowerBound...range.upperBound
                } else {
                    merged.append(range)
                }
            }
            unused[entity] = merged
        }
    }

    /// Whether nothing has ever got a number that may still have it.
    var areUnused: Bool {
        zip(all, unused.withLock { $0 }).allSatisfy { next, unused in next == 1 || unused == [1...(next - 1)] }
    }

    /// By entity, the first number that is not handed out yet.
    var all: [RowNumber] {
        counters.map { $0.next.load(ordering: .relaxed) }
    }

    /// The number of the last writer that has handed out row numbers; 0 in a store that never had more than one.
    ///
    /// - Parameter next: by entity, the first number that is not handed out yet.
    static func lastWriter(_ next: [RowNumber]) -> UInt64 {
        next.map { $0 >> countingBits }.max() ?? 0
    }

    /// What a mark and the end of a file hold.
    static func encode(_ counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendCounters(counters)
        return writer.bytes
    }
}
