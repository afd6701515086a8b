import Observation
import Testing

@testable import Graph

@Entity(unique: [["shelf", "place"]])
private struct Book {
    @Unique var number: Int?
    @Unique(onConflict: .keepExisting) var code: String?
    var title = ""
    var shelf: String?
    var place = 0
    var author: ToOne<Writer> = nil
    @Relationship(inverse: \Reader.books) var readers: ToMany<Reader> = []
    @Transient var mood = "new"
}

@Entity private struct Writer {
    @Unique var name: String
    var born = 0
    @Relationship(inverse: \Book.author, ordered: true) var books: ToMany<Book> = []
}

/// Of a plain kind, and owned.
@Entity private struct Coin {
    @Unique var year = 0
    var cents = 0
    var purse: ToOne<Purse> = nil
}

@Entity private struct Purse {
    var label = ""
    @Relationship(.cascade, inverse: \Coin.purse) var coins: ToMany<Coin> = []
}

@Entity private struct Reader {
    var name: String
    var books: ToMany<Book> = []
}

struct UpsertTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await Coordinator(
            for: Book.self, Writer.self, Reader.self, Coin.self, Purse.self, checksEveryCommit: true)
        context = Context(coordinator)
        await context.perform { $0.undoLimit = 10 }
    }

    private var books: [String] {
        get throws {
            try coordinator.snapshot.fetchIdentifiedValues(Book.self).map { "\($0.number ?? 0) \($0.title)" }
        }
    }

    @Test func `what has the unique value takes over the others, and what is new is inserted`() async throws {
        await context.perform { context in
            let first = context.upsert(Book(number: 1, title: "One"))
            let ids = context.upsert(contentsOf: [Book(number: 1, title: "Uno"), Book(number: 2, title: "Two")])
            #expect(ids[0] == first.id && first.title == "Uno" && first.isInserted)
            let count = context.registry.count
            #expect(count == 1)
        }
        try await context.save()
        #expect(try books == ["1 Uno", "2 Two"])
        try await context.perform { context in
            let found = context.first(\Book.number, equals: 1)
            let one = try #require(found)
            one.mood = "read"
            let same = context.upsert(Book(number: 1, title: "Eins", place: 4, mood: "lost"))
            #expect(same === one && one.title == "Eins" && one.mood == "read" && one.isUpdated)
            let conflicts = context.undo()
            #expect(conflicts.isEmpty && one.title == "Uno" && one.place == 0)
            context.upsert(Book(number: 1, title: "Ichi", mood: "lost"))
        }
        try await context.save()
        #expect(coordinator.snapshot.first(\Book.number, equals: 1)?.mood == "new")
    }

    @Test func `values as they were are no change`() async throws {
        let values = (0..<10).map { (number: Int) in Book(number: number, title: "\(number)") }
        try await context.transaction { _ = $0.upsert(contentsOf: values) }
        try await context.transaction { context in
            context.upsert(contentsOf: values)
            #expect(context.hasChanges == false)
        }
        #expect(coordinator.snapshot.commit.number == 1)
    }

    @Test func `of several values with one key the last one counts, in one call or in many batches`() async throws {
        let numbers = (0..<40_000).map { $0 % 15_000 }
        let ids = try await context.transaction { context in
            context.upsert(contentsOf: numbers.enumerated().map { Book(number: $0.element, title: "\($0.offset)") })
        }
        #expect(ids.count == 40_000 && Set(ids).count == 15_000 && ids[0] == ids[15_000])
        let books = try coordinator.snapshot.fetchIdentifiedValues(Book.self)
        #expect(books.map(\.title) == (0..<15_000).map { "\($0 < 10_000 ? $0 + 30_000 : $0 + 15_000)" })
    }

    @Test func `references that are nil stay, members come on top and keep their order`() async throws {
        let (book, other) = try await context.transaction { context in
            let (ada, eve) = (context.insert(Writer(name: "Ada")), context.insert(Writer(name: "Eve")))
            let readers = ["r1", "r2"].map { context.insert(Reader(name: $0)) }
            let books = context.upsert(
                contentsOf: (1...3).map { Book(number: $0, author: ToOne(ada.id), readers: [readers[0].id]) })
            #expect(ada.books.map(\.number) == [1, 2, 3])
            // The first one stays where it is: nothing is said of its author.
            context.upsert(contentsOf: [Book(number: 1, readers: [readers[1].id, readers[0].id])])
            context.upsert(contentsOf: [Book(number: 2, author: ToOne(ada.id))])
            #expect(ada.books.map(\.number) == [1, 2, 3])
            context.upsert(contentsOf: [Book(number: 2, author: ToOne(eve.id))])
            context.upsert(Writer(name: "Eve", books: ToMany([books[2], books[1]])))
            #expect(ada.books.map(\.number) == [1] && eve.books.map(\.number) == [2, 3])
            return (books[0], books[1])
        }
        let snapshot = coordinator.snapshot
        let readers = try [book, other].map { try snapshot.related(\Book.readers, of: $0).map(\.name) }
        #expect(readers == [["r1", "r2"], ["r1"]])
    }

    @Test func `a member that does not exist is an error of the save, as for an insert`() async throws {
        let gone = try await context.transaction { context in
            context.insert(Book(number: 1))
            return context.insert(Reader(name: "gone")).id
        }
        try await coordinator.transaction { $0[gone]?.delete() }
        await context.refresh()
        for number in 1...2 {
            await #expect(throws: GraphError.self) {
                try await context.transaction { _ = $0.upsert(Book(number: number, readers: [gone])) }
            }
        }
    }

    @Test func `combinations count, nil is nobody's, and the values of several objects are refused`() async throws {
        try await context.transaction { context in
            let first = context.upsert(Book(shelf: "A", place: 1))
            let again = context.upsert(Book(code: "x", title: "A1", shelf: "A", place: 1))
            #expect(again === first)
            let two = [context.upsert(Book(place: 1)), context.upsert(Book(place: 1))]
            #expect(two[0] !== two[1])
            context.upsert(Book(number: 5, shelf: "A", place: 2))
        }
        #expect(coordinator.snapshot.count(of: Book.self) == 4)
        await context.perform { context in
            let both = context.upsert(Book(number: 5, code: "x", title: "both"))
            #expect(both.isInserted)
        }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .notUnique? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a deleted object is not found, and one of others is not missed`() async throws {
        try await context.transaction { _ = $0.upsert(Book(number: 1, title: "old")) }
        let old = try await context.perform { context in
            let found = context.first(\Book.number, equals: 1)
            let old = try #require(found)
            old.delete()
            let new = context.upsert(Book(number: 1, title: "new"))
            #expect(new !== old)
            return old.id
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: old) == nil)
        #expect(try books == ["1 new"])
        // What others insert meanwhile is the constraint's affair.
        await context.perform { _ = $0.upsert(Book(number: 2, title: "ours")) }
        try await coordinator.transaction { _ = $0.upsert(Book(number: 2, title: "theirs")) }
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        await context.refresh()
        try await context.transaction { _ = $0.upsert(Book(number: 2, title: "ours")) }
        #expect(try books == ["1 new", "2 ours"])
    }

    @Test func `objects in hand show what they took over, also as their last values`() async throws {
        let purse = try await context.transaction { context in
            let purse = context.insert(Purse())
            context.upsert(contentsOf: [Coin(year: 1, cents: 1, purse: ToOne(purse.id)), Coin(year: 2, cents: 2)])
            return purse.id
        }
        try await context.perform { context in
            let coins = try context.fetch(Coin.self)
            let writer = context.upsert(Writer(name: "Ada"))
            context.upsert(contentsOf: [Writer(name: "Ada", born: 1815)])
            #expect(writer.born == 1815)
            context.upsert(contentsOf: [Coin(year: 1, cents: 10), Coin(year: 2, cents: 20, purse: ToOne(purse))])
            #expect(coins.map(\.cents) == [10, 20])
            context.upsert(contentsOf: [Coin(year: 1, cents: 100), Coin(year: 2, cents: 200)])
            context[purse]?.delete()
            #expect(coins.map(\.isDeleted) == [true, true] && coins.map(\.cents) == [100, 200])
        }
        await context.rollback()
        await context.perform { context in
            context.upsert(contentsOf: [Coin(year: 1, cents: 7)])
            context[purse]?.delete()
            let last = context.deletedObjects.compactMap { ($0 as? Coin.Object)?.cents }
            #expect(last == [7])
        }
    }

    @Test func `a value that is taken back by hand is the others' again`() async throws {
        try await context.transaction { _ = $0.upsert(contentsOf: [Book(number: 1, title: "a")]) }
        await context.perform { _ = $0.upsert(contentsOf: [Book(number: 1, title: "b")]) }
        try await coordinator.transaction { _ = $0.upsert(Book(number: 1, title: "c")) }
        let latest = coordinator.snapshot
        await context.perform { context in
            // As a context does that merges by itself.
            _ = context.state.refresh(to: ContextBase(snapshot: latest), keepingBases: true)
            context.upsert(contentsOf: [Book(number: 1, title: "a")])
            let title = context.first(\Book.number, equals: 1)?.title
            #expect(title == "c")
            #expect(context.hasChanges == false)
        }
    }

    @MainActor @Test func `an observer may delete what is being inserted`() async throws {
        let context = Context(coordinator, executor: .main)
        let isDone = Counter()
        let book = context.sync { context in
            withObservationTracking {
                _ = try? context.fetch(Writer.self)
            } onChange: {
                guard isDone.next() == 1 else { return }
                MainActor.assumeIsolated {
                    context.sync { context in for writer in (try? context.fetch(Writer.self)) ?? [] { writer.delete() }
                    }
                }
            }
            return context.upsert(Writer(name: "gone", born: 3))
        }
        #expect(book.isDeleted && book.born == 3)
    }

    @Test(arguments: 0..<3)
    func `serializable transactions depend on there being nobody, and on who is there`(round: Int) async throws {
        let tries = Counter()
        if round == 1 { try await context.transaction { _ = $0.upsert(Book(code: "code")) } }
        try await coordinator.transaction(isolation: .serializable) { [coordinator] context in
            if round == 2 { context.insert(Book(code: "code")) }
            context.upsert(Book(code: "code", title: "ours"))
            guard tries.next() == 1 else { return }
            try await coordinator.transaction { context in
                if round == 1 {
                    context.first(\Book.code, equals: "code")?.number = 7
                } else {
                    context.upsert(Book(code: "code", title: "theirs"))
                }
            }
        }
        #expect(tries.value == 2)
        #expect(try books.last == "0 ours")
    }

    @Test(arguments: [true, false])
    func `a value that is there already was read`(isAlone: Bool) async throws {
        let tries = Counter()
        try await context.transaction { _ = $0.upsert(Book(code: "code", title: "ours")) }
        try await coordinator.transaction(isolation: .serializable) { [coordinator] context in
            if isAlone {
                context.upsert(Book(code: "code", title: "ours"))
            } else {
                context.upsert(contentsOf: [Book(code: "code", title: "ours")])
            }
            context.insert(Reader(name: "r"))
            guard tries.next() == 1 else { return }
            try await coordinator.transaction { $0.first(\Book.code, equals: "code")?.title = "theirs" }
        }
        #expect(tries.value == 2)
        #expect(try books == ["0 ours"])
    }
}
