import Testing

@testable import Graph

@Entity private struct Item: Equatable {
    var title = ""
    var n = 0
    @Transient var isSelected = false
}

@Entity private struct Binder {
    @Relationship(.cascade, inverse: \Page.folder) var pages: ToMany<Page> = []
}

@Entity private struct Page {
    var text = ""
    var folder: ToOne<Binder> = nil
}

/// R19: an object whose row is gone keeps the last value that its context had of it.
@MainActor struct LastValueTests {
    private let coordinator: Coordinator
    private let context: Context
    private let id: Item.ID
    private let item: Item.Object

    init() async throws {
        coordinator = try await Coordinator(for: Item.self)
        context = Context(coordinator, executor: .main)
        let id = try await context.transaction { $0.insert(Item(title: "a")).id }
        self.id = id
        item = try context.sync { try $0.object(for: id) }
    }

    private func deleteElsewhere() async throws {
        try await coordinator.transaction { [id] in $0[id]?.delete() }
    }

    private func setElsewhere(_ title: String) async throws {
        try await coordinator.transaction { [id] in $0[id]?.title = title }
    }

    @Test(.bug(id: "dropped edit", "the last value was one that was rolled back"))
    func `R19 an edit that is rolled back as others deleted the object is not its last value`() async throws {
        item.title = "dropped"
        item.isSelected = true
        try await deleteElsewhere()
        await context.rollback(to: .latest)
        #expect(item.isDeleted && item.title == "a" && item.isSelected)
    }

    @Test func `R19 an edit that the context flushed before it was rolled back is not the last value either`()
        async throws
    {
        item.title = "dropped"
        #expect(context.sync { $0.hasChanges })
        try await deleteElsewhere()
        await context.reset()
        #expect(item.isDeleted && item.title == "a")
    }

    @Test func `R19 an edit that was rolled back before others deleted the object is not its last value`() async throws
    {
        item.title = "dropped"
        context.sync { $0.rollback() }
        try await deleteElsewhere()
        await context.refresh()
        #expect(item.isDeleted && item.title == "a")
    }

    /// What ends an edit of an object that others deleted.
    enum Ending: CaseIterable {
        case rollback, discard, rollbackToLatest, reset, undo, storeTrump, rollbackPolicy, custom, deleting, takingBack
    }

    private func drop(_ ending: Ending) async throws {
        switch ending {
        case .rollback: context.sync { $0.rollback() }
        case .discard: item.discardChanges()
        case .rollbackToLatest: await context.rollback(to: .latest)
        case .reset: await context.reset()
        case .undo: context.sync { _ = $0.undo() }
        case .storeTrump: try await context.save(mergePolicy: .mergeByPropertyStoreTrump)
        case .rollbackPolicy: try await context.save(mergePolicy: .rollback)
        case .custom:
            try await context.save(mergePolicy: .custom(.entity(Item.self) { _, _, _ in .keep }))
        case .deleting:
            try await context.save(mergePolicy: .custom(.entity(Item.self) { _, _, _ in .delete }))
        case .takingBack: item.title = "a"
        }
    }

    @Test(arguments: Ending.allCases)
    func `R19 an edit of an object that others deleted shows until it is dropped, and no longer`(ending: Ending)
        async throws
    {
        context.sync { $0.undoLimit = 5 }
        item.title = "pending"
        try await deleteElsewhere()
        await context.refresh()
        #expect(item.isDeleted && item.title == "pending")
        try await drop(ending)
        #expect(item.isDeleted && item.title == "a" && !item.hasChanges)
        #expect(context.sync { !$0.hasChanges })
    }

    /// Nobody has told the context yet.
    @Test(arguments: [Ending.storeTrump, .rollbackPolicy, .custom, .deleting])
    func `R19 so it is if the save finds out that others deleted the object`(ending: Ending) async throws {
        item.title = "pending"
        try await deleteElsewhere()
        try await drop(ending)
        #expect(item.isDeleted && item.title == "a" && !item.hasChanges)
    }

