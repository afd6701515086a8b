import Foundation
import Graph

/// The attributes of a person as one value that encodes itself.
struct Profile: Codable, Equatable, Sendable {
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date

    init(_ row: PersonRow) {
        (name, email, age, balance, joined) = (row.name, row.email, row.age, row.balance, row.joined)
    }
}

/// A person with a `Codable` attribute.
@Entity struct ProfiledPerson {
    var profile: Profile
}

/// The same values as attributes.
@Entity struct FlatPerson {
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
}

/// Either of the two.
protocol PersonEntity: Entity, Sendable {
    static var fileName: String { get }
    init(_ row: PersonRow)
    var checksum: UInt64 { get }
}

extension ProfiledPerson: PersonEntity {
    static let fileName = "profiled.graph"

    init(_ row: PersonRow) { self.init(profile: Profile(row)) }

    var checksum: UInt64 {
        Checksum.person(
            name: profile.name, email: profile.email, age: profile.age, balance: profile.balance,
            joined: profile.joined)
    }
}

extension FlatPerson: PersonEntity {
    static let fileName = "flat.graph"

    init(_ row: PersonRow) {
        self.init(name: row.name, email: row.email, age: row.age, balance: row.balance, joined: row.joined)
    }

    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }
}

/// Both sides of ``Workload/codableWorkloads``: the engine's has `Codable` values, and the other one the same values flat.
enum EngineCodable {
    static let contenders: [String: Workload.Contender] = [
        "codable_save": saving(ProfiledPerson.self),
        "codable_reopen": opening(ProfiledPerson.self),
        "codable_disk": size(ProfiledPerson.self),
    ]

    static func saving<E: PersonEntity>(_ type: E.Type) -> Workload.Contender {
        { setting in
            let data = setting.data
            return { _ in
                let path = setting.freshPath("codable.graph")
                defer { setting.remove(path) }
                let coordinator = try await Coordinator(for: E.self, at: path)
                let stopwatch = Stopwatch()
                _ = try await Context(coordinator).insert(data.batches) { E(data.people[$0]) }
                let seconds = stopwatch.seconds
                let answer = try answer(coordinator, E.self)
                try await coordinator.close()
                return Measurement(amount: seconds, count: data.rows, answer: answer)
            }
        }
    }

    /// Opens the file and reads every row.
    static func opening<E: PersonEntity>(_ type: E.Type) -> Workload.Contender {
        { setting in
            let path = try await setting.file(of: E.self)
            return { _ in
                let stopwatch = Stopwatch()
                let coordinator = try await Coordinator(for: E.self, at: path)
                let answer = try answer(coordinator, E.self)
                let seconds = stopwatch.seconds
                try await coordinator.close()
                return Measurement(amount: seconds, count: 1, answer: answer)
            }
        }
    }

    static func size<E: PersonEntity>(_ type: E.Type) -> Workload.Contender {
        { setting in
            let path = try await setting.file(of: E.self)
            return { _ in try Workload.fileSize(path, rows: setting.data.rows) }
        }
    }

    private static func answer<E: PersonEntity>(_ coordinator: Coordinator, _ type: E.Type) throws -> UInt64 {
        try coordinator.snapshot.fetchValues(E.self).reduce(0) { $0 &+ $1.checksum }
    }
}

extension Setting {
    /// A closed file with all people, none of whom has a team.
    fileprivate func file<E: PersonEntity>(of type: E.Type) async throws -> String {
        try await shared("file \(E.fileName)") { [data] in
            let path = freshPath(E.fileName)
            let coordinator = try await Coordinator(for: E.self, at: path)
            _ = try await Context(coordinator).insert(data.batches) { E(data.people[$0]) }
            try await coordinator.close()
            return path
        }
    }
}
