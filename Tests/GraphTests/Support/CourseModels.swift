@testable import Graph

// A school, with every kind of relationship. Schemas by hand, since one is its own inverse.

struct Course: Entity {
    var title: String
    var room: ToOne<Hall> = nil
    var lectures: ToMany<Lecture> = []
    var students: ToMany<Student> = []
    var readings: ToMany<Paper> = []

    static let schema = EntitySchema<Course>("Course") {
        $0.attribute("title", \.title)
        $0.toOne("room", \.room)
        $0.toMany("lectures", \.lectures, inverse: \Lecture.course, deleteRule: .cascade, ordered: true)
        $0.toMany("students", \.students, maximum: 3)
        $0.toMany("readings", \.readings, ordered: true)
    }
}

/// Belongs to a course; has its place there.
struct Lecture: Entity {
    var title: String
    var course: ToOne<Course> = nil

    static let schema = EntitySchema<Lecture>("Lecture") {
        $0.attribute("title", \.title)
        $0.toOne("course", \.course, minimum: 1)
    }
}

struct Student: Entity {
    var name: String
    var email: String? = nil
    var points = 0
    var courses: ToMany<Course> = []
    var buddies: ToMany<Student> = []
    var mentor: ToOne<Student> = nil
    var pupils: ToMany<Student> = []
    var locker: ToOne<Locker> = nil

    static let schema = EntitySchema<Student>("Student") {
        $0.attribute("name", \.name)
        $0.attribute("email", \.email, unique: true, onConflict: .upsert)
        $0.attribute("points", \.points)
        $0.toMany("courses", \.courses, inverse: \Course.students)
        $0.toMany("buddies", \.buddies, inverse: \Student.buddies)
        $0.toOne("mentor", \.mentor)
        $0.toMany("pupils", \.pupils, inverse: \Student.mentor)
        $0.toOne("locker", \.locker, inverse: \Locker.student, deleteRule: .cascade)
    }
}

struct Locker: Entity {
    var number: Int
    var student: ToOne<Student> = nil

    static let schema = EntitySchema<Locker>("Locker") {
        $0.attribute("number", \.number, unique: true, onConflict: .keepExisting)
        $0.toOne("student", \.student)
    }
}

/// Cannot be deleted while courses read it, which it lists in an order of its own.
struct Paper: Entity {
    var title: String
    var courses: ToMany<Course> = []

    static let schema = EntitySchema<Paper>("Paper") {
        $0.attribute("title", \.title)
        $0.toMany("courses", \.courses, inverse: \Course.readings, deleteRule: .deny, ordered: true)
    }
}

/// Cannot be deleted while courses are held in it. Two rooms of one house have different numbers.
struct Hall: Entity {
    var house: String?
    var number = 0
    var courses: ToMany<Course> = []

    static let schema = EntitySchema<Hall>("Hall") {
        $0.attribute("house", \.house)
        $0.attribute("number", \.number)
        $0.toMany("courses", \.courses, inverse: \Course.room, deleteRule: .deny)
        $0.unique("house", "number")
    }
}

/// Is of one room, which does not know of it.
struct Key: Entity {
    var room: ToOne<Hall> = nil

    static let schema = EntitySchema<Key>("Key") {
        $0.toOne("room", \.room, minimum: 1)
    }
}

extension Student {
    /// A property of the program's own that sets a reference.
    var lockerID: Locker.ID? {
        get { locker.id }
        set { locker = ToOne(newValue) }
    }

    /// A property of the program's own that is no relationship.
    var friends: ToMany<Student> {
        get { buddies }
        set { buddies = newValue }
    }
}

extension Coordinator {
    /// A school, in which every commit is checked.
    static func school(at path: String? = nil) async throws -> Coordinator {
        try await Coordinator(
            for: Course.self, Lecture.self, Student.self, Locker.self, Paper.self, Hall.self, Key.self,
            at: path,
            checksEveryCommit: true
        )
    }
}
