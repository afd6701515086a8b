import Foundation
import Graph

/// The people of ``PeopleData`` with an index on the balance. An entity apart from ``Person``, whose inserts and updates would
/// pay for it.
@Entity struct RankedPerson {
    var name: String
    var email: String
    var age: Int
    @Indexed var balance: Double
    var joined: Date
}

extension RankedPerson {
    init(_ row: PersonRow) {
        self.init(name: row.name, email: row.email, age: row.age, balance: row.balance, joined: row.joined)
    }

    /// The same sum as ``PersonRow/checksum``.
    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }
}

extension Setting {
    /// The engine in memory with all people, who are indexed by their balance, for workloads that only read.
    var engineRanking: Coordinator {
        get async throws {
            try await shared("Graph with balances indexed") {
                let coordinator = try await Coordinator(for: RankedPerson.self)
                _ = try await Context(coordinator).insert(data.batches) { [data] in RankedPerson(data.people[$0]) }
                return coordinator
            }
        }
    }
}
