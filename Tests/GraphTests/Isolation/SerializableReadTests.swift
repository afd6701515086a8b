import Testing

@testable import Graph

/// R26: whatever way something is read in a serializable transaction, it is validated; and what was not read is not.
struct SerializableReadTests {
    /// A course in a hall with two lectures, two students and two papers, and another one with nothing.
    struct School: Sendable {
        let coordinator: Coordinator
        let course: Course.ID
        let other: Course.ID
        let hall: Hall.ID
        let lectures: [Lecture.ID]
        let ada: Student.ID
        let bob: Student.ID
        let papers: [Paper.ID]

        init() async throws {
            coordinator = try await .school()
            let context = Context(coordinator)
            (course, other, hall, lectures, ada, bob, papers) = try await context.transaction { context in
                let course = context.insert(Course(title: "Logic"))
                let other = context.insert(Course(title: "Music"))
                let hall = context.insert(Hall(house: "A", number: 1))
                course.room = hall
                let lectures = ["One", "Two"].map { context.insert(Lecture(title: $0, course: ToOne(course.id))) }
                let ada = context.insert(Student(name: "Ada"))
                let bob = context.insert(Student(name: "Bob"))
                ada.locker = context.insert(Locker(number: 1))
                course.students = [ada, bob]
                ada.buddies = [bob]
                bob.mentor = ada
                let papers = ["Sets", "Types"].map { context.insert(Paper(title: $0)) }
                for paper in papers { course.readings.append(paper) }
                return (course.id, other.id, hall.id, lectures.map(\.id), ada.id, bob.id, papers.map(\.id))
            }
        }
    }

    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let read: @Sendable (isolated Context, School) async throws -> Void
        let change: @Sendable (isolated Context, School) throws -> Void

