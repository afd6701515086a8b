import Foundation
import Graph

/// The people of ``PeopleData`` with an index on the age and one on the balance. An entity apart from ``RankedPerson``, whose
/// queries could go by either.
@Entity struct IndexedPerson {
    var name: String
    var email: String
    @Indexed var age: Int
    @Indexed var balance: Double
    var joined: Date
}

extension IndexedPerson {
    init(_ row: PersonRow) {
        self.init(name: row.name, email: row.email, age: row.age, balance: row.balance, joined: row.joined)
    }

    /// The same sum as ``PersonRow/checksum``.
    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }
}

extension Setting {
    /// The engine in memory with all people, who are indexed by age and balance, for workloads that only read.
    var engineIndexed: Coordinator {
        get async throws {
            try await shared("Graph with ages and balances indexed") {
                let coordinator = try await Coordinator(for: IndexedPerson.self)
                _ = try await Context(coordinator).insert(data.batches) { [data] in IndexedPerson(data.people[$0]) }
                return coordinator
            }
        }
    }
}