    @Test(arguments: [Ending.storeTrump, .rollbackPolicy])
    func `R19 so it is between a nested context and its parent`(ending: Ending) async throws {
        let policy = ending == .storeTrump ? MergePolicy.mergeByPropertyStoreTrump : .rollback
        let child = await Context(parent: context, mergePolicy: policy, executor: .main)
        let nested = try child.sync { [id] in try $0.object(for: id) }
        nested.title = "pending"
        item.delete()
        try await child.save()
        #expect(nested.isDeleted && nested.title == "a" && !nested.hasChanges)
    }

    @Test func `R19 undo and redo of edits of an object that others deleted show what is pending`() async throws {
        context.sync { $0.undoLimit = 5 }
        for title in ["one", "two"] {
            item.title = title
            context.sync { _ = $0.hasChanges }
        }
        try await deleteElsewhere()
        await context.refresh()
        context.sync { _ = $0.undo() }
        #expect(item.isDeleted && item.title == "one" && item.hasChanges)
        context.sync { _ = $0.redo() }
        #expect(item.isDeleted && item.title == "two" && item.hasChanges)
        context.sync { _ = $0.undo() }
        context.sync { _ = $0.undo() }
        #expect(item.isDeleted && item.title == "a" && !item.hasChanges)
    }

    @Test func `R19 the last value is that of the last state, whenever the object was looked at`() async throws {
        try await setElsewhere("b")
        await context.refresh()
        // Nobody looks.
        try await deleteElsewhere()
        await context.refresh()
        #expect(item.isDeleted && item.title == "b")
    }

    @Test func `R19 so it is if a save brings what others did`() async throws {
        try await setElsewhere("b")
        context.sync { _ = $0.insert(Item(title: "other")) }
        try await context.save()
        try await deleteElsewhere()
        context.sync { _ = $0.insert(Item(title: "another")) }
        try await context.save()
        #expect(item.isDeleted && item.title == "b")
    }

    @Test func `R19 an object deleted here keeps what was last seen of it, undone changes not among that`() async throws
    {
        context.sync { $0.undoLimit = 5 }
        item.title = "undone"
        context.sync { _ = $0.undo() }
        item.delete()
        #expect(item.isDeleted && item.title == "a")
        try await context.save()
        #expect(item.title == "a")
    }

    @Test func `R19 what a cascade deletes here keeps the value that others gave it last`() async throws {
        let coordinator = try await Coordinator(for: Binder.self, Page.self)
        let (folder, page) = try await coordinator.transaction { context in
            let folder = context.insert(Binder())
            return (folder.id, context.insert(Page(text: "old", folder: ToOne(folder.id))).id)
        }
        let context = Context(coordinator, executor: .main)
        let held = try context.sync { try $0.object(for: page) }
        try await coordinator.transaction { $0[page]?.text = "new" }
        await context.refresh()
        context.sync { $0[folder]?.delete() }
        #expect(held.isDeleted && held.text == "new")
    }

    /// What takes away a row that has changed since somebody looked at its object.
    enum Removal: CaseIterable { case child, undo, discard }

    @Test(arguments: Removal.allCases)
    func `R19 so it is if a nested context deletes it, or its insert is taken back`(removal: Removal) async throws {
        let object = try context.sync { context in
            context.undoLimit = 5
            let object = context.insert(Item(title: "old"))
            _ = try context.update(Item.self, where: { $0.title == "old" }) { $0.title = "new" }
            return object
        }
        switch removal {
        case .child:
            let child = await Context(parent: context)
            try await child.perform { try $0.delete(Item.self, where: { $0.title == "new" }) }
            try await child.save()
        case .undo: context.sync { _ = $0.undo() }
        case .discard: object.discardChanges()
        }
        #expect(object.isDeleted && object.title == "new")
    }

    @Test func `R19 an object whose insert was rolled back keeps its values`() {
        let new = Slot<Item.Object>()
        context.sync { context in context.insert(Item(title: "new")).n = 3 }
        new.value = context.sync { $0.insertedObjects.first as? Item.Object }
        context.sync { $0.rollback() }
        #expect(new.value?.isDeleted == true && new.value?.title == "new" && new.value?.n == 3)
    }
}

private final class Slot<Value> {
    var value: Value?
}

