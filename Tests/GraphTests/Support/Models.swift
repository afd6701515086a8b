import Foundation

@testable import Graph

struct Team: Entity {
    var name: String
    var members: ToMany<Person> = []

    static let schema = EntitySchema<Team>("Team") {
        $0.attribute("name", \.name)
        $0.toMany("members", \.members, inverse: \Person.team)
    }
}

struct Person: Entity {
    var name: String
    var email: String?
    var age = 0
    var team: ToOne<Team> = nil

    static let schema = EntitySchema<Person>("Person") {
        $0.attribute("name", \.name)
        $0.attribute("email", \.email, unique: true)
        $0.attribute("age", \.age, indexed: true)
        $0.toOne("team", \.team)
    }
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
