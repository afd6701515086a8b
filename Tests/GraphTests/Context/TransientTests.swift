import Foundation
import Synchronization
import Testing

@testable import Graph

/// R28a: a transient value lives in the object: never compared, merged, journaled or published.
struct TransientTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Shelf.self, Item.self)
        context = Context(coordinator)
    }

    private func insert(_ item: Item) async throws -> Item.ID {
        try await context.transaction { $0.insert(item).id }
    }

    @Test func `R28a: an object holds the value, and its insert, rows and snapshots hold the default`() async throws {
        let id = try await context.insertSelected()
        let row = try #require(coordinator.snapshot.value(for: id))
        #expect(row.name == "a" && !row.isSelected && row.badge.text == "none")
        #expect(try coordinator.snapshot.fetchCount(Item.self, where: { $0.isSelected }) == 0)
        try await Context(coordinator).perform { context in
            let other = try context.object(for: id)
            #expect(!other.isSelected && other.badge.text == "none" && other.name == "a")
        }
    }

    @Test func `R28a: writing the value is no change`() async throws {
        let id = try await insert(Item(name: "a"))
        try await context.perform { context in
            let item = try context.object(for: id)
            item.isSelected = true
            item.badge.text = "new"
            #expect(item.isSelected && item.value.isSelected && item.value.badge.text == "new")
            #expect(!item.hasChanges && !item.isUpdated && context.updatedObjects.isEmpty)
            #expect(context.hasChanges == false)
        }
        let before = coordinator.snapshot.commit
        try await context.save()
        #expect(coordinator.snapshot.commit == before)
        #expect(coordinator.snapshot.version(of: id) == RowVersion(1))
    }

    @Test func `R28a: a fetch shows its closure and gives as values the default, and as objects the object's own`()
        async throws
    {
        let id = try await insert(Item(name: "a"))
        try await context.perform { context in
            let item = try context.object(for: id)
            (item.isSelected, item.rank) = (true, 7)
            for name in ["a", "b"] {
                item.name = name
                #expect(try context.fetch(Item.self, where: { $0.isSelected }).isEmpty)
                let fetched = try context.fetch(Item.self, where: { !$0.isSelected && $0.rank == 0 && $0.name == name })
                #expect(fetched.map(\.isSelected) == [true] && fetched.first === item)
                #expect(try context.fetchValues(Item.self).map(\.isSelected) == [false])
                #expect(item.committedValue?.isSelected == false)
            }
            #expect(throws: GraphError.self) { try context.fetch(Item.self, sortedBy: [.ascending(\.rank)]) }
        }
    }

    @Test func `R28a: the value outlasts what a save, a refresh and a rollback do to the others`() async throws {
        let id = try await insert(Item(name: "a"))
        try await context.keepSelection(of: id, through: coordinator)
    }

    @Test func `R28a: a transaction that throws undoes everything but the value`() async throws {
        try await context.keepSelectionInFailingTransaction(of: insert(Item(name: "a")))
    }

    @Test func `R28a: a deleted object keeps its last value, and takes no other`() async throws {
        let id = try await insert(Item(name: "a"))
        try await context.perform { context in
            let (item, fresh) = (try context.object(for: id), context.insert(Item(name: "b", isSelected: true)))
            item.isSelected = true
            item.delete()
            #expect(item.isDeleted && item.isSelected)
            item.isSelected = false
            #expect(item.isSelected)
            context.rollback()
            #expect(!item.isDeleted && item.isSelected)
            #expect(fresh.isDeleted && fresh.isSelected)
        }
    }

    @Test(.bug(id: "kept-transients", "the context kept the object until its next save or rollback"))
    func `R17 and R28a: an object with nothing but a new transient value is not kept`() async throws {
        let id = try await insert(Item(name: "a"))
        try await context.perform { context in
            do {
                let item = try context.object(for: id)
                item.isSelected = true
                item.name = item.name
            }
            #expect(context.hasChanges == false)
            #expect(context.registeredObject(for: id) == nil)
            #expect(try context.object(for: id).isSelected == false)
        }
    }

    @Test func `R28a: an object made anew has the default`() async throws {
        let id = try await insert(Item(name: "a"))
        try await context.perform { try $0.object(for: id).isSelected = true }
        try await context.save()
        try await context.perform { context throws in
            #expect(context.registeredObject(for: id) == nil)
            #expect(try context.object(for: id).isSelected == false)
        }
    }

    @Test func `R28a: what only differs in the value does not conflict, and a conflict's rows do not show it`()
        async throws
    {
        let id = try await insert(Item(name: "a"))
        let other = Context(coordinator)
        try await other.perform { context in
            let item = try context.object(for: id)
            item.isSelected = true
            context.insert(Item(name: "b"))
        }
        try await context.transaction { try $0.object(for: id).name = "theirs" }
        try await other.save()
        #expect(coordinator.snapshot.value(for: id)?.name == "theirs")
        try await context.perform { context in
            let item = try context.object(for: id)
            (item.isSelected, item.name) = (true, "ours")
        }
        try await other.transaction { try $0.object(for: id).name = "b" }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts(let conflicts)? = error, let conflict = conflicts.first else {
            Issue.record("\(String(describing: error))")
            return
        }
        let rows = [conflict.base, conflict.theirs, conflict.ours].map { $0 as? Item }
        #expect(rows.map(\.?.name) == ["theirs", "b", "ours"] && rows.map(\.?.isSelected) == [false, false, false])
        #expect(conflict.description.hasSuffix(#"your row   = { name = "ours", shelf = nil }"#))
    }

    @Test func `R28a: values given to many inserts at once are dropped`() async throws {
        let ids = try await context.transaction { context in
            let ids = context.insert(contentsOf: (0..<3).map { Item(name: "\($0)", isSelected: true, rank: $0) })
            let objects = try ids.map { try context.object(for: $0) }
            #expect(objects.map(\.isSelected) == [false, false, false])
            return ids
        }
        let rows = ids.map { coordinator.snapshot.value(for: $0) }
        #expect(rows.map(\.?.name) == ["0", "1", "2"] && rows.allSatisfy { $0?.isSelected == false && $0?.rank == 0 })
    }

    @Test func `R28a: relationships beside the value work as ever`() async throws {
        try await context.transaction { context in
            let shelf = context.insert(Shelf(isOpen: true))
            let item = context.insert(Item(name: "a", isSelected: true))
            shelf.items.append(item)
            #expect(item.shelf === shelf && item.isSelected)
            item.shelf = nil
            #expect(shelf.items.isEmpty && shelf.isOpen && item.isSelected)
            let other = context.insert(Shelf(isOpen: true, items: [item.id]))
            #expect(other.items.map(\.name) == ["a"] && other.isOpen && item.shelf === other && item.isSelected)
            other.delete()
            #expect(item.shelf == nil && item.isSelected && other.isOpen)
        }
        #expect(coordinator.snapshot.checkInvariants() == [])
    }

    @Test func `R28a: reopening gives the default, and the file knows nothing of the property`() async throws {
        let store = try ReopenedStore<Page>()
        try await store.save { $0.insert(Page(text: "a", isOpen: true)) }
        try await store.save { context in
            let page = try #require(try context.first(Page.self))
            (page.isOpen, page.text) = (true, "b")
        }
        try await store.save { try $0.first(Page.self)?.isOpen = true }
        #expect(try await store.values() == [Page(text: "b", isOpen: false)])
        let bytes = try Data(contentsOf: URL(fileURLWithPath: store.path))
        #expect(bytes.range(of: Data(#"property 1 "text" string"#.utf8)) != nil)
        #expect(bytes.range(of: Data("isOpen".utf8)) == nil)
        let coordinator = try await Coordinator(for: BarePage.self, at: store.path)
        #expect(try coordinator.snapshot.fetchValues(BarePage.self).map(\.text) == ["b"])
        try await Context(coordinator).transaction { _ = $0.insert(BarePage(text: "c", number: 1)) }
        try await coordinator.close()
        #expect(try await store.values().map(\.text) == ["b", "c"])
        try await store.save { try $0.first(Page.self)?.delete() }
        #expect(try await store.values().map(\.text) == ["c"])
    }

    @Test func `R28a: values are destroyed with the object, once each`() async throws {
        let witness = Witness()
        try await context.replaceTokens(of: insert(Item(name: "a")), witness)
        try await context.save()
        #expect(witness.count.load(ordering: .relaxed) == 0)
    }
}

