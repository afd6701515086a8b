import Foundation
import Observation
import Synchronization

@testable import Graph

@Entity private struct Part {
    @Indexed var number = 0
    @Unique var code: Int?
    var weight = 0.0
    var box: ToOne<Box> = nil
    var label = ""
}

@Entity private struct Box {
    var label = ""
    @Relationship(.cascade, inverse: \Part.box, ordered: true) var parts: ToMany<Part> = []
}

/// `update(_:where:_:)`, `delete(_:where:)`, `insert(contentsOf:)` and `upsert(contentsOf:)` do what the same changes do, made to
/// one object after the other: two stores get the same random work, one of them in the one way and the other in the other way.
struct ManyRowsProgram {
    private var random: SeededGenerator
    private let sides: [Side]
    private let isObservable: Bool

    /// One of the two stores. The first one does everything at once.
    private struct Side {
        let coordinator: Coordinator
        let context: Context
    }

    /// What failed, with the line that repeats it.
    static func failure(seed: UInt64) async -> String? {
        var number = 0
        do {
            var program = try await ManyRowsProgram(seed: seed)
            while number < 30 {
                try await program.step()
                number += 1
            }
            return nil
        } catch {
            let command = "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter ManyRowsProgramTests"
            return "\(command)\nstep \(number): \(error)"
        }
    }

    private init(seed: UInt64) async throws {
        random = SeededGenerator(seed: seed)
        isObservable = random.chance(2)
        var sides: [Side] = []
        for _ in 0..<2 {
            let coordinator = try await Coordinator(
                for: Node.self, Part.self, Box.self, checksEveryCommit: true)
            sides.append(Side(coordinator: coordinator, context: Context(coordinator, isObservable: isObservable)))
        }
        self.sides = sides
        let seed = random.next()
        for side in sides {
            await side.context.perform { context in
                var random = SeededGenerator(seed: seed)
                for number in 0..<8 { context.insert(Node(key: number)) }
                let boxes = (0..<4).map { context.insert(Box(label: "\($0)")).id }
                context.insert(
                    contentsOf: (0..<70).map { (number: Int) in
                        Part(
                            number: Int.random(in: 0..<9, using: &random), code: random.chance(3) ? nil : number,
                            box: ToOne(boxes.randomElement(using: &random)), label: "part number \(number)")
                    })
            }
            try await side.context.save()
            await side.context.perform { $0.undoLimit = 100 }
        }
    }

    private mutating func step() async throws {
        let work = Work(seed: random.next())
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8:
            try await compareResults(inOneStep: !work.isInsert) { side, isMany in
                try await side.context.perform { try $0.work(work, isMany) }
            }
        case 8..<10:
            try await compareResults { side, _ in await side.context.perform { $0.changeNodes(work.seed) } }
        case 10: try await compareResults { side, _ in await side.context.perform { $0.changePart(work.seed) } }
        case 11: try await compareResults { side, _ in String(describing: await side.context.undo()) }
        case 12: try await compareResults { side, _ in String(describing: await side.context.redo()) }
        case 13..<15: try await compareResults { side, _ in try await side.context.save() }
        case 15: try await compareResults { side, _ in await side.context.rollback() }
        case 16: try await nest(work)
        case 17: try await abandon(work)
        case 18:
            try await compareResults { side, isMany in
                try await side.coordinator.transaction(isolation: .serializable, retries: 0) {
                    try $0.work(work, isMany)
                }
            }
        default: try await compareResults { side, _ in _ = await side.context.refresh() }
        }
    }

    /// Does the same in both stores, and compares what comes of it.
    ///
    /// - Parameter inOneStep: whether no value changes twice. Otherwise who changes one object after the other may tell of a
    ///   value that is in the end what it was.
    private func compareResults<Result>(
        inOneStep: Bool = true, _ body: @Sendable (Side, _ isMany: Bool) async throws -> Result
    ) async throws {
        var outcomes: [[String]] = []
        for (number, side) in sides.enumerated() {
            let before = inOneStep ? [:] : await side.context.perform { $0.watchedValues }
            let watches = isObservable ? await side.context.perform { $0.watch() } : []
            var outcome: [String]
            do { outcome = [String(describing: try await body(side, number == 0))] } catch { outcome = ["\(error)"] }
            outcome += await side.context.perform { $0.lines }
            let after = inOneStep ? [:] : await side.context.perform { $0.watchedValues }
            outcome += watches.filter(\.isTold).map(\.name).filter { inOneStep || before[$0] != after[$0] }
            outcomes.append(outcome)
        }
        try demand(outcomes[0] == outcomes[1]) {
            let (many, one) = (Set(outcomes[0]), Set(outcomes[1]))
            return """
                at once: \(outcomes[0].filter { !one.contains($0) })
                one by one: \(outcomes[1].filter { !many.contains($0) })
                """
        }
    }

    private func nest(_ work: Work) async throws {
        try await compareResults { side, isMany in
            let before = await side.context.perform { $0.lines }
            let child = await Context(parent: side.context)
            try await child.perform { _ = try $0.work(work, isMany) }
            let after = await side.context.perform { $0.lines }
            try demand(before == after) { "the parent changed" }
            if work.seed % 3 > 0 { try await child.save() }
        }
    }

    /// An update that throws in the middle, in one of the stores only.
    private func abandon(_ work: Work) async throws {
        struct Stop: Error {}
        try await sides[0].context.perform { context in
            let (before, count) = (context.lines, work.seed % 7)
            var calls: UInt64 = 0
            do {
                try context.update(Part.self, where: { _ in true }) { part in
                    work.change(&part)
                    calls += 1
                    if calls > count { throw Stop() }
                }
                calls = 0
                try context.update(Node.self, where: { _ in true }) { node in
                    work.change(&node)
                    calls += 1
                    if calls > count { throw Stop() }
                }
            } catch {}
            try demand(before == context.lines || calls <= count) { "an update that threw has changed something" }
            if calls <= count { context.undo() }
        }
    }
}