/// Objects whose context is gone.
@MainActor struct OutlivedObjectTests {
    private let coordinator: Coordinator

    init() async throws {
        coordinator = try await Coordinator(for: Item.self)
        try await coordinator.transaction { _ = $0.insert(Item(title: "a")) }
    }

    private func fetched(_ context: Context) throws -> Item.Object {
        try #require(try context.sync { try $0.fetch(Item.self).first })
    }

    @Test func `an object tells its context, and does not keep it`() async throws {
        var context: Context? = Context(coordinator, executor: .main)
        let item = try fetched(try #require(context))
        #expect(item.context === context)
        let any: any AnyManagedObject = item
        #expect(any.context === context)
        let child = await Context(parent: try #require(context), executor: .main)
        #expect(try fetched(child).context === child)
        item.title = "b"
        try await item.context?.save()
        #expect(try coordinator.snapshot.fetchValues(Item.self).map(\.title) == ["b"])
        context = nil
        // The nested one has it, too.
        #expect(item.context != nil)
    }

    @Test(.bug(id: "outlived", "it had changes for ever"))
    func `an object that outlives its context has no context and no changes, and is not deleted`() async throws {
        let (clean, changed) = try {
            let context = Context(coordinator, executor: .main)
            let clean = try fetched(context)
            let changed = context.sync { $0.insert(Item(title: "new")) }
            #expect(changed.hasChanges && changed.isInserted)
            return (clean, changed)
        }()
        for item in [clean, changed] {
            #expect(item.context == nil)
            #expect(!item.hasChanges && !item.isInserted && !item.isUpdated && !item.isDeleted)
            #expect(item.changedValues.isEmpty)
        }
        clean.title = "late"
        #expect(clean.title == "a" && !clean.hasChanges)
        changed.title = "late"
        #expect(!changed.hasChanges && !changed.isInserted)
        #expect(changed.title == "new")
        clean.delete()
        clean.discardChanges()
        try await coordinator.transaction { try $0.fetch(Item.self).first?.title = "others'" }
        clean.refresh(mergeChanges: true)
        #expect(clean.title == "a")
        #expect(coordinator.snapshot.count(of: Item.self) == 1)
    }

    @Test(.bug(id: "outlived members", "deletes and members still changed, with what depends on them"))
    func `nothing that is done to objects that outlive their context changes them or others`() async throws {
        let store = try await Coordinator(for: Client.self, Account.self, Card.self, Club.self, Advisor.self)
        let (client, other, results) = try {
            let context = Context(store, executor: .main)
            return try context.sync { context in
                let clients = ["a", "b"].map { context.insert(Client(name: $0)) }
                for number in 1...3 {
                    clients[0].accounts.append(context.insert(Account(balance: number)))
                    clients[0].clubs.append(context.insert(Club(name: "\(number)")))
                }
                return (clients[0], clients[1], try context.results(FetchDescriptor<Client>()))
            }
        }()
        func shown() -> [String] {
            [
                client.accounts.map { "\($0.balance)" }.joined(), client.clubs.map(\.name).joined(),
                "\(other.accounts.count) \(other.clubs.count)", results.objects.map(\.name).joined(),
                "\(client.isDeleted) \(other.isDeleted)",
            ]
        }
        let before = shown()
        #expect(before == ["123", "123", "0 0", "ab", "false false"])
        client.accounts.move(from: 0, to: 2)
        client.accounts.remove(at: 0)
        client.clubs.removeAll()
        other.clubs.append(try #require(client.clubs.first))
        other.accounts = client.accounts
        #expect(shown() == before)
        client.accounts.first?.delete()
        client.delete()
        other.discardChanges()
        results.descriptor = FetchDescriptor(fetchLimit: 1)
        #expect(shown() == before && results.descriptor.fetchLimit == nil)
    }

    @Test func `an object deleted before its context went says so on`() throws {
        let item = try {
            let context = Context(coordinator, executor: .main)
            let item = try fetched(context)
            item.delete()
            return item
        }()
        #expect(item.isDeleted && item.title == "a" && !item.hasChanges)
    }
}
