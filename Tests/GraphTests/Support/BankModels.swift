@testable import Graph

// A bank: attributes to be merged in every way, and a delete that takes much along.

/// Belongs to a client, who lists accounts in an order of its own.
@Entity struct Account: Equatable {
    var balance = 0
    var points: Int8 = 0
    var rate = 0.0
    var highest = 0
    var lowest = 0
    var labels: Set<String> = []
    var memo = ""
    var client: ToOne<Client> = nil
    @Relationship(inverse: \Card.account) var card: ToOne<Card> = nil
}

@Entity struct Client: Equatable {
    var name = ""
    var advisor: ToOne<Advisor> = nil
    @Relationship(.cascade, inverse: \Account.client, ordered: true) var accounts: ToMany<Account> = []
    @Relationship(ordered: true) var clubs: ToMany<Club> = []
}

@Entity struct Club: Equatable {
    var name = ""
    @Relationship(inverse: \Client.clubs, ordered: true) var members: ToMany<Client> = []
}

/// Of one account, or of none.
@Entity struct Card: Equatable {
    var number = 0
    var account: ToOne<Account> = nil
}

/// Refers to an account that does not know of it.
@Entity struct Advisor: Equatable {
    var name = ""
    var favorite: ToOne<Account> = nil
}

/// Is about a client, whom it needs.
@Entity struct Contract: Equatable {
    var text = ""
    @Relationship(minimum: 1) var client: ToOne<Client> = nil
}

extension Coordinator {
    /// A bank, in which every commit is checked.
    static func bank(at path: String? = nil) async throws -> Coordinator {
        try await Coordinator(
            for: Account.self, Client.self, Club.self, Card.self, Advisor.self, Contract.self,
            at: path,
            checksEveryCommit: true
        )
    }
}
