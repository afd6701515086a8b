import Graph

/// A fork of a store of ``Annals`` to which the commits behind it are applied, as a mirror would that knows the public interface
/// alone: by what each of them says has changed, and by the members' order in the state behind it.
struct AppliedHistory {
    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    /// Objects that were there before the fork have their identifiers, and those inserted since others.
    struct Counterparts: Sendable {
        private var ids: [AnyPersistentID: AnyPersistentID] = [:]

        subscript<E>(id: PersistentID<E>) -> PersistentID<E> {
            get { ids[AnyPersistentID(id)]?.typed(as: E.self) ?? id }
            set { ids[AnyPersistentID(id)] = AnyPersistentID(newValue) }
        }

        subscript<E>(reference: ToOne<E>) -> ToOne<E> { ToOne(reference.id.map { self[$0] }) }
    }

    let fork: Coordinator
    private(set) var ids = Counterparts()

    init(to fork: Coordinator) { self.fork = fork }

    /// - Parameter state: the one behind the commit.
    mutating func apply(_ commit: Commit, _ state: Snapshot) async throws {
        let known = ids
        ids = try await Context(fork, author: commit.origin?.author).transaction { context in
            var ids = known
            Self.insert(commit, context, &ids)
            try Self.setAttributes(commit, context, ids)
            try Self.setReferences(commit, context, ids)
            try Self.setMembers(commit, state, context, ids)
            // Last, so that what has found another owner does not go along with its former one.
            try Self.delete(Annals.Writer.self, commit, context, ids)
            try Self.delete(Annals.Volume.self, commit, context, ids)
            try Self.delete(Annals.Topic.self, commit, context, ids)
            try Self.delete(Annals.Desk.self, commit, context, ids)
            return ids
        }
    }

    /// Gives new objects their attributes; what they refer to may come later.
    private static func insert(_ commit: Commit, _ context: isolated Context, _ ids: inout Counterparts) {
        func insert<E: Entity>(_ type: E.Type, _ value: (E) -> E) {
            for change in commit.changes(of: type) where change.before == nil {
                if let after = change.after { ids[change.id] = context.insert(value(after)).id }
            }
        }
        insert(Annals.Writer.self) { Annals.Writer(name: $0.name, email: $0.email) }
        insert(Annals.Volume.self) { Annals.Volume(pages: $0.pages, title: $0.title) }
        insert(Annals.Topic.self) { Annals.Topic(name: $0.name) }
        insert(Annals.Desk.self) { Annals.Desk(number: $0.number) }
    }

    private static func setAttributes(_ commit: Commit, _ context: isolated Context, _ ids: Counterparts) throws {
        func set<E: Entity, V: Equatable>(_ property: WritableKeyPath<E, V>) throws {
            for change in commit.changes(in: property) {
                guard let before = change.before, let after = change.after else { continue }
                let object = try context.object(for: ids[change.id])
                guard object[dynamicMember: property] == before[keyPath: property] else {
                    throw Mismatch(description: "\(change.id) was not \(before)")
                }
                object[dynamicMember: property] = after[keyPath: property]
            }
        }
        try set(\Annals.Writer.name)
        try set(\Annals.Writer.email)
        try set(\Annals.Volume.pages)
        try set(\Annals.Volume.title)
        try set(\Annals.Topic.name)
        try set(\Annals.Desk.number)
    }

    /// Of two objects that exchange what is one to one with them, the second one finds its end free or takes it away: since all are
    /// set, the order makes no difference.
    private static func setReferences(_ commit: Commit, _ context: isolated Context, _ ids: Counterparts) throws {
        func set<E: Entity, Target: Entity>(_ property: WritableKeyPath<E, ToOne<Target>>) throws {
            for change in commit.changes(in: property) {
                guard let after = change.after else { continue }
                try context.object(for: ids[change.id])[dynamicMember: property] = ids[after[keyPath: property]]
            }
        }
        try set(\Annals.Writer.desk)
        try set(\Annals.Volume.writer)
        try set(\Annals.Topic.parent)
        try set(\Annals.Desk.writer)
    }

    /// Relationships with an order, and with links of their own; those without are the other ends of these and of references.
    private static func setMembers(
        _ commit: Commit, _ state: Snapshot, _ context: isolated Context, _ ids: Counterparts
    ) throws {
        func set<E: Entity, Target: Entity>(_ property: any WritableKeyPath<E, ToMany<Target>> & Sendable) throws {
            for owner in commit.changedOwners(of: property) where state.value(for: owner) != nil {
                let members = try state.related(property, of: owner).map { ids[$0] }
                try context.object(for: ids[owner])[dynamicMember: property] = ToMany(members)
            }
        }
        try set(\Annals.Writer.volumes)
        try set(\Annals.Volume.topics)
    }

    private static func delete<E: Entity>(
        _ type: E.Type, _ commit: Commit, _ context: isolated Context, _ ids: Counterparts
    ) throws {
        for change in commit.changes(of: type) where change.after == nil {
            // Some have gone with others.
            context[ids[change.id]]?.delete()
        }
    }

    // MARK: What a state says

    /// Values, references, members and their orders.
    static func lines(of state: Snapshot, _ ids: Counterparts = Counterparts()) throws -> [String] {
        var lines: [String] = []
        func add<E: Entity>(_ type: E.Type, _ text: (PersistentID<E>, E) throws -> String) throws {
            for found in try state.fetchIdentifiedValues(type) {
                lines.append("\(ids[found.id]) \(try text(found.id, found.value))")
            }
        }
        func members<E: Entity, Target: Entity>(
            _ property: any KeyPath<E, ToMany<Target>> & Sendable, of owner: PersistentID<E>, ordered: Bool = false
        ) throws -> [String] {
            let members = try state.related(property, of: owner).map { "\(ids[$0])" }
            return ordered ? members : members.sorted()
        }
        try add(Annals.Writer.self) { id, writer in
            let volumes = try members(\.volumes, of: id, ordered: true)
            return "\(writer.name) \(writer.email ?? "nil") \(ids[writer.desk]) \(volumes)"
        }
        try add(Annals.Volume.self) { id, volume in
            let topics = try members(\.topics, of: id, ordered: true)
            return "\(volume.pages) \(volume.title) \(ids[volume.writer]) \(topics)"
        }
        try add(Annals.Topic.self) { id, topic in
            let (children, volumes) = (try members(\.children, of: id), try members(\.volumes, of: id))
            return "\(topic.name) \(ids[topic.parent]) \(children) \(volumes)"
        }
        try add(Annals.Desk.self) { _, desk in "\(desk.number) \(ids[desk.writer])" }
        return lines.sorted()
    }
}
