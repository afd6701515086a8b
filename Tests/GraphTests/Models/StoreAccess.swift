@testable import Graph

/// How a program writes one attribute of an entity.
struct AttributeAccess<E: StoreEntity>: Sendable {
    let assign: @Sendable (inout E, Int) -> Void
    let write: @Sendable (ManagedObject<E>, Int) -> Void

    init<V>(_ keyPath: any WritableKeyPath<E, V> & Sendable, _ convert: @escaping @Sendable (Int) -> V) {
        assign = { $0[keyPath: keyPath] = convert($1) }
        write = { $0[dynamicMember: keyPath] = convert($1) }
    }
}

/// How a program reads and writes one reference of an entity.
struct ReferenceAccess<E: StoreEntity>: Sendable {
    let assign: @Sendable (inout E, RowNumber) -> Void
    let read: @Sendable (ManagedObject<E>) -> RowNumber?
    let write: @Sendable (ManagedObject<E>, RowNumber, isolated Context) -> Void
    /// The same with the identifier alone.
    let writeValue: @Sendable (ManagedObject<E>, RowNumber) -> Void

    init<Target>(_ keyPath: any WritableKeyPath<E, ToOne<Target>> & Sendable) {
        assign = { $0[keyPath: keyPath].row = $1 }
        read = { $0[dynamicMember: keyPath]?.id.row }
        write = { object, row, context in
            object[dynamicMember: keyPath] = context[PersistentID<Target>(row: row)]
        }
        writeValue = { $0[dynamicMember: keyPath] = ToOne($1 == 0 ? nil : PersistentID<Target>(row: $1)) }
    }
}

/// What a program does to an owner's members.
enum MemberChange: Sendable {
    case insert(RowNumber)
    case append([RowNumber])
    case insertAt(RowNumber, Int)
    case move(from: Int, to: Int)
    case remove(RowNumber)
    case removeAt(Int)
    case removeAll
    /// As objects that belong to no relationship.
    case assign([RowNumber])
    case assignValue([RowNumber])
    /// The members of another owner.
    case copy(RowNumber)
}

/// How a program reads and changes one to-many relationship of an entity.
struct CollectionAccess<E: StoreEntity>: Sendable {
    let assign: @Sendable (inout E, [RowNumber]) -> Void
    let rows: @Sendable (ManagedObject<E>) -> [RowNumber]
    let findings: @Sendable (ManagedObject<E>) -> String?
    let change: @Sendable (ManagedObject<E>, MemberChange, isolated Context) -> Void

    init<Target: StoreEntity>(_ keyPath: any WritableKeyPath<E, ToMany<Target>> & Sendable) {
        assign = { $0[keyPath: keyPath] = ToMany($1.map { PersistentID<Target>(row: $0) }) }
        rows = { Self.members($0, keyPath).ids.map { $0.row } }
        findings = { Self.members($0, keyPath).findings }
        change = { owner, change, context in
            var members = Self.members(owner, keyPath)
            let object = { (row: RowNumber) -> ManagedObject<Target> in
                guard let object = context[PersistentID<Target>(row: row)] else {
                    preconditionFailure("\(Target.self)/p\(row) is gone")
                }
                return object
            }
            switch change {
            case .insert(let row): members.insert(object(row))
            case .append(let rows):
                if rows.count == 1 { members.append(object(rows[0])) } else { members += rows.map(object) }
            case .insertAt(let row, let index): members.insert(object(row), at: index)
            case .move(let index, let other): members.move(from: index, to: other)
            case .remove(let row): members.remove(object(row))
            case .removeAt(let index): _ = members.remove(at: index)
            case .removeAll: members.removeAll()
            case .assign(let rows):
                owner[dynamicMember: keyPath] = RelatedObjects(objects: rows.map(object))
            case .assignValue(let rows):
                owner[dynamicMember: keyPath] = ToMany(rows.map { PersistentID<Target>(row: $0) })
            case .copy(let row):
                guard let other = context[PersistentID<E>(row: row)] else { return }
                owner[dynamicMember: keyPath] = Self.members(other, keyPath)
            }
        }
    }

    private static func members<Target>(
        _ owner: ManagedObject<E>,
        _ keyPath: WritableKeyPath<E, ToMany<Target>>
    ) -> RelatedObjects<Target> {
        owner[dynamicMember: keyPath]
    }
}

extension RelatedObjects where Target: StoreEntity {
    /// A collection of up to four objects that belongs to none, as an array literal makes it.
    fileprivate init(objects: [ManagedObject<Target>]) {
        switch objects.count {
        case 0: self = []
        case 1: self = [objects[0]]
        case 2: self = [objects[0], objects[1]]
        case 3: self = [objects[0], objects[1], objects[2]]
        default: self = [objects[0], objects[1], objects[2], objects[3]]
        }
    }

    /// Where the ways to read the collection differ; nil if nowhere.
    fileprivate var findings: String? {
        let objects = Array(self)
        if objects.map({ $0.id }) != ids { return "iteration gives \(objects.map { $0.id }), not \(ids)" }
        if count != objects.count { return "the count is \(count), not \(objects.count)" }
        if objects.isEmpty { return isEmpty ? nil : "isEmpty is false" }
        if first !== objects.first || last !== objects.last { return "other first or last than \(ids)" }
        if isEmpty { return "isEmpty is true for \(ids)" }
        for (index, object) in zip(indices, objects) where self[index] !== object {
            return "member \(index) is \(self[index].id), not \(object.id)"
        }
        if objects.count <= 4, self != RelatedObjects(objects: objects) { return "not equal to its members" }
        if !objects.allSatisfy(contains) { return "a member is not contained" }
        if values.map({ $0.numbers }) != objects.map({ $0.value.numbers }) { return "other values than the members'" }
        return nil
    }
}
