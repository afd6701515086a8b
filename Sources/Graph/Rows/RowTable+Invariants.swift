extension RowTable {
    /// Checks the numbered invariants above and returns the ones that do not hold.
    func checkInvariants() -> [String] {
        var failures: [String] = []
        var occupied = 0
        func visit(_ node: AnyObject, _ level: UInt64) {
            if level == 0 {
                guard let leaf = node as? RowLeaf else { return failures.append("1: no leaf at height 0") }
                if leaf.occupancy == 0 { failures.append("3: an empty leaf") }
                if leaf.header.layout !== layout { failures.append("2: a leaf of another layout") }
                occupied += leaf.occupancy.nonzeroBitCount
                return
            }
            guard let branch = node as? RowBranch else { return failures.append("1: no branch at height \(level)") }
            let children = (0..<RowBranch.capacity).compactMap { branch.children[$0] }
            if children.isEmpty { failures.append("3: an empty branch") }
            if children.count != branch.count {
                failures.append("3: \(children.count) children, not \(branch.count)")
            }
            for child in children { visit(child, level - 1) }
        }
        if let root { visit(root, height) }
        if occupied != count { failures.append("4: \(occupied) rows, not \(count)") }
        return failures
    }
}
