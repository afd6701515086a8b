import Testing

@testable import Graph

@Entity private struct Jar {
    @Unique var label = ""
    var beans = 0
    var shelf: ToOne<Shelf> = nil

    func validate() throws {
        if beans < 0 { throw ValidationError(\Self.beans, "must not be negative") }
    }
}

@Entity private struct Shelf {
    var name = ""
    @Relationship(inverse: \Jar.shelf) var jars: ToMany<Jar> = []
}

private struct Spilt: Error {}

extension Coordinator {
    fileprivate static func pantry() async throws -> Coordinator {
        try await Coordinator(for: Jar.self, Shelf.self)
    }

    fileprivate nonisolated var jars: [String: Int] {
        get throws {
            try Dictionary(uniqueKeysWithValues: snapshot.fetchValues(Jar.self).map { ($0.label, $0.beans) })
        }
    }
}

/// R20: `atomically`, with the objects that its caller has in hand.
struct AtomicallyTests {
    // MARK: On the main actor

    @MainActor @Test func `R20 on the main actor it changes objects in hand and saves`() async throws {
        let context = Context(try await .pantry(), executor: .main)
        let (jar, shelf) = (context.sync { $0.insert(Jar(label: "a", beans: 3)) }, context.sync { $0.insert(Shelf()) })
        let made = try await context.atomically {
            MainActor.preconditionIsolated()
            jar.beans += 1
            shelf.jars.append(jar)
            let id = shelf.id
            return context.sync { $0.insert(Jar(label: "b", beans: 7, shelf: ToOne(id))) }
        }
        #expect(made.label == "b" && shelf.jars == [jar, made])
        #expect(
            try context.coordinator.jars == ["a": 4, "b": 7] && context.coordinator.snapshot.commit == CommitNumber(1))
        #expect(!context.sync { $0.hasChanges })
    }

    @MainActor @Test func `R20 what throws half-way is gone, and what was pending before it stays`() async throws {
        let context = Context(try await .pantry(), executor: .main)
        let (jar, shelf) = (context.sync { $0.insert(Jar(label: "a")) }, context.sync { $0.insert(Shelf(name: "top")) })
        try await context.save()
        jar.beans = 5
        shelf.jars = [jar]
        await #expect(throws: Spilt.self) {
            try await context.atomically {
                jar.beans = 6
                jar.shelf = nil
                shelf.name = "bottom"
                context.sync { $0.insert(Jar(label: "b")) }
                context.delete(shelf)
                throw Spilt()
            }
        }
        #expect(jar.beans == 5 && jar.shelf == shelf && shelf.jars == [jar])
        #expect(shelf.name == "top" && !shelf.isDeleted && !shelf.hasChanges)
        #expect(context.sync { $0.insertedObjects.isEmpty && $0.deletedObjects.isEmpty })
        #expect(try context.coordinator.jars == ["a": 0])
        try await context.save()
        #expect(try context.coordinator.jars == ["a": 5])
    }

    @MainActor @Test func `R20 R8 where the save fails its changes are gone, and those before it are pending`()
        async throws
    {
        let context = Context(try await .pantry(), executor: .main)
        let jar = context.sync { $0.insert(Jar(label: "a", beans: 1)) }
        try await context.save()
        let other = context.sync { $0.insert(Jar(label: "b", beans: 2)) }
        do {
            try await context.atomically {
                other.beans = 3
                jar.beans = -1
            }
            Issue.record("it saved a jar that may not be")
        } catch GraphError.validationFailed(let failures) {
            #expect(failures.count == 1)
        } catch {
            throw error
        }
        #expect(jar.beans == 1 && !jar.hasChanges && other.beans == 2 && other.isInserted)
        #expect(try context.coordinator.jars == ["a": 1])
        try await context.atomically { other.beans += 10 }
        #expect(try context.coordinator.jars == ["a": 1, "b": 12])
    }

    @MainActor @Test func `R22 it is one group to undo`() async throws {
        let context = Context(try await .pantry(), executor: .main)
        context.sync { $0.undoLimit = 5 }
        let jar = context.sync { $0.insert(Jar(label: "a")) }
        jar.beans = 1
        try await context.atomically {
            jar.beans = 2
            jar.label = "b"
        }
        context.sync { $0.undo() }
        #expect(jar.beans == 1 && jar.label == "a")
    }

    @MainActor @Test func `it may begin where another save is under way, and waits for it`() async throws {
        let context = Context(try await .pantry(), executor: .main)
        let jar = context.sync { $0.insert(Jar(label: "a")) }
        let tasks = [
            Task { try await context.save() },
            Task { try await context.atomically { jar.beans += 1 } },
            Task { try await context.atomically { jar.beans += 1 } },
        ]
        for task in tasks { try await task.value }
        #expect(try context.coordinator.jars == ["a": 2])
    }

    // MARK: Elsewhere

    @Test func `R20 an actor that shares the context's executor uses its objects`() async throws {
        let butler = Butler(try await .pantry())
        try await butler.stock()
        try await butler.fill(by: 4)
        #expect(try butler.context.coordinator.jars == ["a": 4, "b": 4])
        await #expect(throws: Spilt.self) { try await butler.spill() }
        #expect(await butler.beans == [4, 4])
        #expect(await butler.count == 1)
        await #expect(throws: GraphError.self) { try await butler.fill(by: -9) }
        #expect(await butler.beans == [4, 4])
        #expect(try butler.context.coordinator.jars == ["a": 4, "b": 4])
    }

    @Test func `R20 in an extension of Context it needs no actor of its own`() async throws {
        let context = Context(try await .pantry())
        try await context.stock()
        #expect(try context.coordinator.jars == ["x": 1])
    }

    @Test func `code that runs elsewhere ends the process`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await useFromElsewhere(Context(Coordinator.pantry()))
        }
        let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        // A name with spaces is printed with others that do not break a line.
        #expect(output.replacing("\u{A0}", with: " ").contains("elsewhere pass ids or values, and await"))
    }
}

@MainActor private func useFromElsewhere(_ context: Context) async throws {
    try await context.atomically {}
}

private actor Butler: ContextActor {
    let context: Context
    private var jars: [Jar.Object] = []
    private(set) var count = 0

    init(_ coordinator: Coordinator) { context = Context(coordinator) }

    var beans: [Int] { jars.map(\.beans) }

    func stock() async throws {
        jars = ["a", "b"].map { label in withContext { $0.insert(Jar(label: label)) } }
        withContext { $0.insert(Shelf()) }
        try await context.save()
    }

    func fill(by amount: Int) async throws {
        try await context.atomically {
            for jar in jars { jar.beans += amount }
        }
    }

    /// What the actor itself has is not undone.
    func spill() async throws {
        try await context.atomically {
            jars[0].beans = 100
            count += 1
            throw Spilt()
        }
    }
}

extension Context {
    fileprivate func stock() async throws {
        let jar = insert(Jar(label: "x"))
        let same = try await atomically {
            jar.beans = 1
            return jar
        }
        #expect(same === jar)
        do {
            try await atomically {
                jar.beans = 2
                delete(jar)
                throw Spilt()
            }
        } catch is Spilt {
            #expect(!jar.isDeleted && jar.beans == 1)
        }
    }
}