extension Context {
    /// Inserts an object whose transient values are not the defaults, and saves it.
    fileprivate func insertSelected() async throws -> Item.ID {
        let item = insert(Item(name: "a", isSelected: true, badge: Badge(text: "new")))
        try await save()
        #expect(item.isSelected && item.value.isSelected && item.badge.text == "new" && item.name == "a")
        return item.id
    }

    fileprivate func keepSelection(of id: Item.ID, through coordinator: Coordinator) async throws {
        let item = try object(for: id)
        (item.isSelected, item.name) = (true, "b")
        try await save()
        #expect(item.isSelected && item.name == "b")
        (item.rank, item.name) = (3, "c")
        rollback()
        #expect(item.isSelected && item.rank == 3 && item.name == "b" && item.version == RowVersion(2))
        try await Context(coordinator).transaction { try $0.object(for: id).name = "d" }
        #expect(item.isSelected && item.name == "b")
        await refresh()
        #expect(item.isSelected && item.rank == 3 && item.name == "d" && !hasChanges)
        item.isSelected = false
        try await Context(coordinator).transaction { try $0.object(for: id).delete() }
        item.rank = 4
        await refresh()
        #expect(item.isDeleted && !item.isSelected && item.rank == 4 && item.name == "d" && !hasChanges)
        try await save()
    }

