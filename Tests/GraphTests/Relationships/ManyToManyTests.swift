import Testing

@testable import Graph

/// R3, R12, R13, R14: links of many-to-many relationships.
struct ManyToManyTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await .school()
        context = Context(coordinator)
    }

    @Test func `R12 both sides of a link agree at once, saved and reopened`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("school.graph")
        let coordinator = try await Coordinator.school(at: path)
        let (course, student) = try await Context(coordinator).transaction { context in
            let course = context.insert(Course(title: "Logic"))
            let student = context.insert(Student(name: "Ada"))
            course.students.append(student)
            #expect(course.students.contains(student) && student.courses.contains(course))
            #expect(course.students.count == 1 && student.courses.first == course)
            return (course.id, student.id)
        }
        try await coordinator.close()
        let reopened = try await Coordinator.school(at: path)
        #expect(try reopened.snapshot.related(\Course.students, of: course) == [student])
        #expect(try reopened.snapshot.related(\Student.courses, of: student) == [course])
        #expect(reopened.check() == [])
        let context = Context(reopened)
        try await context.transaction { context in
            let student = try context.object(for: student)
            student.courses.remove(at: 0)
            let course = try context.object(for: course)
            #expect(course.students.isEmpty)
        }
        try await reopened.close()
        let last = try await Coordinator.school(at: path)
        #expect(try last.snapshot.related(\Course.students, of: course) == [] && last.check() == [])
        #expect(last.snapshot.version(of: course) == RowVersion(1), "a link changes no row")
        try await last.close()
    }

    @Test func `R12 members are given at insert, from either side`() async throws {
        try await context.transaction { context in
            let ada = context.insert(Student(name: "Ada"))
            let logic = context.insert(Course(title: "Logic", students: [ada.id]))
            let bob = context.insert(Student(name: "Bob", courses: [logic.id]))
            #expect(logic.students == [ada, bob] && ada.courses == [logic] && bob.courses == [logic])
        }
    }

    @Test func `R12 whole collections are assigned as the links that come and go`() async throws {
        try await context.transaction { context in
            let students = ["a", "b", "c"].map { context.insert(Student(name: $0)) }
            let course = context.insert(Course(title: "Logic"))
            course.students = [students[0], students[1]]
            course.students = [students[1], students[2]]
            #expect(Array(course.students) == [students[1], students[2]] && students[0].courses.isEmpty)
            let other = context.insert(Course(title: "Sets"))
            other.students = course.students
            #expect(other.students == course.students && students[2].courses.count == 2)
            course.students = []
            #expect(course.students.isEmpty && students[2].courses == [other])
            other.students += [students[0], students[0]]
            #expect(other.students.ids == students.map(\.id))
            other.students.removeAll()
            #expect(students.map(\.courses.count) == [0, 0, 0])
        }
    }

    @Test func `R12 a relationship that is its own inverse, and a link to itself`() async throws {
        let ids = try await context.transaction { context in
            let (ada, bob) = (context.insert(Student(name: "Ada")), context.insert(Student(name: "Bob")))
            ada.buddies.insert(bob)
            ada.buddies.insert(ada)
            ada.mentor = ada
            #expect(bob.buddies == [ada] && ada.buddies == [ada, bob] && ada.pupils == [ada])
            return (ada.id, bob.id)
        }
        #expect(coordinator.check() == [])
        try await context.transaction { context in
            let bob = try context.object(for: ids.1)
            try context.object(for: ids.0).delete()
            #expect(bob.buddies.isEmpty)
        }
        #expect(coordinator.check() == [])
        #expect(try coordinator.snapshot.fetchCount(Student.self) == 1)
    }

    @Test func `R13 a delete ends links`() async throws {
        let ids = try await context.transaction { context in
            let ada = context.insert(Student(name: "Ada"))
            return (context.insert(Course(title: "Logic", students: [ada.id])).id, ada.id)
        }
        try await context.transaction { try $0.object(for: ids.0).delete() }
        #expect(try coordinator.snapshot.related(\Student.courses, of: ids.1) == [])
        #expect(coordinator.snapshot.version(of: ids.1) == RowVersion(1))
    }

    @Test func `R13 links deny a delete until they are ended, or the other end is deleted too`() async throws {
        let ids = try await context.transaction { context in
            let reading = context.insert(Paper(title: "Organon"))
            return (context.insert(Course(title: "Logic", readings: [reading.id])).id, reading.id)
        }
        await #expect(throws: GraphError.self) {
            try await context.transaction { try $0.object(for: ids.1).delete() }
        }
        try await context.perform { context in
            try context.object(for: ids.1).delete()
            let course = try context.object(for: ids.0)
            #expect(course.readings.isEmpty)
        }
        do {
            try await context.save()
            Issue.record("the delete went through")
        } catch {
            guard case .deleteDenied(let denied) = error else { throw error }
            #expect(denied.map(\.description) == ["Paper/p1 may not be deleted while Paper.courses leads to Course/p1"])
        }
        #expect(try coordinator.snapshot.related(\Course.readings, of: ids.0) == [ids.1])
        // The delete is still pending, and so is what denies it, wherever the base moves.
        await context.refresh()
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        try await context.transaction { context in
            let course = try context.object(for: ids.0)
            course.readings.removeAll()
            try context.object(for: ids.1).delete()
        }
        #expect(try coordinator.snapshot.fetchCount(Paper.self) == 0 && coordinator.check() == [])
        let reading = try await context.transaction { context in
            let reading = context.insert(Paper(title: "Topics"))
            try context.object(for: ids.0).readings.append(reading)
            return reading.id
        }
        try await context.transaction { context in
            try context.object(for: reading).delete()
            try context.object(for: ids.0).delete()
        }
        #expect(try coordinator.snapshot.fetchCount(Paper.self) == 0 && coordinator.check() == [])
    }

    @Test func `R13 a link that denies a delete can be ended after the delete too`() async throws {
        let (paper, course) = try await context.transaction { context in
            let paper = context.insert(Paper(title: "Organon"))
            return (paper.id, context.insert(Course(title: "Logic", readings: [paper.id])).id)
        }
        try await context.transaction { context in
            try context.object(for: paper).delete()
            try context.object(for: course).readings = []
        }
        #expect(coordinator.snapshot.value(for: paper) == nil && coordinator.check() == [])
    }

    @Test func `a deleted owner takes no members, and a rollback ends links`() async throws {
        await context.perform { context in
            let ada = context.insert(Student(name: "Ada"))
            let course = context.insert(Course(title: "Logic"))
            course.delete()
            course.students.insert(ada)
            course.lectures.append(context.insert(Lecture(title: "First")))
            #expect(ada.courses.isEmpty && course.students.isEmpty && course.lectures.isEmpty)
        }
        await context.rollback()
        let ids = try await context.transaction { context in
            (context.insert(Course(title: "Logic")).id, context.insert(Student(name: "Ada")).id)
        }
        try await context.perform { context in
            try context.object(for: ids.0).students.insert(try context.object(for: ids.1))
            #expect(context.hasChanges == true)
            #expect(context.updatedObjects.isEmpty == true)
        }
        await context.rollback()
        try await context.perform { context in
            let course = try context.object(for: ids.0)
            #expect(course.students.isEmpty)
            #expect(context.hasChanges == false)
        }
    }

    @Test func `a link made and ended again is no change`() async throws {
        let ids = try await context.transaction { context in
            (context.insert(Course(title: "Logic")).id, context.insert(Student(name: "Ada")).id)
        }
        let commit = coordinator.snapshot.commit
        try await context.transaction { context in
            let course = try context.object(for: ids.0)
            course.students.insert(try context.object(for: ids.1))
            course.students.removeAll()
            #expect(context.hasChanges == false)
        }
        #expect(coordinator.snapshot.commit == commit)
    }
}
