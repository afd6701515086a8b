@testable import Graph

/// Objects that a program keeps a hold of, however often the state moves under them.
///
/// Unchecked, because it is handed to closures that a context runs, and used by those of one context only.
final class HeldObjects: @unchecked Sendable {
    private var objects: [StoreModel.ID: any AnyManagedObject] = [:]

    func hold(_ objects: [any AnyManagedObject]) {
        for object in objects { self.objects[StoreModel.ID(object.anyID)] = object }
    }

    /// Holds an object from now on. False if another one was held for the same row.
    fileprivate func hold(_ object: any AnyManagedObject, as id: StoreModel.ID) -> Bool {
        guard let known = objects[id] else {
            objects[id] = object
            return true
        }
        return known === object
    }

    fileprivate func compare(with model: ContextModel) throws {
        for (id, object) in objects {
            let isDeleted = model.work.rows[id] == nil
            try demand(object.isDeleted == isDeleted) { "isDeleted of \(id) is \(object.isDeleted)" }
            if let detached = model.detachedRows[id] {
                try detached.compare(StoreShape.types[id.entity], object)
            }
        }
    }

    func compareReplacements(_ expected: [StoreModel.ID: StoreModel.ID]) throws {
        func replacement<E: StoreEntity>(_ type: E.Type, of object: any AnyManagedObject) -> RowNumber? {
            (object as? ManagedObject<E>)?.replacedBy?.row
        }
        for (id, survivor) in expected {
            guard let object = objects[id] else { continue }
            let row = replacement(StoreShape.types[id.entity], of: object)
            try demand(row == survivor.row && object.isDeleted) {
                "\(id), deleted \(object.isDeleted), is replaced by \(row ?? 0), not \(survivor)"
            }
        }
    }
}

extension ContextModel.DetachedRow {
    /// What is pending of a row that others deleted shows.
    fileprivate func compare<E: StoreEntity>(_ type: E.Type, _ object: any AnyManagedObject) throws {
        let value = (object as? ManagedObject<E>)?.value
        try demand(value?.numbers == ours.attributes && value?.targets == ours.targets) {
            "\(object.anyID) shows \(value?.numbers ?? []) and \(value?.targets ?? []), not \(ours)"
        }
    }
}

extension StoreModel.ID {
    init(_ id: AnyPersistentID) {
        let entity = StoreShape.entities.firstIndex { $0.name == id.entityName }
        self.init(entity: entity ?? -1, row: id.row)
    }
}

extension AnyPersistentID {
    init(_ id: StoreModel.ID) {
        self.init(entityName: StoreShape.entities[id.entity].name, row: id.row)
    }
}

// MARK: Changing

extension Context {
    /// Makes changes one after another, but for new rows side by side that may be inserted at once.
    ///
    /// - Parameter looksAtEach: whether objects are asked after each change. In rows that count from a base of their own this
    ///   ends changes that were taken back.
    func perform(_ changes: [ModelChange], looksAtEach: Bool = false) throws {
        if looksAtEach {
            for change in changes {
                try perform(change)
                _ = hasChanges
            }
            return
        }
        var rest = changes[...]
        while let first = rest.first {
            let together = rest.prefix { $0.isInsert(alongside: first) }
            if together.count > 1 { try insert(together) } else { try perform(first) }
            rest = rest.dropFirst(max(1, together.count))
        }
    }

    private func perform(_ change: ModelChange) throws {
        switch change {
        case .insert(let id, let row, let members):
            let number = insert(StoreShape.types[id.entity], row, members)
            try demand(number == id.row) { "a new row has number \(number), not \(id.row)" }
        case .set(let id, let attribute, let value):
            try set(StoreShape.types[id.entity], id.row, attribute, value)
        case .refer(let id, let slot, let target, let asValue):
            try refer(StoreShape.types[id.entity], id.row, slot, target, asValue: asValue)
        case .change(let list, let change):
            try self.change(StoreShape.types[list.shape.owners], list, change)
        case .delete(let id):
            try delete(StoreShape.types[id.entity], id.row)
        case .require(let id):
            try require(StoreShape.types[id.entity], id.row)
        }
    }