    fileprivate func keepSelectionInFailingTransaction(of id: Item.ID) async throws {
        struct Stop: Error {}
        let item = try object(for: id)
        await #expect(throws: Stop.self) {
            try await transaction { context in
                let item = try context.object(for: id)
                (item.isSelected, item.name) = (true, "b")
                throw Stop()
            }
        }
        #expect(item.isSelected && item.name == "a" && !hasChanges)
    }

    fileprivate func replaceTokens(of id: Item.ID, _ witness: Witness) async throws {
        let item = try object(for: id)
        for _ in 0..<3 {
            item.token = Token(witness)
            item.name += "."
            await refresh()
            item.token = Token(witness)
            try await save()
            rollback()
            #expect(item.token != nil && witness.count.load(ordering: .relaxed) == 1)
        }
    }
}

/// Of a type that could not be stored.
private struct Badge: Sendable {
    var text: String
}

/// How many tokens there are.
private final class Witness: Sendable {
    let count = Atomic(0)
}

private final class Token: Sendable {
    private let witness: Witness

    init(_ witness: Witness) {
        self.witness = witness
        witness.count.add(1, ordering: .relaxed)
    }

    deinit { witness.count.subtract(1, ordering: .relaxed) }
}

@Entity private struct Shelf {
    @Transient var isOpen = false
    @Relationship(inverse: \Item.shelf) var items: ToMany<Item> = []
}

@Entity private struct Item {
    var name: String
    @Transient var isSelected = false
    @Transient var badge = Badge(text: "none")
    @Transient var rank = 0
    @Transient var token: Token?
    var shelf: ToOne<Shelf> = nil
}

@Entity private struct Page: Equatable {
    var text: String
    @Transient var isOpen = false
}

/// The same entity in a program with another transient property.
private struct BarePage: Entity {
    var text: String
    var number = 0

    static let schema = EntitySchema<BarePage>("Page") {
        $0.attribute("text", \.text)
        $0.transient("number", \.number, default: 5)
    }
}
