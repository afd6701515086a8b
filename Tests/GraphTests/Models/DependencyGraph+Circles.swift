extension DependencyGraph {
    /// For each set of transactions that depend on each other in a circle, its worst circle.
    func worstCircles() -> [Anomaly] {
        var outgoing = Array(repeating: [Int](), count: transactions.count)
        for (number, edge) in edges.enumerated() { outgoing[edge.from].append(number) }
        return components(outgoing).filter { $0.count > 1 }.map { worstCircle(in: Set($0)) }
    }

    /// The strongly connected components (Tarjan 1972), without recursion.
    private func components(_ outgoing: [[Int]]) -> [[Int]] {
        var components: [[Int]] = []
        var index = Array(repeating: -1, count: outgoing.count)
        var low = index
        var isOnStack = Array(repeating: false, count: outgoing.count)
        var (stack, path, next) = ([Int](), [(node: Int, edge: Int)](), 0)
        func enter(_ node: Int) {
            (index[node], low[node], isOnStack[node]) = (next, next, true)
            next += 1
            stack.append(node)
            path.append((node, 0))
        }
        for root in outgoing.indices where index[root] < 0 {
            enter(root)
            while let (node, edge) = path.last {
                if edge < outgoing[node].count {
                    path[path.count - 1].edge += 1
                    let target = edges[outgoing[node][edge]].to
                    if index[target] < 0 {
                        enter(target)
                    } else if isOnStack[target] {
                        low[node] = min(low[node], index[target])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
                guard low[node] == index[node] else { continue }
                let start = stack.lastIndex(of: node) ?? 0
                components.append(Array(stack[start...]))
                for member in stack[start...] { isOnStack[member] = false }
                stack.removeSubrange(start...)
            }
        }
        return components
    }

    // MARK: The worst circle

    /// Which edges a circle may have, from the worst on. Each stage is tried without time first.
    private enum Stage: CaseIterable {
        case writes
        case flow
        case oneRead
        case readsApart
        case any
    }

    private func worstCircle(in component: Set<Int>) -> Anomaly {
        let inside = edges.filter { component.contains($0.from) && component.contains($0.to) }
        for stage in Stage.allCases {
            for needsTime in [false, true] {
                let allowed = inside.filter { needsTime || $0.kind != .time }
                if let circle = shortestCircle(stage, allowed) {
                    return Anomaly(kind: kind(of: circle, stage), needsTime: needsTime, text: text(of: circle))
                }
            }
        }
        preconditionFailure("a strongly connected component has a circle")
    }

    private func shortestCircle(_ stage: Stage, _ edges: [Edge]) -> [Edge]? {
        let start: Edge.Kind =
            switch stage {
            case .writes: .ww
            case .flow: .wr
            case .oneRead, .readsApart, .any: .rw
            }
        var outgoing: [Int: [Edge]] = [:]
        for edge in edges where stage != .writes || edge.kind != .wr {
            let isRead = edge.kind == .rw
            if !isRead || stage == .readsApart || stage == .any { outgoing[edge.from, default: []].append(edge) }
        }
        var shortest: [Edge]?
        for edge in edges where edge.kind == start {
            guard let rest = path(after: edge, outgoing, readsApart: stage == .readsApart),
                rest.count + 1 < shortest?.count ?? .max
            else { continue }
            shortest = [edge] + rest
        }
        return shortest
    }

    /// The shortest way from an edge's end back to its beginning.
    ///
    /// - Parameter readsApart: no two rw edges may follow each other, around the circle.
    private func path(after edge: Edge, _ outgoing: [Int: [Edge]], readsApart: Bool) -> [Edge]? {
        struct Place: Hashable {
            let node: Int
            let isAfterRead: Bool
        }
        var reached: [Place: (edge: Edge, previous: Place)] = [:]
        var queue = [Place(node: edge.to, isAfterRead: readsApart)]
        let start = queue[0]
        var head = 0
        while head < queue.count {
            let place = queue[head]
            head += 1
            for next in outgoing[place.node] ?? [] {
                let isRead = readsApart && next.kind == .rw
                guard !(isRead && (place.isAfterRead || next.to == edge.from)) else { continue }
                let target = Place(node: next.to, isAfterRead: isRead)
                guard target != start, reached[target] == nil else { continue }
                reached[target] = (next, place)
                guard next.to == edge.from else {
                    queue.append(target)
                    continue
                }
                var (path, last) = ([Edge](), target)
                while let step = reached[last] {
                    path.append(step.edge)
                    last = step.previous
                }
                return path.reversed()
            }
        }
        return nil
    }

    private func kind(of circle: [Edge], _ stage: Stage) -> Anomaly.Kind {
        switch stage {
        case .writes: return .g0
        case .flow: return .g1c
        case .oneRead: return kind(ofCircleWithOneRead: circle)
        case .readsApart: return .gNonadjacent
        case .any: return circle.contains { $0.kind == .rw && $0.predicate != nil } ? .g2 : .g2Item
        }
    }

    /// The circle begins with the read that was overwritten, and so ends with the reader.
    private func kind(ofCircleWithOneRead circle: [Edge]) -> Anomaly.Kind {
        let (read, last) = (circle[0], circle[circle.count - 1])
        if read.predicate != nil { return last.kind == .wr && last.predicate != nil ? .pmp : .gSingle }
        let isWriter = order.installed[read.from].contains { $0.row == read.row }
        if isWriter { return .p4 }
        return last.kind == .wr && last.predicate == nil && last.operation < read.operation ? .otv : .gSingle
    }

    private func text(of circle: [Edge]) -> String {
        circle.map { edge in
            let subject = [edge.predicate.map { "\($0):" }, edge.row.map { "\($0)" }, edge.versions].compactMap { $0 }
            let what = edge.kind == .time ? "" : " " + subject.joined(separator: " ")
            return "T\(transactions[edge.from].number) -\(edge.kind)\(what)-> "
        }.joined() + "T\(transactions[circle[0].from].number)"
    }
}
