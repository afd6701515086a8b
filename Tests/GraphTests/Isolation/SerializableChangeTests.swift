import Testing

@testable import Graph

private enum Archive {
    @Entity struct Flag {
        var isUp = false
    }

    @Entity struct Folder {
        @Relationship(.cascade, inverse: \Doc.folder) var docs: ToMany<Doc> = []
    }

    @Entity struct Doc {
        var folder: ToOne<Folder> = nil
        var tags: ToMany<Tag> = []
    }

    @Entity struct Tag {
        @Relationship(inverse: \Doc.tags) var docs: ToMany<Doc> = []
    }

    @Entity struct Group {
        @Relationship(.cascade, inverse: \Member.groups) var members: ToMany<Member> = []
    }

    @Entity struct Member {
        var groups: ToMany<Group> = []
    }

    /// Gives itself the labels that it has to have when it is saved.
    @Entity struct Parcel {
        var weight = 0
        var required: ToOne<Label> = nil
        var labels: ToMany<Label> = []

        mutating func willSave() {
            if let required = required.id { labels = ToMany([required]) }
        }
    }

    @Entity struct Label {
        @Relationship(inverse: \Parcel.labels) var parcels: ToMany<Parcel> = []
    }
}

/// R26: what a change goes by counts as read, and what it does not go by may change.
struct SerializableChangeTests {
    private typealias Reads = SerializableReadTests
    typealias Example = SerializableReadTests.Example

    @Test(arguments: dependent) func `R26: what a change goes by may not change`(example: Example) async throws {
        #expect(try await Reads.isRefused(example, at: .serializable))
    }

    @Test(arguments: independent) func `R26: what a change does not go by may change`(example: Example) async throws {
        #expect(try await !Reads.isRefused(example, at: .serializable))
    }

