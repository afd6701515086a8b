/// Walks over the rows, leaf by leaf.
extension RowTable {
    /// Up to 32 rows that lie side by side.
    @usableFromInline
    struct Run {
        /// The number of the row at place 0, occupied or not.
        @usableFromInline let firstRow: RowNumber
        /// Bit *n* is set where the row at place *n* exists.
        @usableFromInline let occupancy: UInt32
        /// The address of the row at place 0; the others follow at the layout's stride.
        @usableFromInline let values: UnsafeRawPointer
        let versions: UnsafePointer<UInt64>

        /// Where the search for the next run begins; nil after the largest number.
        @inlinable var end: RowNumber? {
            let (end, isBeyond) = firstRow.addingReportingOverflow(32)
            return isBeyond ? nil : end
        }
    }

    /// The first leaf with rows at or after a row number; nil if there is none. The addresses are valid while this table, or a
    /// copy of it, is neither changed nor released.
    ///
    /// A walk calls this again from the run's end. That costs a descent for every 32 rows, and keeps the loop, with its work on
    /// each row, in the caller's own code.
    @usableFromInline
    func run(from row: RowNumber) -> Run? {
        let bits = height * RowBranch.bits
        guard let root, (row >> 5) >> bits <= prefix else { return nil }
        let node = Unmanaged.passUnretained(root).toOpaque()
        return Self.run(from: row >> 5, in: node, at: height, leafNumber: prefix << bits)
    }

    /// - Parameter leafNumber: the number of the first possible leaf under the node.
    private static func run(
        from first: UInt64,
        in node: UnsafeMutableRawPointer,
        at level: UInt64,
        leafNumber: UInt64
    ) -> Run? {
        if level == 0 {
            return Unmanaged<RowLeaf>.fromOpaque(node)._withUnsafeGuaranteedRef { leaf in
                Run(
                    firstRow: leafNumber << 5,
                    occupancy: leaf.occupancy,
                    values: UnsafeRawPointer(leaf.values),
                    versions: UnsafePointer(leaf.versions)
                )
            }
        }
        let children = Unmanaged<RowBranch>.fromOpaque(node)._withUnsafeGuaranteedRef { UnsafeRawPointer($0.children) }
        let shift = (level - 1) * RowBranch.bits
        // Below the first digit, only leaves after `first` are left.
        let firstDigit = first > leafNumber ? (first - leafNumber) >> shift : 0
        for digit in firstDigit..<UInt64(RowBranch.capacity) {
            guard let child = (children + 8 * Int(digit)).load(as: UnsafeMutableRawPointer?.self) else { continue }
            if let run = run(from: first, in: child, at: level - 1, leafNumber: leafNumber + digit << shift) {
                return run
            }
        }
        return nil
    }

    /// Calls the body with number, version and address of each row, in ascending order.
    func forEachRow(_ body: (RowNumber, RowVersion, UnsafeRawPointer) throws -> Void) rethrows {
        var next: RowNumber? = 0
        while let start = next, let run = run(from: start) {
            try run.occupancy.forEachBit { place in
                let version = RowVersion(run.versions[place])
                try body(run.firstRow + UInt64(place), version, run.values + place * layout.stride)
            }
            next = run.end
        }
    }

    /// The leaf numbers from the first row to the last one, in parts of as many numbers each, for several threads; one part where
    /// there are few rows.
    var parts: [Range<UInt64>] {
        guard let last = lastRow, let first = run(from: 0)?.firstRow else { return [] }
        let (start, end) = (first >> 5, last >> 5 + 1)
        let length = (end - start) / (count > 4_096 ? 8 : 1) + 1
        return (0..<8).map { start + $0 * length }.filter { $0 < end }.map { $0..<min($0 + length, end) }
    }

    /// Calls the body with each run of the leaves, in ascending order.
    func forEachRun(in leaves: Range<UInt64>, _ body: (Run) throws -> Void) rethrows {
        var next: RowNumber? = leaves.lowerBound << 5
        while let start = next, let run = run(from: start), run.firstRow >> 5 < leaves.upperBound {
            try body(run)
            next = run.end
        }
    }
}