        init(
            _ name: String,
            _ read: @escaping @Sendable (isolated Context, School) async throws -> Void,
            then change: @escaping @Sendable (isolated Context, School) throws -> Void
        ) {
            (testDescription, self.read, self.change) = (name, read, change)
        }
    }

    /// Whether a transaction that reads, while something else is changed, and then writes elsewhere is refused.
    static func isRefused(_ example: Example, at level: IsolationLevel) async throws -> Bool {
        let school = try await School()
        do {
            try await school.coordinator.transaction(isolation: level, retries: 0) { context in
                try await example.read(context, school)
                try await Context(school.coordinator).transaction { try example.change($0, school) }
                context.insert(Hall(house: "Z", number: 9))
            }
            return false
        } catch GraphError.retriesExhausted {
            return true
        }
    }

    @Test(arguments: validated) func `what was read may not change`(example: Example) async throws {
        #expect(try await Self.isRefused(example, at: .serializable))
        #expect(try await !Self.isRefused(example, at: .snapshot))
    }

    @Test(arguments: independent) func `what was not read may change`(example: Example) async throws {
        #expect(try await !Self.isRefused(example, at: .serializable))
    }

    // MARK: Examples

    static let rename: @Sendable (isolated Context, School) throws -> Void = { context, school in
        try context.object(for: school.ada).name = "Grace"
    }

    static let leave: @Sendable (isolated Context, School) throws -> Void = { context, school in
        let course = try context.object(for: school.course)
        course.students.remove(try context.object(for: school.bob))
    }

    static let enrol: @Sendable (isolated Context, School) throws -> Void = { context, school in
        let eve = context.insert(Student(name: "Eve"))
        try context.object(for: school.course).students.insert(eve)
    }

    private static let validated = [
        Example("an object", { _ = try $0.object(for: $1.ada).name }, then: rename),
        Example("an object by subscript", { _ = $0[$1.ada] }, then: rename),
        Example("an object without its type", { _ = $0.object(for: AnyPersistentID($1.ada)) }, then: rename),
        Example(
            "an object that is deleted", { _ = $0[$1.papers[0]] },
            then: { context, school in
                context[school.course]?.readings = []
                context[school.papers[0]]?.delete()
            }),
        Example(
            "an object looked up in vain", { context, school in _ = context[Student.ID(row: school.bob.row + 1)] },
            then: { context, school in
                #expect(context.insert(Student(name: "Eve")).id.row == school.bob.row + 1)
            }),
        Example("a reference's object", { _ = try $0.object(for: $1.bob).mentor?.name }, then: rename),
        Example(
            "a reference", { _ = try $0.object(for: $1.bob).mentor?.id },
            then: { context, school in
                context[school.bob]?.mentor = nil
            }),
        Example(
            "the other end of a pair", { _ = try $0.object(for: $1.ada).locker },
            then: { context, school in
                context[school.ada]?.locker?.number = 2
            }),
        Example(
            "a pair that is parted", { _ = try $0.object(for: $1.ada).locker?.student?.id },
            then: { context, school in
                context[school.ada]?.locker = nil
            }),
        Example("a count of members", { _ = try $0.object(for: $1.course).students.count }, then: enrol),
        Example("that there are members", { _ = try $0.object(for: $1.course).students.isEmpty }, then: leave),
        Example(
            "that there are no members", { _ = try $0.object(for: $1.other).students.isEmpty },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.ada))
            }),
        Example(
            "the first member", { _ = try $0.object(for: $1.course).lectures.first },
            then: { context, school in
                context[school.course]?.lectures.move(from: 1, to: 0)
            }),
        Example(
            "the last member", { _ = try $0.object(for: $1.course).lectures.last?.id },
            then: { context, school in
                context.insert(Lecture(title: "Three", course: ToOne(school.course)))
            }),
        Example(
            "a member by its place", { _ = try $0.object(for: $1.course).readings[1] },
            then: { context, school in
                context[school.course]?.readings.remove(at: 0)
            }),
        Example("members' identifiers", { _ = try $0.object(for: $1.course).students.ids }, then: leave),
        Example(
            "members as objects", { for student in try $0.object(for: $1.course).students { _ = student.name } },
            then: rename),
        Example("members as values", { _ = try $0.object(for: $1.course).students.values }, then: rename),
        Example("each member's value", { try $0.object(for: $1.course).students.forEachValue { _ in } }, then: rename),
        Example("members mapped", { _ = try $0.object(for: $1.course).students.map(\.name) }, then: rename),
        Example(
            "members reversed", { _ = try $0.object(for: $1.course).lectures.reversed() },
            then: { context, school in
                context[school.lectures[0]]?.title = "Zero"
            }),
        Example(
            "members compared",
            { context, school in
                _ = try context.object(for: school.course).students == context.object(for: school.other).students
            },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.ada))
            }),
        Example("members printed", { _ = try $0.object(for: $1.course).students.description }, then: leave),
        Example(
            "that an object is a member",
            { context, school in
                _ = try context.object(for: school.course).students.contains(context.object(for: school.bob))
            }, then: leave),
        Example(
            "that an object is no member",
            { context, school in
                _ = try context.object(for: school.other).students.contains(context.object(for: school.bob))
            },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.bob))
            }),
        Example("members from the other side", { _ = try $0.object(for: $1.bob).courses.count }, then: leave),
        Example(
            "members of a relationship with itself", { _ = try $0.object(for: $1.bob).buddies.count },
            then: {
                context, school in
                context[school.ada]?.buddies = []
            }),
        Example(
            "the order of members", { _ = try $0.object(for: $1.course).readings.ids },
            then: { context, school in
                context[school.course]?.readings.move(from: 0, to: 1)
            }),
        Example(
            "members that follow from a reference", { _ = try $0.object(for: $1.ada).pupils.ids },
            then: {
                context, school in
                context[school.bob]?.mentor = nil
            }),
        Example(
            "a search that an update meets",
            { context, _ in
                _ = try context.fetch(Student.self, where: { $0.name == "Grace" })
            }, then: rename),
        Example(
            "a search that an insert meets",
            { context, _ in
                _ = try context.fetchCount(Student.self, where: { $0.name == "Eve" })
            }, then: enrol),
        Example(
            "a number of all that an insert meets", { context, _ in _ = try context.fetchCount(Student.self) },
            then: enrol),
        Example(
            "a part of all that an insert meets",
            { context, _ in
                _ = try context.fetchIDs(Student.self, sortedBy: [.ascending(\.name)], offset: 1, limit: 1)
            }, then: enrol),
        Example(
            "a search that a delete meets", { context, _ in _ = try context.fetchIDs(Lecture.self) },
            then: {
                context, school in
                context[school.lectures[1]]?.delete()
            }),
        Example(
            "a look-up that an update leaves",
            { context, _ in _ = context.first(\Student.name, equals: "Ada") }, then: rename),
        Example(
            "a look-up that an update meets",
            { context, _ in _ = context.fetchIDs(\Student.name, startingWith: "Gr") }, then: rename),
        Example(
            "a look-up that an insert meets", { context, _ in _ = context.fetchCount(\Student.name, in: "D"..."F") },
            then: enrol),
        Example(
            "a look-up that a delete meets", { context, _ in _ = context.fetchValues(\Lecture.title, in: "Two"...) },
            then: { context, school in
                context[school.lectures[1]]?.delete()
            }),
        Example(
            "a look-up of nil", { context, _ in _ = context.fetch(\Student.email, equals: nil) },
            then: { context, school in
                context[school.ada]?.email = "ada@example.com"
            }),
        Example(
            "a look-up among many of another property",
            { context, _ in
                for number in 0..<30 { _ = context.fetchIDs(\Student.name, startingWith: "x\(number)") }
                _ = context.fetchIDs(\Student.email, startingWith: "ada@")
            },
            then: { context, school in
                context[school.bob]?.email = "ada@example.com"
            }),
        Example(
            "an object found by a look-up, in another property",
            { context, _ in _ = context.fetch(\Student.name, equals: "Ada") },
            then: { context, school in
                context[school.ada]?.points = 7
            }),
        Example(
            "a look-up in a nested context",
            { context, _ in
                let nested = await Context(parent: context)
                await nested.perform { _ = $0.fetchCount(\Student.name, startingWith: "E") }
            }, then: enrol),
        Example("values found", { context, _ in _ = try context.fetchValues(Student.self, limit: 1) }, then: rename),
        Example("the first one found", { context, _ in _ = try context.first(Student.self)?.id }, then: rename),
        Example(
            "a search of the base",
            { context, _ in
                _ = try context.fetchValues(Student.self, includesPendingChanges: false)
            }, then: rename),
        Example(
            "what a nested context reads",
            { context, school in
                let nested = await Context(parent: context)
                await nested.perform { _ = $0[school.ada]?.name }
            }, then: rename),
        Example(
            "what a nested transaction reads",
            { context, school in
                try await context.transaction { context in
                    await Task.yield()
                    _ = context[school.ada]?.name
                }
            }, then: rename),
        Example(
            "what was read before a failure that was undone",
            { context, school in
                struct Stop: Error {}
                try? await context.transaction { context in
                    _ = context[school.ada]?.name
                    throw Stop()
                }
            }, then: rename),
        Example(
            "what was read before a rollback",
            { context, school in
                _ = context[school.ada]?.name
                context.rollback()
            }, then: rename),
        Example(
            "what was read twice",
            { context, school in
                for _ in 0..<2 { _ = context[school.ada]?.name }
            }, then: rename),
    ]

    private static let independent = [
        Example("another object", { _ = $0[$1.bob] }, then: rename),
        Example("nothing", { _, _ in }, then: rename),
        Example(
            "identifiers of members that are changed", { _ = try $0.object(for: $1.course).students.ids }, then: rename),
        Example("another owner's members", { _ = try $0.object(for: $1.other).students.count }, then: enrol),
        Example("an owner whose members change", { _ = try $0.object(for: $1.course).title }, then: enrol),
        Example("another relationship", { _ = try $0.object(for: $1.course).lectures.count }, then: enrol),
        Example(
            "a look-up of other values",
            { context, _ in
                _ = context.first(\Student.name, equals: "Bob")
                _ = context.fetchCount(\Student.name, in: "H"...)
                _ = context.fetchIDs(\Student.email, startingWith: "a")
            }, then: rename),
        Example(
            "a look-up beside which an object is inserted",
            { context, _ in
                _ = context.fetch(\Student.name, in: ..<"D")
                _ = context.fetchIDs(\Student.name, startingWith: "Ev ")
                _ = context.first(\Student.name, equals: "E")
            }, then: enrol),
        Example(
            "a look-up of another entity", { context, _ in _ = context.fetch(\Lecture.title, in: "A"...) }, then: rename
        ),
        Example("a search of another entity", { context, _ in _ = try context.fetch(Lecture.self) }, then: rename),
        Example(
            "the published state, which is no part of the transaction",
            { _, school in
                _ = school.coordinator.snapshot.value(for: school.ada)
            }, then: rename),
        Example(
            "what was changed and changed back to another version of the same members",
            { context, school in
                _ = try context.object(for: school.course).students.ids
                try await Context(school.coordinator).transaction { try leave($0, school) }
            },
            then: { context, school in
                context[school.course]?.students.insert(try context.object(for: school.bob))
            }),
    ]

    // MARK: Moving

    /// A transaction that reads, then goes on with a newer state, has read both.
    @Test(.bug(id: "refresh in a serializable transaction"), arguments: [0, 1, 2])
    func `what was read before a refresh is validated too`(way: Int) async throws {
        let school = try await School()
        await #expect(throws: GraphError.self) {
            try await school.coordinator.transaction(isolation: .serializable, retries: 0) { context in
                let name = try context.object(for: school.ada).name
                try await Context(school.coordinator).transaction { try Self.rename($0, school) }
                switch way {
                case 0: await context.refresh()
                case 1: await context.rollback(to: .latest)
                default: await context.reset()
                }
                context.insert(Student(name: "A friend of \(name)"))
            }
        }
    }
}
