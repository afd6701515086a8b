import Foundation
import Graph

/// The engine's side of ``Workload/reopenWorkloads``.
enum EngineReopen {
    static let contenders: [String: Workload.Contender] = [
        "reopen_first_read": { setting in
            let (path, people) = try await setting.engineFile
            let id = people[setting.data.lookups[0]]
            return opening(path) { $0.value(for: id)?.checksum ?? 0 }
        },
        "reopen_read_all": { setting in opening(try await setting.engineFile.path, read: checksumOfAllRows) },
        "reopen_compacted": openingCompacted,
        "reopen_compacted_read_all": { setting in
            opening(try await setting.compactedEngineFile, read: checksumOfAllRows)
        },
        "migrate": { setting in
            let (original, path) = (try await setting.compactedEngineFile, setting.freshPath("migrated.graph"))
            let id = try await setting.engineFile.people[setting.data.lookups[0]]
            return { _ in
                for name in [path, path + ".lock", path + ".schema-2"] {
                    try? FileManager.default.removeItem(atPath: name)
                }
                try FileManager.default.copyItem(atPath: original, toPath: path)
                let stopwatch = Stopwatch()
                let coordinator = try await Coordinator(for: Later.Team.self, Later.Person.self, at: path)
                let person = coordinator.snapshot.value(for: id.migrated(to: Later.Person.self))
                let seconds = stopwatch.seconds
                try await coordinator.close()
                return Measurement(amount: seconds, count: 1, answer: person?.checksum ?? 0)
            }
        },
        "compact": { setting in
            let path = try await setting.compactedEngineFile
            return { _ in
                let coordinator = try await EngineStore.open(path)
                let stopwatch = Stopwatch()
                try await coordinator.compact()
                let seconds = stopwatch.seconds
                let count = coordinator.snapshot.count(of: Person.self)
                try await coordinator.close()
                return Measurement(amount: seconds, count: 1, answer: UInt64(count))
            }
        },
    ]

    /// The compacted file, up to the first row.
    static let openingCompacted: Workload.Contender = { setting in
        let id = try await setting.engineFile.people[setting.data.lookups[0]]
        return opening(try await setting.compactedEngineFile) { $0.value(for: id)?.checksum ?? 0 }
    }

    private static func checksumOfAllRows(_ snapshot: Snapshot) throws -> UInt64 {
        try snapshot.fetchValues(Person.self).reduce(0) { $0 &+ $1.checksum }
    }

    /// Times opening and reading; closing comes after.
    private static func opening(_ path: String, read: @escaping (Snapshot) throws -> UInt64) -> Workload.Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let coordinator = try await EngineStore.open(path)
            let answer = try read(coordinator.snapshot)
            let seconds = stopwatch.seconds
            try await coordinator.close()
            return Measurement(amount: seconds, count: 1, answer: answer)
        }
    }
}

/// The next version of ``Team`` and ``Person``: a property more.
private enum Later {
    @Entity struct Team {
        var name: String
        @Relationship(.cascade, inverse: \Person.team) var members: ToMany<Person> = []
    }

    @Entity struct Person {
        var name: String
        @Unique var email: String
        var age: Int
        var balance: Double
        var joined: Date
        var nickname: String?
        var team: ToOne<Team> = nil

        var checksum: UInt64 {
            Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
        }
    }
}
