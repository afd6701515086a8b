@testable import Graph

/// Related to itself in every way.
struct Node: Entity {
    var key: Int? = nil
    var other: Int? = nil
    var next: ToOne<Node> = nil
    var previous: ToOne<Node> = nil
    var spouse: ToOne<Node> = nil
    var parent: ToOne<Node> = nil
    var children: ToMany<Node> = []
    var follows: ToMany<Node> = []
    var followers: ToMany<Node> = []
    var friends: ToMany<Node> = []

    static let schema = EntitySchema<Node>("Node") {
        $0.attribute("key", \.key, unique: true, onConflict: .upsert)
        $0.attribute("other", \.other, unique: true, onConflict: .keepExisting)
        $0.toOne("next", \.next)
        $0.toOne("previous", \.previous, inverse: \Node.next)
        $0.toOne("spouse", \.spouse, inverse: \Node.spouse)
        $0.toOne("parent", \.parent)
        $0.toMany("children", \.children, inverse: \Node.parent, ordered: true)
        $0.toMany("follows", \.follows, inverse: \Node.followers, ordered: true)
        $0.toMany("followers", \.followers, ordered: true)
        $0.toMany("friends", \.friends, inverse: \Node.friends, ordered: true)
    }
}

extension ManagedObject<Node> {
    fileprivate var lists: [RelatedObjects<Node>] { [self.children, self.follows, self.followers, self.friends] }
}

extension Context {
    /// One to six random changes of nodes.
    func changeNodes(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Int.random(in: 1...6, using: &random) { changeNode(&random) }
    }

    private func changeNode(_ random: inout SeededGenerator) {
        let nodes = (try? fetch(Node.self)) ?? []
        func key() -> Int? { random.chance(2) ? nil : Int.random(in: 0..<6, using: &random) }
        func target() -> Node.Object? { random.chance(4) ? nil : nodes.randomElement(using: &random) }
        func targets() -> RelatedObjects<Node> {
            RelatedObjects((0..<3).compactMap { _ in nodes.randomElement(using: &random) })
        }
        guard let node = nodes.randomElement(using: &random), !random.chance(5) else {
            func reference() -> ToOne<Node> { random.chance(3) ? ToOne(target()?.id) : nil }
            func members() -> ToMany<Node> { random.chance(4) ? ToMany(targets().ids) : [] }
            insert(
                Node(
                    key: key(), other: key(), next: reference(), previous: reference(), spouse: reference(),
                    parent: reference(), children: members(), follows: members(), followers: members(),
                    friends: members()))
            return
        }
        switch Int.random(in: 0..<15, using: &random) {
        case 0: node.delete()
        case 1: node.next = target()
        case 2: node.previous = target()
        case 3: node.spouse = target()
        case 4: node.parent = target()
        case 5: node.children = targets()
        case 6: node.friends = targets()
        case 7: node.followers = targets()
        case 8:
            guard let member = target(), let list = node.lists.randomElement(using: &random) else { return }
            list.insert(member)
            if !list.isEmpty { list.insert(member, at: Int.random(in: 0..<list.count, using: &random)) }
        case 9:
            guard let list = node.lists.randomElement(using: &random) else { return }
            if let member = list.randomElement(using: &random) { list.remove(member) }
        case 10: node.key = key()
        case 11: node.other = key()
        case 12:
            node.key = key()
            node.follows.removeAll()
        default:
            // As it was.
            guard let value = node.committedValue else { return }
            (node.key, node.other) = (value.key, value.other)
            (node.next, node.previous) = (value.next, value.previous)
            (node.spouse, node.parent) = (value.spouse, value.parent)
        }
    }

    /// What does not hold of the working state, and of the objects that show it.
    func nodeFindings() -> [String] {
        let snapshot = state.flushed
        let entity = snapshot.schema.entities[0]
        let rows = snapshot.entities[0].rows
        var findings = snapshot.checkInvariants()
        rows.forEachRow { row, _, address in
            for toOne in entity.toOnes {
                let target = toOne.target(ofRowAt: address)
                guard let inverse = toOne.inverseToOne, target != 0, let other = rows.address(of: target) else {
                    continue
                }
                let back = snapshot.schema.toOne(inverse).target(ofRowAt: other)
                if back != row { findings.append("\(row) refers to \(target), which refers to \(back)") }
            }
            guard let shown = self[Node.ID(row: row)]?.value else {
                findings.append("\(row) has no object")
                return
            }
            let value = address.assumingMemoryBound(to: Node.self).pointee
            if shown.key != value.key || shown.other != value.other || shown.next != value.next
                || shown.previous != value.previous || shown.spouse != value.spouse || shown.parent != value.parent
            {
                findings.append("\(row) is \(value) and shown as \(shown)")
            }
        }
        return findings
    }
}
