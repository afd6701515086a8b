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
    @Relationship(inverse: \Book.author, ordered: true) var books: ToMany<Book> = []
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
            for: Book.self, Writer.self, Reader.self, checksEveryCommit: true)
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
        }
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

    @Test func `serializable transactions depend on there being nobody, and on who is there`() async throws {
        for round in 0..<2 {
            let tries = Counter()
            try await coordinator.transaction(isolation: .serializable) { [coordinator] context in
                context.upsert(Book(code: "code", title: "ours \(round)", shelf: "A", place: 3))
                guard tries.next() == 1 else { return }
                try await coordinator.transaction { context in
                    if round == 0 {
                        context.upsert(Book(code: "code", title: "theirs", shelf: "A", place: 3))
                    } else {
                        context.first(\Book.code, equals: "code")?.number = 7
                    }
                }
            }
            #expect(tries.value == 2)
            #expect(try books == ["0 ours \(round)"])
        }
    }
}