    private func insert<E: StoreEntity>(
        _ type: E.Type,
        _ row: StoreModel.Row,
        _ members: [StoreModel.List: [RowNumber]]
    ) -> RowNumber {
        insert(value(type, row, members)).id.row
    }

    private func insert(_ changes: ArraySlice<ModelChange>) throws {
        func insert<E: StoreEntity>(_ type: E.Type) -> [RowNumber] {
            let values = changes.compactMap { change in
                if case .insert(_, let row, let members) = change { value(type, row, members) } else { nil }
            }
            return self.insert(contentsOf: values).map(\.row)
        }
        let ids = changes.compactMap { if case .insert(let id, _, _) = $0 { id } else { nil } }
        let numbers = ids.first.map { insert(StoreShape.types[$0.entity]) } ?? []
        try demand(numbers == ids.map(\.row)) { "new rows have numbers \(numbers), not \(ids)" }
    }

    private func value<E: StoreEntity>(
        _ type: E.Type,
        _ row: StoreModel.Row,
        _ members: [StoreModel.List: [RowNumber]]
    ) -> E {
        var value = E()
        for (access, number) in zip(E.attributes, row.attributes) { access.assign(&value, number) }
        for (access, target) in zip(E.references, row.targets) { access.assign(&value, target) }
        for (list, rows) in members { E.collection(list.relationship).assign(&value, rows) }
        return value
    }

    private func set<E: StoreEntity>(_ type: E.Type, _ row: RowNumber, _ attribute: Int, _ value: Int) throws {
        let id = PersistentID<E>(row: row)
        // One that others deleted is found among what is changed.
        let detached = self[id] == nil ? updatedObjects.first { $0.anyID == AnyPersistentID(id) } : nil
        E.attributes[attribute].write(try detached as? ManagedObject<E> ?? object(for: id), value)
    }

    private func refer<E: StoreEntity>(
        _ type: E.Type,
        _ row: RowNumber,
        _ slot: Int,
        _ target: RowNumber,
        asValue: Bool
    ) throws {
        let object = try object(for: PersistentID<E>(row: row))
        if asValue {
            E.references[slot].writeValue(object, target)
        } else {
            E.references[slot].write(object, target, self)
        }
    }

    private func change<E: StoreEntity>(_ type: E.Type, _ list: StoreModel.List, _ change: MemberChange) throws {
        let owner = try object(for: PersistentID<E>(row: list.owner))
        E.collection(list.relationship).change(owner, change, self)
    }

    private func delete<E: StoreEntity>(_ type: E.Type, _ row: RowNumber) throws {
        try object(for: PersistentID<E>(row: row)).delete()
    }

    private func require<E: StoreEntity>(_ type: E.Type, _ row: RowNumber) throws {
        require(unchanged: try object(for: PersistentID<E>(row: row)))
    }
}

extension StoreEntity {
    fileprivate static func collection(_ relationship: Int) -> CollectionAccess<Self> {
        let entity = StoreShape.toManys[relationship].owners
        return collections[relationship - StoreShape.entities[entity].toManys.lowerBound]
    }
}

// MARK: Comparing

extension Context {
    /// Compares what objects show, and that no others are there.
    ///
    /// - Parameter isSaving: whether a save is in flight, which counts as changes of the context, though not of its objects.
    func compare(with model: ContextModel, held: HeldObjects?, isSaving: Bool = false) throws {
        var count = 0
        for (entity, type) in StoreShape.types.enumerated() {
            count += try compare(type, entity, with: model, held: held)
        }
        try demand(count == model.work.rows.count) {
            let missing = model.work.rows.keys.filter { object(for: AnyPersistentID($0)) == nil }
            return "\(missing.sorted()) are not there"
        }
        try demand(hasChanges == (model.hasChanges || isSaving)) { "hasChanges is \(hasChanges)" }
        let changes = model.changes
        func compareChanges(_ objects: [any AnyManagedObject], _ expected: Set<StoreModel.ID>, _ name: String) throws {
            let ids = objects.map { StoreModel.ID($0.anyID) }
            try demand(ids == expected.sorted()) { "\(name) are \(ids), not \(expected.sorted())" }
        }
        try compareChanges(insertedObjects, changes.inserted, "inserted")
        try compareChanges(updatedObjects, changes.updated, "updated")
        for object in updatedObjects {
            let id = StoreModel.ID(object.anyID)
            try model.detachedRows[id]?.compare(StoreShape.types[id.entity], object)
        }
        try compareChanges(deletedObjects, changes.deleted, "deleted")
        for (entity, type) in StoreShape.types.enumerated() {
            try compareRequirements(type, entity, with: model, isSaving)
        }
        try held?.compare(with: model)
    }

