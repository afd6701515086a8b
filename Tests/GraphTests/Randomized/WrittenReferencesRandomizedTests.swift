import Testing

@testable import Graph

/// R12: a row that is written whole, against one whose references are written one after the other.
struct WrittenReferencesRandomizedTests {
    private static let nodes: Range<RowNumber> = 1..<6

    @Test(arguments: Seeds.first..<(Seeds.first + 300))
    func `R12 a row written whole refers as if its references were written in their order, the last one counts`(
        seed: UInt64
    ) throws {
        let schema = try Schema([EntityDescription(Node.self)])
        var random = SeededGenerator(seed: seed)
        var state = WorkingState(base: Snapshot(schema: schema))
        var model: [RowNumber: References] = [:]
        for step in 0..<40 {
            let node = try #require(Self.nodes.randomElement(using: &random))
            let known = model[node]
            if known != nil, random.chance(6) {
                state.remove(schema.id(Node.self, node))
                model[node] = nil
            } else {
                // One reference in three stays as it was. Others lead to a node, this one too, or to none that is there.
                var new = known ?? References()
                for place in new.indices where !random.chance(3) {
                    new[place] = random.chance(4) ? 0 : Self.nodes.randomElement(using: &random) ?? 0
                }
                let value = Node(next: new.next, previous: new.previous, spouse: new.spouse)
                if known == nil { state.insert(node, value) } else { state.change(Node.self, node) { $0 = value } }
                model.write(new, of: node)
            }
            for node in Self.nodes {
                let shown = state.snapshot.value(node, as: Node.self).map(References.init)
                try #require(shown == model[node], "seed \(seed), step \(step), node \(node)")
            }
        }
    }
}

/// A node's next, its previous and its spouse; 0 for none.
private struct References: Equatable {
    static let inverses = [1, 0, 2]
    private var targets: [RowNumber] = [0, 0, 0]

    init() {}
    init(_ node: Node) { targets = [node.next, node.previous, node.spouse].map { $0.id?.row ?? 0 } }

    var indices: Range<Int> { targets.indices }
    var next: ToOne<Node> { reference(0) }
    var previous: ToOne<Node> { reference(1) }
    var spouse: ToOne<Node> { reference(2) }

    subscript(place: Int) -> RowNumber {
        get { targets[place] }
        set { targets[place] = newValue }
    }

    private func reference(_ place: Int) -> ToOne<Node> {
        targets[place] == 0 ? nil : ToOne(PersistentID(row: targets[place]))
    }
}

extension [RowNumber: References] {
    fileprivate mutating func write(_ references: References, of node: RowNumber) {
        let known = self[node] ?? References()
        self[node] = known
        for place in references.indices where references[place] != known[place] {
            refer(node, place, to: references[place])
        }
    }

    private mutating func refer(_ node: RowNumber, _ place: Int, to new: RowNumber) {
        guard let old = self[node]?[place], old != new else { return }
        let inverse = References.inverses[place]
        self[node]?[place] = new
        if self[old]?[inverse] == node { self[old]?[inverse] = 0 }
        guard let rival = self[new]?[inverse], rival != node else { return }
        if self[rival]?[place] == new { self[rival]?[place] = 0 }
        self[new]?[inverse] = node
    }
}
