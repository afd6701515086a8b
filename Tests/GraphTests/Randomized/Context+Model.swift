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
            try require(object.isDeleted == isDeleted) { "isDeleted of \(id) is \(object.isDeleted)" }
        }
    }

    func compareReplacements(_ expected: [StoreModel.ID: StoreModel.ID]) throws {
        func replacement<E: StoreEntity>(_ type: E.Type, of object: any AnyManagedObject) -> RowNumber? {
            (object as? ManagedObject<E>)?.replacedBy?.row
        }
        for (id, survivor) in expected {
            guard let object = objects[id] else { continue }
            let row = replacement(StoreShape.types[id.entity], of: object)
            try require(row == survivor.row && object.isDeleted) {
                "\(id), deleted \(object.isDeleted), is replaced by \(row ?? 0), not \(survivor)"
            }
        }
    }
}

extension StoreModel.ID {
    init(_ id: AnyPersistentID) {
        let entity = StoreShape.entities.firstIndex { $0.name == id.entityName }
        self.init(entity: entity ?? -1, row: id.row)
    }
}

// MARK: Changing

extension Context {
    func perform(_ change: StoreChange) throws {
        switch change {
        case .insert(let id, let row, let members):
            let number = insert(StoreShape.types[id.entity], row, members)
            try require(number == id.row) { "a new row has number \(number), not \(id.row)" }
        case .set(let id, let attribute, let value):
            try set(StoreShape.types[id.entity], id.row, attribute, value)
        case .refer(let id, let slot, let target, let asValue):
            try refer(StoreShape.types[id.entity], id.row, slot, target, asValue: asValue)
        case .change(let list, let change):
            try self.change(StoreShape.types[list.shape.owners], list, change)
        case .delete(let id):
            try delete(StoreShape.types[id.entity], id.row)
        }
    }

    private func insert<E: StoreEntity>(
        _ type: E.Type,
        _ row: StoreModel.Row,
        _ members: [StoreModel.List: [RowNumber]]
    ) -> RowNumber {
        var value = E()
        for (access, number) in zip(E.attributes, row.attributes) { access.assign(&value, number) }
        for (access, target) in zip(E.references, row.targets) { access.assign(&value, target) }
        for (list, rows) in members { E.collection(list.relationship).assign(&value, rows) }
        return insert(value).id.row
    }

    private func set<E: StoreEntity>(_ type: E.Type, _ row: RowNumber, _ attribute: Int, _ value: Int) throws {
        E.attributes[attribute].write(try object(for: PersistentID<E>(row: row)), value)
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
    /// - Parameter isThorough: whether to read in every way there is and to check the structures underneath.
    func compare(with model: ContextModel, held: HeldObjects?, isThorough: Bool) throws {
        var count = 0
        for (entity, type) in StoreShape.types.enumerated() {
            count += try compare(type, entity, with: model, held: held, isThorough: isThorough)
        }
        try require(count == model.work.rows.count) { "\(count) objects, not \(model.work.rows.keys.sorted())" }
        try require(hasChanges == model.hasChanges) { "hasChanges is \(hasChanges)" }
        let changes = model.changes
        func ids(_ objects: [any AnyManagedObject]) -> [StoreModel.ID] { objects.map { StoreModel.ID($0.anyID) } }
        for (name, actual, expected) in [
            ("inserted", ids(insertedObjects), changes.inserted.sorted()),
            ("updated", ids(updatedObjects), changes.updated.sorted()),
            ("deleted", ids(deletedObjects), changes.deleted.sorted()),
        ] {
            try require(actual == expected) { "\(name) are \(actual), not \(expected)" }
        }
        try held?.compare(with: model)
        if isThorough {
            let findings = state.working.snapshot.checkInvariants()
            try require(findings.isEmpty) { "invariants: \(findings)" }
        }
    }

    /// Returns how many objects there are.
    private func compare<E: StoreEntity>(
        _ type: E.Type,
        _ entity: Int,
        with model: ContextModel,
        held: HeldObjects?,
        isThorough: Bool
    ) throws -> Int {
        let objects = try fetch(type)
        let firstRelationship = StoreShape.entities[entity].toManys.lowerBound
        for object in objects {
            let id = StoreModel.ID(entity: entity, row: object.id.row)
            guard let row = model.work.rows[id] else {
                throw StoreProgramRun.Mismatch(description: "\(id) is there")
            }
            let value = object.value
            try require(value.numbers == row.attributes) { "\(id) has \(value.numbers), not \(row.attributes)" }
            try require(value.targets == row.targets) { "\(id) refers to \(value.targets), not \(row.targets)" }
            for (position, access) in E.collections.enumerated() {
                let list = StoreModel.List(relationship: firstRelationship + position, owner: id.row)
                let rows = access.rows(object)
                let expected = model.work.members(list)
                try require(rows == expected) { "\(id).\(list.shape.name) is \(rows), not \(expected)" }
                if isThorough, let finding = access.findings(object) {
                    throw StoreProgramRun.Mismatch(description: "\(id).\(list.shape.name): \(finding)")
                }
            }
            if let held { try require(held.hold(object, as: id)) { "there are two objects of \(id)" } }
            if isThorough { try compareThoroughly(object, id, row, model) }
        }
        return objects.count
    }

    private func compareThoroughly<E: StoreEntity>(
        _ object: ManagedObject<E>,
        _ id: StoreModel.ID,
        _ row: StoreModel.Row,
        _ model: ContextModel
    ) throws {
        for (slot, access) in E.references.enumerated() {
            let target = StoreModel.ID(entity: StoreShape.entities[id.entity].toOnes[slot].target, row: row.targets[slot])
            let found = access.read(object)
            try require(found == (model.work.rows[target] == nil ? nil : target.row)) {
                "\(id) leads to \(found ?? 0), not \(target)"
            }
        }
        let version = model.base.versions[id] ?? 0
        try require(object.version.number == version) { "\(id) has version \(object.version), not \(version)" }
        let committed = object.committedValue?.numbers
        try require(committed == model.base.rows[id]?.attributes) { "\(id) was \(committed ?? [])" }
        try require(self[object.id] === object) { "\(id) leads to another object" }
    }
}