    /// Compares what is required to be unchanged, which only a later save would show.
    ///
    /// - Parameter isSaving: whether a save is under way, which says when it ends what versions rows have.
    private func compareRequirements<E: StoreEntity>(
        _ type: E.Type,
        _ entity: Int,
        with model: ContextModel,
        _ isSaving: Bool
    ) throws {
        var found: [StoreModel.ID: ContextModel.KnownRow] = [:]
        if let number = state.working.schema.index(of: type) {
            state.working.changes[number].required.forEachRow { row, version, address in
                let value = address.assumingMemoryBound(to: E.self).pointee
                found[StoreModel.ID(entity: entity, row: row)] = ContextModel.KnownRow(
                    version: isSaving ? 0 : version.number,
                    known: StoreModel.Row(attributes: value.numbers, targets: value.targets)
                )
            }
        }
        let expected = model.required.filter { $0.key.entity == entity }
            .mapValues { isSaving ? ContextModel.KnownRow(version: 0, known: $0.known) : $0 }
        try demand(found == expected) { "required are \(found), not \(expected)" }
    }

    /// Compares what a refresh says that both sides have changed.
    static func compare(_ overlaps: [RefreshConflict], with expected: [StoreModel.ID: ContextModel.Overlap]) throws {
        var found: [StoreModel.ID: ContextModel.Overlap] = [:]
        for overlap in overlaps {
            let id = StoreModel.ID(overlap.id)
            try demand(found[id] == nil && Set(overlap.properties).count == overlap.properties.count) {
                "a refresh names \(id) twice, or a property of it: \(overlaps)"
            }
            found[id] = ContextModel.Overlap(
                properties: Set(overlap.properties), isDeletedThere: overlap.isDeletedThere)
        }
        try demand(found == expected) { "a refresh names \(found), not \(expected)" }
    }

    /// Returns how many objects there are.
    private func compare<E: StoreEntity>(
        _ type: E.Type,
        _ entity: Int,
        with model: ContextModel,
        held: HeldObjects?
    ) throws -> Int {
        let objects = try fetch(type)
        let firstRelationship = StoreShape.entities[entity].toManys.lowerBound
        for object in objects {
            let id = StoreModel.ID(entity: entity, row: object.id.row)
            guard let row = model.work.rows[id] else {
                throw StoreProgramRun.Mismatch(description: "\(id) is there")
            }
            let value = object.value
            try demand(value.numbers == row.attributes) { "\(id) has \(value.numbers), not \(row.attributes)" }
            try demand(value.targets == row.targets) { "\(id) refers to \(value.targets), not \(row.targets)" }
            for (position, access) in E.collections.enumerated() {
                let list = StoreModel.List(relationship: firstRelationship + position, owner: id.row)
                let rows = access.rows(object)
                let expected = model.work.members(list)
                try demand(rows == expected) { "\(id).\(list.shape.name) is \(rows), not \(expected)" }
            }
            if let held { try demand(held.hold(object, as: id)) { "there are two objects of \(id)" } }
        }
        return objects.count
    }

    func compareVersions(with store: StoreModel, _ known: [StoreModel.ID: ContextModel.KnownRow] = [:]) throws {
        func compare<E: StoreEntity>(_ type: E.Type, _ entity: Int) throws {
            for object in try fetch(type) {
                let id = StoreModel.ID(entity: entity, row: object.id.row)
                let version = known[id]?.version ?? store.versions[id] ?? 0
                try demand(object.version.number == version) {
                    "\(object) has version \(object.version), not \(version)"
                }
            }
        }
        for (entity, type) in StoreShape.types.enumerated() { try compare(type, entity) }
    }