/// A change of all rows that a condition holds for, as a seed says.
private struct Work: Sendable {
    let seed: UInt64
    var limit: Int { Int(seed >> 8 % 8) }
    var isInsert: Bool { seed % 13 >= 8 }
    private var value: Int { Int(seed >> 16 % 6) }
    private var target: RowNumber { 1 + seed >> 24 % 8 }

    func change(_ node: inout Node) {
        switch seed >> 32 % 8 {
        case 0: node.key = value
        case 1: node.key = (node.key ?? 0) + 1
        case 2: node.other = node.key
        case 3: node.next = ToOne(Node.ID(row: target))
        case 4: node.previous = ToOne(Node.ID(row: target))
        case 5: node.spouse = ToOne(Node.ID(row: target))
        case 6: node.spouse = nil
        default: node.parent = node.parent == nil ? ToOne(Node.ID(row: target)) : nil
        }
    }

    func change(_ part: inout Part) {
        switch seed >> 32 % 6 {
        case 0: part.number += 1
        case 1: part.code = part.number == value ? nil : part.code.map { $0 + 1_000 }
        case 2: part.box = ToOne(Box.ID(row: 1 + seed % 4))
        case 3: (part.weight, part.label) = (Double(part.number), "heavy")
        case 4: part.box = nil
        default: part.label += ""
        }
    }
}

/// A node that is upserted, with the reference and the list of its that may not be empty.
private struct GivenNode {
    var value: Node
    let reference: WritableKeyPath<Node, ToOne<Node>>
    let list: WritableKeyPath<Node, ToMany<Node>>
    let members: [Node.ID]
}

extension Work {
    fileprivate var givenParts: [Part] {
        var random = SeededGenerator(seed: seed)
        return (0..<Int.random(in: 1...5, using: &random)).map { _ in
            Part(
                number: Int.random(in: 0..<9, using: &random),
                code: random.chance(5) ? nil : Int.random(in: 0..<90, using: &random),
                box: random.chance(2) ? nil : ToOne(Box.ID(row: .random(in: 1...4, using: &random))),
                label: random.chance(2) ? "" : "given")
        }
    }

    fileprivate func givenNodes(among ids: [Node.ID]) -> [GivenNode] {
        var random = SeededGenerator(seed: seed)
        func key() -> Int? { random.chance(3) ? nil : Int.random(in: 0..<6, using: &random) }
        return (0..<Int.random(in: 1...5, using: &random)).map { _ in
            let references = [\Node.next, \.previous, \.spouse, \.parent]
            let lists = [\Node.children, \.follows, \.followers, \.friends]
            var node = GivenNode(
                value: Node(key: key(), other: key()), reference: references[Int.random(in: 0..<4, using: &random)],
                list: lists[Int.random(in: 0..<4, using: &random)],
                members: (0..<Int.random(in: 0..<4, using: &random)).compactMap { _ in
                    ids.randomElement(using: &random)
                })
            if random.chance(2) { node.value[keyPath: node.reference] = ToOne(ids.randomElement(using: &random)) }
            node.value[keyPath: node.list] = ToMany(node.members)
            return node
        }
    }

