import Foundation
import Graph

/// The loops that a program would write to fill a store from text, and to write it, without the engine's import and export.
enum FoundationExchange {
    private struct Line<Values: Codable>: Codable {
        var entity: String
        var id: Int
        var values: Values
    }

    private struct TeamValues: Codable {
        var name: String
    }

    private struct PersonValues: Codable {
        var name: String
        var email: String
        var age: Int
        var balance: Double
        var joined: Date
        var team: Int?
    }

    /// Collects people and saves them in transactions of ``PeopleData/batch``.
    private struct Loader {
        let context: Context
        private var teams: [Int: Team.ID] = [:]
        private var people: [Person] = []

        init(_ coordinator: Coordinator) { context = Context(coordinator) }

        mutating func insert(_ id: Int, _ values: TeamValues) async {
            teams[id] = await context.insert(Team(name: values.name))
        }

        mutating func insert(_ values: PersonValues) async throws {
            people.append(
                Person(
                    name: values.name, email: values.email, age: values.age, balance: values.balance,
                    joined: values.joined, team: ToOne(values.team.flatMap { teams[$0] })))
            if people.count == PeopleData.batch { try await save() }
        }

        mutating func save() async throws {
            await context.insert(people)
            try await context.save()
            people.removeAll(keepingCapacity: true)
        }
    }

    static let importingLines: Workload.Contender = { setting in
        let path = try await setting.exportedFiles.lines
        return importing(setting.data.rows) { loader in
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let beginning = Data(#"{"entity":"Team""#.utf8)
            for line in try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n")) {
                if line.starts(with: beginning) {
                    let line = try decoder.decode(Line<TeamValues>.self, from: line)
                    await loader.insert(line.id, line.values)
                } else {
                    try await loader.insert(try decoder.decode(Line<PersonValues>.self, from: line).values)
                }
            }
        }
    }

    /// Fields have no commas, quotation marks or line ends: a loop that reads all of CSV has more to do.
    static let importingCSV: Workload.Contender = { setting in
        let files = try await setting.exportedFiles
        return importing(setting.data.rows) { loader in
            for fields in try records(files.teams) {
                await loader.insert(Int(fields[0]) ?? 0, TeamValues(name: fields[1]))
            }
            for fields in try records(files.people) {
                let values = PersonValues(
                    name: fields[1], email: fields[2], age: Int(fields[3]) ?? 0, balance: Double(fields[4]) ?? 0,
                    joined: try Date(fields[5], strategy: .iso8601), team: Int(fields[6]))
                try await loader.insert(values)
            }
        }
    }

    private static func records(_ path: String) throws -> some Sequence<[String]> {
        let lines = try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n"))
        return lines.dropFirst().lazy.map { line in
            line.dropLast().split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private static func importing(
        _ rows: Int, _ load: @escaping (inout Loader) async throws -> Void
    ) -> Workload.Trial {
        { _ in
            let coordinator = try await Coordinator(for: Team.self, Person.self)
            let stopwatch = Stopwatch()
            var loader = Loader(coordinator)
            try await load(&loader)
            try await loader.save()
            return Measurement(amount: stopwatch.seconds, count: rows, answer: try EngineStore.answer(coordinator))
        }
    }

    static let exportingLines: Workload.Contender = { setting in
        try await EngineExchange.exporting(setting) { coordinator, path in
            let (file, snapshot) = (try FileHandle.creating(path), coordinator.snapshot)
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            var piece = Data()
            func append<Values: Codable>(_ entity: String, _ id: Int, _ values: Values) throws {
                piece += try encoder.encode(Line(entity: entity, id: id, values: values))
                piece.append(UInt8(ascii: "\n"))
                if piece.count >= 1 << 16 {
                    try file.write(contentsOf: piece)
                    piece.removeAll(keepingCapacity: true)
                }
            }
            var teams: [Team.ID: Int] = [:]
            for (number, id) in try snapshot.fetchIDs(Team.self).enumerated() {
                teams[id] = number + 1
                guard let team = snapshot.value(for: id) else { continue }
                try append("Team", number + 1, TeamValues(name: team.name))
            }
            for (number, person) in try snapshot.fetchValues(Person.self).enumerated() {
                try append(
                    "Person", number + 1,
                    PersonValues(
                        name: person.name, email: person.email, age: person.age, balance: person.balance,
                        joined: person.joined, team: person.team.id.flatMap { teams[$0] }))
            }
            try file.write(contentsOf: piece)
            try file.close()
        }
    }
}

extension Context {
    fileprivate func insert(_ team: Team) -> Team.ID { insert(team).id }

    fileprivate func insert(_ people: [Person]) { _ = insert(contentsOf: people) }
}