    /// Reads in all other ways that there are, and checks the structures underneath.
    func compareThoroughly(with model: ContextModel) throws {
        try compareVersions(with: model.base, model.detachedBases)
        for (entity, type) in StoreShape.types.enumerated() { try compareThoroughly(type, entity, with: model) }
        try compareMissingMembers(with: model)
        try compareStructures()
    }

    /// Compares the links that are pending and lead nowhere. Where both ends are missing, either may count as the owner.
    private func compareMissingMembers(with model: ContextModel) throws {
        func ends(_ link: StoreModel.Link) -> Set<StoreModel.Link> { Set([link, link.reversed].compactMap(\.self)) }
        let expected = Set(model.missing.map { ends(StoreModel.Link(list: $0.list, member: $0.member)) })
        state.flush()
        let working = state.working
        var found: Set<Set<StoreModel.Link>> = []
        for (list, members) in working.missingMembers {
            let entity = working.schema.entities[list.entity]
            let owners = StoreShape.entities.firstIndex { $0.name == entity.name }
            let name = entity.properties[list.property].name
            guard let relationship = StoreShape.toManys.firstIndex(where: { $0.owners == owners && $0.name == name })
            else { continue }
            let missing = StoreModel.List(relationship: relationship, owner: list.owner)
            for member in members { found.insert(ends(StoreModel.Link(list: missing, member: member))) }
        }
        try demand(found == expected) { "\(found) are missing, not \(expected)" }
    }

    /// The structures underneath.
    func compareStructures() throws {
        let findings = state.flushed.checkInvariants() + state.working.wrongVersions
        try demand(findings.isEmpty) { "invariants: \(findings)" }
    }

    private func compareThoroughly<E: StoreEntity>(_ type: E.Type, _ entity: Int, with model: ContextModel) throws {
        let shape = StoreShape.entities[entity]
        for object in try fetch(type) {
            for (position, access) in E.collections.enumerated() {
                if let finding = access.findings(object) {
                    let name = StoreShape.toManys[shape.toManys.lowerBound + position].name
                    throw StoreProgramRun.Mismatch(description: "\(object).\(name): \(finding)")
                }
            }
            for (toOne, (access, row)) in zip(shape.toOnes, zip(E.references, object.value.targets)) {
                let target = StoreModel.ID(entity: toOne.target, row: row)
                let found = access.read(object)
                try demand(found == (model.work.rows[target] == nil ? nil : row)) {
                    "\(object) leads to \(found ?? 0), not \(target)"
                }
            }
            try compareCommitted(object, with: model)
            try demand(self[object.id] === object) { "\(object) leads to another object" }
        }
        for case let object as ManagedObject<E> in updatedObjects + deletedObjects {
            try compareCommitted(object, with: model)
        }
    }

    /// Compares what an object's changes, or its delete, count from; of a new one, that there is nothing.
    private func compareCommitted<E: StoreEntity>(_ object: ManagedObject<E>, with model: ContextModel) throws {
        let id = StoreModel.ID(object.anyID)
        let committed = object.committedValue.map { StoreModel.Row(attributes: $0.numbers, targets: $0.targets) }
        let expected = model.known(id)
        try demand(committed == expected) { "\(object) was \(committed as Any), not \(expected as Any)" }
        // One that comes back counts from no version of the base.
        guard !object.isInserted else { return }
        try demand(object.version.number == model.version(id)) {
            "\(object) has version \(object.version), not \(model.version(id))"
        }
    }
}

extension WorkingState {
    /// Rows without the version that a save with nobody in between would publish them with.
    fileprivate var wrongVersions: [String] {
        var wrong: [String] = []
        for (entity, description) in schema.entities.enumerated() {
            let (old, new) = (base.entities[entity].rows, snapshot.entities[entity].rows)
            new.forEachRow(notSharedWith: old) { row, oldVersion, version in
                guard let version, !changes[entity].countsFromDetachedBase(row) else { return }
                let known = oldVersion ?? RowVersion.none
                let expected = changes[entity].kind(of: row) == nil ? known : known.next
                if version != expected {
                    wrong.append("\(description.name)/p\(row) has version \(version), not \(expected)")
                }
            }
        }
        return wrong
    }
}