    private static let dependent = [
        Example("all members removed", { $0[$1.course]?.students.removeAll() }, then: Reads.enrol),
        Example("no members assigned", { $0[$1.course]?.students = [] }, then: Reads.enrol),
        Example(
            "the same members assigned",
            { context, school in
                context[school.course]?.students = [
                    try context.object(for: school.ada), try context.object(for: school.bob),
                ]
            }, then: Reads.leave),
        Example(
            "an array assigned",
            { context, school in
                let students = [try context.object(for: school.ada)]
                context[school.course]?.students = RelatedObjects(students)
            }, then: Reads.enrol),
        Example(
            "another owner's members assigned",
            { context, school in
                if let students = context[school.course]?.students { context[school.other]?.students = students }
            },
            then: { context, school in
                context[school.other]?.students.insert(context.insert(Student(name: "Eve")))
            }),
        Example(
            "a plain value assigned", { $0[$1.course]?.students = ToMany([$1.ada]) }, then: Reads.enrol),
        Example(
            "a plain value assigned to an owner that has no members",
            { context, school in
                let course = try context.object(for: school.other)
                for owner in [context.insert(Course(title: "Sums")), course] { owner.students = ToMany([school.ada]) }
            },
            then: { context, school in
                context[school.other]?.students.insert(context.insert(Student(name: "Eve")))
            }),
        Example(
            "all members removed that follow from references", { $0[$1.ada]?.pupils.removeAll() },
            then: { context, school in
                context.insert(Student(name: "Eve")).mentor = context[school.ada]
            }),
        Example(
            "members assigned that follow from references", { $0[$1.bob]?.pupils = [] },
            then: { context, school in
                context.insert(Student(name: "Eve")).mentor = context[school.bob]
            }),
        Example(
            "a member inserted again",
            { $0[$1.course]?.students.insert(try $0.object(for: $1.bob)) }, then: Reads.leave),
        Example(
            "an owner inserted again at the other end",
            { $0[$1.bob]?.courses.insert(try $0.object(for: $1.course)) }, then: Reads.leave),
        Example(
            "no member removed",
            { $0[$1.other]?.students.remove(try $0.object(for: $1.bob)) },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.bob))
            }),
        Example(
            "a member removed and inserted again",
            { context, school in
                let (course, bob) = (try context.object(for: school.course), try context.object(for: school.bob))
                course.students.remove(bob)
                course.students.insert(bob)
            }, then: Reads.leave),
        Example(
            "a member inserted and removed again, in nested contexts",
            { context, school in
                for isInsertion in [true, false] {
                    try await context.transaction { context in
                        await Task.yield()
                        let (course, bob) = (try context.object(for: school.other), try context.object(for: school.bob))
                        if isInsertion { course.students.insert(bob) } else { course.students.remove(bob) }
                    }
                }
            },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.bob))
            }),
        Example(
            "what a closure did that was undone",
            { context, school in
                struct Stop: Error {}
                try? await context.transaction { context in
                    context[school.course]?.students.removeAll()
                    throw Stop()
                }
            }, then: Reads.enrol),
        Example(
            "what was done before a rollback",
            { context, school in
                context.rollback()
                context[school.course]?.students.removeAll()
                context.rollback()
            }, then: Reads.enrol),
        Example(
            "what is done after a refresh, a rollback to the newest state and a reset",
            { context, school in
                await context.refresh()
                await context.rollback(to: .latest)
                await context.reset()
                context[school.course]?.students.removeAll()
                await context.refresh()
                context.rollback()
            }, then: Reads.enrol),
        Example(
            "what a nested context does after its save",
            { context, school in
                let nested = await Context(parent: context)
                await nested.perform { _ = $0.insert(Student(name: "Carol")) }
                try await nested.save()
                await nested.perform { $0[school.course]?.students = [] }
                await nested.rollback(to: .latest)
            }, then: Reads.enrol),
        Example(
            "what a nested context does after a refresh",
            { context, school in
                let nested = await Context(parent: context)
                await nested.refresh()
                await nested.perform { $0[school.course]?.students = [] }
            }, then: Reads.enrol),
        Example(
            "a member appended to an order", { $0[$1.course]?.readings.append($0.insert(Paper(title: "Rows"))) },
            then: { context, school in
                context[school.course]?.readings.append(context.insert(Paper(title: "Sums")))
            }),
        Example(
            "a member that comes last in an order at the other end",
            { context, school in
                context[school.papers[0]]?.courses.insert(try context.object(for: school.other))
            },
            then: { context, school in
                context[school.other]?.readings.append(try context.object(for: school.papers[1]))
            }),
        Example(
            "an object that refers to an owner with an order",
            { $0.insert(Lecture(title: "Three", course: ToOne($1.course))) },
            then: { context, school in
                context.insert(Lecture(title: "Four", course: ToOne(school.course)))
            }),
        Example(
            "objects that refer to an owner with an order, inserted together",
            { context, school in
                context.insert(contentsOf: ["Three", "Five"].map { Lecture(title: $0, course: ToOne(school.course)) })
            },
            then: { context, school in
                context.insert(Lecture(title: "Four", course: ToOne(school.course)))
            }),
        Example(
            "a member put at a place",
            { $0[$1.course]?.readings.insert($0.insert(Paper(title: "Rows")), at: 1) },
            then: { context, school in
                context[school.course]?.readings.move(from: 1, to: 0)
            }),
        Example(
            "a member put between others that have come to the same places again",
            { $0[$1.course]?.readings.insert($0.insert(Paper(title: "Rows")), at: 1) },
            then: { context, school in
                for _ in 0..<2 { context[school.course]?.readings.move(from: 0, to: 1) }
            }),
        Example(
            "a delete that cascades over references", { $0[$1.course]?.delete() },
            then: { context, school in
                context[school.lectures[0]]?.course = context[school.other]
            }),
        Example(
            "a delete that cascades to the other end of a pair", { $0[$1.ada]?.delete() },
            then: { context, school in
                context[school.bob]?.locker = context[school.ada]?.locker
            }),
        Example(
            "a delete that nullifies references", { $0[$1.ada]?.delete() },
            then: { context, school in
                context[school.bob]?.mentor = nil
            }),
        Example("a delete that ends links", { $0[$1.bob]?.delete() }, then: Reads.leave),
        Example(
            "a delete that is denied by links", { $0[$1.papers[0]]?.delete() },
            then: { context, school in
                context[school.course]?.readings.remove(try context.object(for: school.papers[0]))
            }),
        Example(
            "a delete that is denied by references", { $0[$1.hall]?.delete() },
            then: { context, school in
                context[school.course]?.room = nil
            }),
        Example(
            "a delete that nothing refers to, where the target does not know of it",
            { context, school in
                context[school.course]?.room = nil
                context[school.hall]?.delete()
            },
            then: { context, school in
                context.insert(Key(room: ToOne(school.hall)))
            }),
        Example(
            "what a delete was seen to nullify",
            { context, school in
                context[school.ada]?.delete()
                let names = context.updatedObjects.compactMap { ($0 as? Student.Object)?.name }
                context.insert(Student(name: "A friend of \(names)"))
            },
            then: { context, school in
                context[school.bob]?.name = "Robert"
            }),
    ]

    private static let independent = [
        Example(
            "a new member beside another one",
            { $0[$1.course]?.students.insert($0.insert(Student(name: "Carol"))) },
            then: { context, school in
                context[school.course]?.students.remove(try context.object(for: school.bob))
            }),
        Example(
            "a new member beside another new one",
            { context, school in
                context[school.other]?.students.insert(try context.object(for: school.ada))
            },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.bob))
            }),
        Example(
            "a member removed beside another one",
            { $0[$1.course]?.students.remove(try $0.object(for: $1.ada)) }, then: Reads.leave),
        Example(
            "whether one is a member, beside another one",
            { context, school in
                _ = context[school.other]?.students.contains(try context.object(for: school.bob))
            },
            then: { context, school in
                context[school.other]?.students.insert(try context.object(for: school.ada))
            }),
        Example(
            "a member removed from an order beside another one",
            { $0[$1.course]?.readings.remove(try $0.object(for: $1.papers[0])) },
            then: { context, school in
                context[school.course]?.readings.append(context.insert(Paper(title: "Rows")))
            }),
        Example(
            "a new object's members",
            { context, school in
                context.insert(Course(title: "Sums", students: ToMany([school.ada])))
            }, then: Reads.rename),
        Example(
            "a new reference beside another one",
            { $0.insert(Student(name: "Carol")).mentor = $0[$1.ada] },
            then: { context, school in
                context.insert(Student(name: "Dan")).mentor = context[school.ada]
            }),
        Example(
            "other properties of what a delete nullifies", { $0[$1.ada]?.delete() },
            then: { context, school in
                context[school.bob]?.name = "Robert"
            }),
        Example(
            "the members of another owner than the one deleted", { $0[$1.other]?.delete() }, then: Reads.enrol),
    ]

    /// Several owners that have no members yet are given theirs at once.
    @Test func `R26: what willSave() assigns goes by the members that there are`() async throws {
        let coordinator = try await Coordinator(for: Archive.Parcel.self, Archive.Label.self)
        let (parcels, label) = try await coordinator.transaction { context in
            ((0..<2).map { _ in context.insert(Archive.Parcel()).id }, context.insert(Archive.Label()).id)
        }
        let attempts = Counter()
        try await coordinator.transaction(isolation: .serializable) { context in
            for parcel in parcels { try context.object(for: parcel).required = context[label] }
            guard attempts.next() == 1 else { return }
            try await coordinator.transaction(isolation: .serializable) { context in
                // So it comes before the other one.
                guard try context.object(for: parcels[0]).required == nil else { return }
                context.insert(Archive.Label()).parcels = ToMany([parcels[1]])
            }
        }
        for parcel in parcels {
            #expect(try coordinator.snapshot.related(\Archive.Parcel.labels, of: parcel) == [label])
        }
    }

    // MARK: Write skew

    enum Form: String, Sendable, CaseIterable {
        case removeAll = "docs.removeAll()"
        case assign = "docs = []"
        case assignSame = "tags = [the one it has]"
        case insertAgain = "tags.insert(a member)"
        case delete = "delete() cascading over links"
    }

    /// The second transaction sees that the first one has not been, so it comes before it, and changes the members that the first
    /// one goes by.
    @Test(arguments: Form.allCases)
    func `R26: some serial order explains what two transactions came to that go by the same members`(
        form: Form
    ) async throws {
        let coordinator = try await Coordinator(
            for: Archive.Flag.self, Archive.Folder.self, Archive.Doc.self, Archive.Tag.self, Archive.Group.self,
            Archive.Member.self)
        let (flag, folder, doc, tag) = try await coordinator.transaction { context in
            let (folder, doc, tag) = (
                context.insert(Archive.Folder()), context.insert(Archive.Doc()), context.insert(Archive.Tag())
            )
            doc.folder = folder
            doc.tags.insert(tag)
            return (context.insert(Archive.Flag()).id, folder.id, doc.id, tag.id)
        }
        let (group, member) = try await coordinator.transaction { context in
            let (group, member) = (context.insert(Archive.Group()), context.insert(Archive.Member()))
            group.members.insert(member)
            return (group.id, member.id)
        }
        let attempts = Counter()
        try await coordinator.transaction(isolation: .serializable) { context in
            switch form {
            case .removeAll: try context.object(for: folder).docs.removeAll()
            case .assign: try context.object(for: folder).docs = []
            case .assignSame: try context.object(for: doc).tags = [try context.object(for: tag)]
            case .insertAgain: try context.object(for: doc).tags.insert(try context.object(for: tag))
            case .delete: context[group]?.delete()
            }
            try context.object(for: flag).isUp = true
            guard attempts.next() == 1 else { return }
            try await coordinator.transaction(isolation: .serializable) { context in
                guard try !context.object(for: flag).isUp else { return }
                switch form {
                case .removeAll, .assign:
                    context.insert(Archive.Doc(folder: ToOne(folder)))
                case .assignSame:
                    try context.object(for: doc).tags.insert(context.insert(Archive.Tag()))
                case .insertAgain:
                    try context.object(for: doc).tags.remove(try context.object(for: tag))
                case .delete:
                    try context.object(for: group).members.remove(try context.object(for: member))
                }
            }
        }
        let snapshot = coordinator.snapshot
        switch form {
        case .removeAll, .assign: #expect(try snapshot.related(\Archive.Folder.docs, of: folder).isEmpty)
        case .assignSame, .insertAgain: #expect(try snapshot.related(\Archive.Doc.tags, of: doc) == [tag])
        case .delete: #expect(snapshot.value(for: member) != nil)
        }
    }
}
