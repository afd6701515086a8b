import Foundation

@testable import Graph

@Entity struct Team {
    var name: String
    @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
}

@Entity struct Person {
    var name: String
    @Unique var email: String?
    @Indexed var age = 0
    var team: ToOne<Team> = nil
}

/// A folder that is removed with everything in it when the value goes away.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "graph-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String = "store.graph") -> String { path + "/" + name }
}
