/// A condition of a predicate, for rows that lie side by side.
///
/// Conditions pass on masks: an operator looks only at the rows that are left, and the loop over them is compiled for the
/// property's type and the operator. That took a fifth of the time of calling a closure for each row and node (vectorized
/// selection after Boncz, Zukowski and Nes, *MonetDB/X100*, 2005).
struct RowCondition {
    /// Bit *n* stands for the row at place *n* of a block. Returns those of the mask whose rows match.
    let narrow: (RowBlock, UInt32) throws -> UInt32
    /// What is known of the rows that match.
    var access: IndexAccess = .all
}

/// Up to 32 rows side by side.
struct RowBlock {
    let values: UnsafeRawPointer
    let stride: Int
    let firstRow: RowNumber
}

/// A test of a property's value: a type, so that the compiler makes a loop for each.
protocol PropertyTest {
    associatedtype Value
    func matches(_ value: Value) -> Bool
}

/// A test that is a function.
struct FunctionTest<Value>: PropertyTest {
    let function: (Value) -> Bool

    func matches(_ value: Value) -> Bool { function(value) }
}

extension RowTable {
    /// Calls the body with each block, from the one of a row on, and the mask of the places that have rows, until it returns false.
    @inline(__always)
    func forEachBlock(from first: RowNumber = 0, _ body: (RowBlock, UInt32) throws -> Bool) rethrows {
        defer { withExtendedLifetime(self) {} }
        var next = run(from: first)
        while let run = next {
            // One run ahead: the processor fetches the next rows while it works on these.
            next = run.end.flatMap { self.run(from: $0) }
            let block = RowBlock(values: run.values, stride: layout.stride, firstRow: run.firstRow)
            guard try body(block, run.occupancy) else { return }
        }
    }
}

extension RowCondition {
    static func constant(_ result: Bool) -> RowCondition {
        RowCondition(narrow: { _, mask in result ? mask : 0 }, access: result ? .all : .none)
    }

    /// Any condition, evaluated row by row.
    init(of slot: RowSlot, _ test: @escaping () throws -> Bool) {
        self.init { block, mask in
            var (rest, result): (UInt32, UInt32) = (mask, 0)
            while rest != 0 {
                let place = rest.trailingZeroBitCount
                rest &= rest &- 1
                slot.address = block.values + place &* block.stride
                slot.number = block.firstRow &+ RowNumber(place)
                if try test() { result |= 1 << place }
            }
            return result
        }
    }

    /// A condition on one property. Always inlined, so that the loop is compiled for the type and the operator.
    @inline(__always)
    init<Test: PropertyTest>(at offset: Int, _ test: Test) {
        self.init { block, mask in
            let first = block.values + offset
            var (rest, result): (UInt32, UInt32) = (mask, 0)
            while rest != 0 {
                let place = rest.trailingZeroBitCount
                rest &= rest &- 1
                let value = (first + place &* block.stride).assumingMemoryBound(to: Test.Value.self)
                if test.matches(value.pointee) { result |= 1 << place }
            }
            return result
        }
    }

    /// A condition that depends on the target of a reference alone: evaluated once for each target.
    init(
        onTargetOf reference: Column, slot: RowSlot, _ scope: PredicateScope, _ test: @escaping () throws -> Bool
    ) {
        var memo = TargetMemo(scope.generation)
        self.init { block, mask in
            if memo.generation != scope.generation { memo = TargetMemo(scope.generation) }
            var (rest, result): (UInt32, UInt32) = (mask, 0)
            while rest != 0 {
                let place = rest.trailingZeroBitCount
                rest &= rest &- 1
                let row = block.values + place &* block.stride
                let target = (row + reference.offset).load(as: RowNumber.self)
                let matches = try memo.result(for: target) {
                    (slot.address, slot.number) = (row, block.firstRow &+ RowNumber(place))
                    return try test()
                }
                if matches { result |= 1 << place }
            }
            return result
        }
    }

    static func && (lhs: RowCondition, rhs: RowCondition) -> RowCondition {
        RowCondition(
            narrow: { block, mask in
                let left = try lhs.narrow(block, mask)
                return left == 0 ? 0 : try rhs.narrow(block, left)
            }, access: .intersection(lhs.access, rhs.access))
    }

    static func || (lhs: RowCondition, rhs: RowCondition) -> RowCondition {
        RowCondition(
            narrow: { block, mask in
                let left = try lhs.narrow(block, mask)
                let rest = mask & ~left
                return rest == 0 ? left : try left | rhs.narrow(block, rest)
            }, access: .either(lhs.access, rhs.access))
    }

    static prefix func ! (condition: RowCondition) -> RowCondition {
        RowCondition { block, mask in try mask & ~condition.narrow(block, mask) }
    }
}

/// What a condition came to for the targets asked about so far.
private struct TargetMemo {
    /// By row number, two bits each: 0 not known, 2 no match, 3 a match.
    private var known: [UInt8] = []
    private var others: [RowNumber: Bool] = [:]
    /// Targets with larger numbers are in the dictionary, so that memory is bounded.
    private static let limit: RowNumber = 1 << 22
    let generation: Int

    init(_ generation: Int) {
        self.generation = generation
    }

    mutating func result(for target: RowNumber, _ evaluate: () throws -> Bool) rethrows -> Bool {
        guard target < Self.limit else {
            if let known = others[target] { return known }
            let result = try evaluate()
            others[target] = result
            return result
        }
        let number = Int(target)
        if number < known.count, known[number] != 0 { return known[number] == 3 }
        let result = try evaluate()
        if number >= known.count {
            known.append(contentsOf: repeatElement(0, count: max(number + 1 - known.count, known.count, 256)))
        }
        known[number] = result ? 3 : 2
        return result
    }
}