    /// With references that others of them may have, too, and lists.
    fileprivate func newNodes(among ids: [Node.ID]) -> [Node] {
        var random = SeededGenerator(seed: seed)
        func key() -> Int? { random.chance(3) ? nil : Int.random(in: 0..<6, using: &random) }
        func reference() -> ToOne<Node> { random.chance(2) ? ToOne(ids.randomElement(using: &random)) : nil }
        func members() -> ToMany<Node> {
            random.chance(5) ? ToMany((0..<3).compactMap { _ in ids.randomElement(using: &random) }) : []
        }
        return (0..<Int.random(in: 2...12, using: &random)).map { _ in
            Node(
                key: key(), other: key(), next: reference(), previous: reference(), spouse: reference(),
                parent: reference(), children: members(), follows: members(), followers: members(), friends: members())
        }
    }
}

extension Context {
    /// Returns the number of rows, or a sum of their identifiers.
    fileprivate func work(_ work: Work, _ isMany: Bool) throws -> Int {
        let (limit, label) = (work.limit, "\(work.limit)")
        switch work.seed % 13 {
        case 0..<2:
            if isMany {
                return try update(Node.self, where: #Predicate { $0.key ?? 0 >= limit }) { work.change(&$0) }
            }
            let ids = try fetchIDs(Node.self, where: { $0.key ?? 0 >= limit })
            for id in ids { self[id].map { $0.take(work) } }
            return ids.count
        case 2..<5:
            if isMany { return try update(Part.self, where: { $0.number <= limit }, { work.change(&$0) }) }
            let ids = try fetchIDs(Part.self, where: { $0.number <= limit })
            for id in ids { self[id].map { $0.take(work) } }
            return ids.count
        case 5:
            if isMany { return try delete(Node.self, where: { $0.other ?? -1 == limit }) }
            let ids = try fetchIDs(Node.self, where: { $0.other ?? -1 == limit })
            for id in ids { self[id]?.delete() }
            return ids.count
        case 6:
            if isMany { return try delete(Box.self, where: #Predicate { $0.label == label }) }
            let ids = try fetchIDs(Box.self, where: { $0.label == label })
            for id in ids { self[id]?.delete() }
            return ids.count
        case 7:
            if isMany { return try delete(Part.self, where: #Predicate { $0.number == limit }) }
            let ids = try fetchIDs(Part.self, where: { $0.number == limit })
            for id in ids { self[id]?.delete() }
            return ids.count
        case 8..<10:
            let nodes = work.givenNodes(among: try fetchIDs(Node.self))
            let ids = isMany ? upsert(contentsOf: nodes.map(\.value)) : nodes.map(upsertByObject)
            return ids.reduce(0) { 10 * $0 + Int($1.row % 10) }
        case 10:
            let nodes = work.newNodes(among: try fetchIDs(Node.self))
            let ids = isMany ? insert(contentsOf: nodes) : nodes.map { insert($0).id }
            return ids.reduce(0) { 10 * $0 + Int($1.row % 10) }
        case 11:
            let parts = work.givenParts
            let ids = isMany ? insert(contentsOf: parts) : parts.map { insert($0).id }
            return ids.reduce(0) { 10 * $0 + Int($1.row % 10) }
        default:
            let parts = work.givenParts
            let ids = isMany ? upsert(contentsOf: parts) : parts.map(upsertByObject)
            return ids.reduce(0) { 10 * $0 + Int($1.row % 10) }
        }
    }

    private func upsertByObject(_ part: Part) -> Part.ID {
        guard let code = part.code, let object = first(\Part.code, equals: code) else { return insert(part).id }
        (object.number, object.weight, object.label) = (part.number, part.weight, part.label)
        if part.box != nil { object.box = part.box }
        return object.id
    }

    private func upsertByObject(_ node: GivenNode) -> Node.ID {
        let found = Set(
            [
                node.value.key.flatMap { first(\Node.key, equals: $0)?.id },
                node.value.other.flatMap { first(\Node.other, equals: $0)?.id },
            ].compactMap { $0 })
        guard found.count == 1, let id = found.first, let object = self[id] else { return insert(node.value).id }
        (object.key, object.other) = (node.value.key, node.value.other)
        if let target = node.value[keyPath: node.reference].id.flatMap({ self[$0] }) {
            object[dynamicMember: node.reference] = target
        }
        for member in node.members.compactMap({ self[$0] }) { object[dynamicMember: node.list].insert(member) }
        return id
    }

    fileprivate func changePart(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = (try? fetch(Part.self)) ?? []
        if random.chance(3) { insert(Part(number: 3, label: "new")) }
        guard let part = parts.randomElement(using: &random) else { return }
        if random.chance(4) { part.delete() } else { part.number = Int.random(in: 0..<9, using: &random) }
    }

    /// All that the context's state says.
    fileprivate var lines: [String] {
        let snapshot = state.flushed
        var lines = ["\(hasChanges) \(canUndo) \(canRedo)"] + snapshot.checkInvariants()
        for (number, entity) in snapshot.schema.entities.enumerated() {
            snapshot.entities[number].rows.forEachRow { row, version, address in
                let members = entity.toManys.map { snapshot.members(of: row, through: $0) }
                let id = RowID(entity: number, row: row)
                let kind = state.working.changes.kind(of: id)
                let base = state.working.changes.baseVersion(of: id)
                // Rows may be candidates without need: where keys are the last ones of a page, or where one of several is enough.
                let sharing = entity.indexes.indices.filter { entity.indexes[$0].uniqueness != nil }.map {
                    snapshot.rowsSharingKey(of: id, at: address, index: $0)
                }
                let isLookedAt = sharing.map { others in
                    !others.isEmpty
                        && ([row] + others).contains {
                            state.working.candidates.contains(RowID(entity: number, row: $0))
                        }
                }
                lines.append(
                    "\(id) \(version) \(entity.describe(address)) \(members) \(String(describing: kind)) "
                        + "\(String(describing: base)) \(isLookedAt)")
            }
        }
        lines.append("updated \(updatedObjects.map { String(reflecting: $0) })")
        lines.append("inserted \(insertedObjects.map { String(reflecting: $0) })")
        lines.append("deleted \(state.objects(.deleted).count)")
        lines.append("missing \(state.working.sortedMissingMembers.map { "\($0.key) \($0.value.sorted())" })")
        lines.append("references \(state.working.changes.entities.map { "\($0.entity) \($0.changes.hasReferences)" })")
        return lines
    }

    /// What `watch()` watches.
    fileprivate var watchedValues: [String: String] {
        var values: [String: String] = [:]
        for node in (try? fetch(Node.self)) ?? [] {
            values["\(node.id) key"] = String(describing: node.key)
            values["\(node.id) spouse"] = String(describing: node.spouse?.id)
            values["\(node.id) children"] = "\(node.children.count)"
        }
        for part in (try? fetch(Part.self)) ?? [] {
            values["\(part.id) number"] = "\(part.number)"
            values["\(part.id) exists"] = "\(part.isDeleted)"
            values["\(part.id) kind"] = "\(part.isUpdated)"
        }
        return values
    }

    /// Tracks properties of some objects.
    fileprivate func watch() -> [Watch] {
        var watches: [Watch] = []
        for node in (try? fetch(Node.self)) ?? [] {
            watches.append(Watch("\(node.id) key", held: node) { _ = node.key })
            watches.append(Watch("\(node.id) spouse", held: node) { _ = node.spouse })
            watches.append(Watch("\(node.id) children", held: node) { _ = node.children.count })
        }
        for part in ((try? fetch(Part.self)) ?? []).prefix(12) {
            watches.append(Watch("\(part.id) number", held: part) { _ = part.number })
            watches.append(Watch("\(part.id) exists", held: part) { _ = part.isDeleted })
            watches.append(Watch("\(part.id) kind", held: part) { _ = part.isUpdated })
        }
        return watches
    }
}

/// Whether somebody was told of a change.
private final class Watch: Sendable {
    let name: String
    private let told = Mutex(false)

    var isTold: Bool { told.withLock { $0 } }

    init(_ name: String, held: AnyObject, _ read: () -> Void) {
        self.name = name
        withObservationTracking(read) { [weak self] in self?.told.withLock { $0 = true } }
    }
}

extension ManagedObject<Node> {
    fileprivate func take(_ work: Work) {
        let old = value
        var new = old
        work.change(&new)
        if new.key != old.key { self.key = new.key }
        if new.other != old.other { self.other = new.other }
        if new.next != old.next { self.next = new.next }
        if new.previous != old.previous { self.previous = new.previous }
        if new.spouse != old.spouse { self.spouse = new.spouse }
        if new.parent != old.parent { self.parent = new.parent }
    }
}

extension ManagedObject<Part> {
    fileprivate func take(_ work: Work) {
        var new = value
        work.change(&new)
        (self.number, self.code, self.weight, self.label) = (new.number, new.code, new.weight, new.label)
        self.box = new.box
    }
}
