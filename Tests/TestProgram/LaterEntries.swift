import Foundation
import Graph

/// `Entry` where another type has that name.
typealias SavedEntry = Entry

/// The schema of `Entry`, as the plan of the next version names it.
enum First: SchemaVersion {
    static let entities: [any Entity.Type] = [Entry.self]
}

/// The next version of the program, which finds its new property by itself.
enum Extended {
    @Entity struct Entry {
        @Indexed var number = 0
        var filling = Data()
        var rank = 7
    }
}

/// Another next version, whose plan computes the new property.
enum Planned: SchemaVersion {
    static let entities: [any Entity.Type] = [Entry.self]

    @Entity struct Entry {
        var filling = Data()
        @Indexed var text = ""
        @Indexed var number = 0
    }

    static let plan = MigrationPlan(
        .custom(from: First.self, to: Planned.self) { old, new in
            for id in try old.fetchIDs(SavedEntry.self) {
                guard let entry = old.value(for: id) else { continue }
                new[id.migrated(to: Planned.Entry.self)]?.text = "number \(entry.number)"
            }
        })
}

/// A store that the next version has opened.
enum LaterStore {
    case extended(Coordinator)
    case planned(Coordinator)

    static func open(_ path: String, by kind: String) async throws -> LaterStore {
        kind == "plan"
            ? .planned(try await Coordinator(for: Planned.Entry.self, at: path, migration: Planned.plan))
            : .extended(try await Coordinator(for: Extended.Entry.self, at: path))
    }

    var coordinator: Coordinator {
        switch self {
        case .extended(let coordinator), .planned(let coordinator): coordinator
        }
    }

    /// The numbers of entries whose new property is right.
    var numbers: [Int] {
        get throws {
            switch self {
            case .extended(let store):
                try store.snapshot.fetchValues(Extended.Entry.self).filter { $0.rank == 7 }.map(\.number)
            case .planned(let store):
                try store.snapshot.fetchValues(Planned.Entry.self).filter { $0.text == "number \($0.number)" }
                    .map(\.number)
            }
        }
    }
}
