import Foundation
import Testing

@testable import Graph

@Entity private struct Sale {
    enum Kind: String { case online, shop }

    @Indexed var number: Int?
    var small: Int8 = 0
    var large: UInt64 = 0
    var price: Double = 0
    var rate: Double?
    var amount = Decimal()
    @Indexed var city = ""
    var country: String?
    var kind = Kind.shop
    var seller: ToOne<Seller> = nil
    var tags: [String] = []

    var computed: Int { 1 }
}

@Entity private struct Seller {
    var name = ""
    @Relationship(inverse: \Sale.seller) var sales: ToMany<Sale> = []
}

struct AggregateTests {
    private static func context(_ sales: [Sale] = []) async throws -> Context {
        let context = Context(try await Coordinator(for: Sale.self, Seller.self))
        try await context.transaction { context in _ = context.insert(contentsOf: sales) }
        return context
    }

    private static func snapshot(_ sales: [Sale] = []) async throws -> Snapshot {
        try await context(sales).coordinator.snapshot
    }

    @Test func `nil does not count; the sum of none is 0, and there is no average or extreme of none`() async throws {
        for sales in [[], [Sale(), Sale()]] {
            let snapshot = try await Self.snapshot(sales)
            #expect(try snapshot.sum(\Sale.number) == 0)
            #expect(try snapshot.average(\Sale.number) == nil)
            #expect(try snapshot.minimum(\Sale.number) == nil && snapshot.maximum(\Sale.number) == nil)
            #expect(try snapshot.minimum(\Sale.rate) == nil && snapshot.maximum(\Sale.country) == nil)
        }
        let snapshot = try await Self.snapshot([
            Sale(number: nil, rate: nil), Sale(number: 5, rate: 1.5), Sale(number: nil), Sale(number: 2, rate: 0.5),
        ])
        #expect(try snapshot.sum(\Sale.number) == 7 && snapshot.sum(\Sale.rate) == 2)
        #expect(try snapshot.average(\Sale.number) == 3.5 && snapshot.average(\Sale.rate) == 1)
        #expect(try snapshot.minimum(\Sale.number) == 2 && snapshot.maximum(\Sale.number) == 5)
        #expect(try snapshot.minimum(\Sale.rate) == 0.5 && snapshot.maximum(\Sale.rate) == 1.5)
    }

    @Test func `integers are added exactly, small ones as Int, and a sum that does not fit is an error`() async throws {
        let snapshot = try await Self.snapshot([
            Sale(number: .max, small: 127, large: .max), Sale(number: .min, small: 127), Sale(number: .max, small: 3),
        ])
        #expect(try snapshot.sum(\Sale.number) == Int.max - 1)
        #expect(try snapshot.sum(\Sale.small) == 257)
        #expect(try snapshot.sum(\Sale.large) == UInt64.max)
        #expect(throws: GraphError.sumOverflow("Sale.number")) {
            try snapshot.sum(\Sale.number, where: #Predicate { $0.small > 2 && $0.number ?? 0 > 0 })
        }
        #expect(try snapshot.average(\Sale.number, where: #Predicate { $0.number ?? 0 > 0 }) == Double(Int.max))
        #expect(throws: GraphError.sumOverflow("Sale.number")) {
            try snapshot.grouped(Sale.self, by: \.city, where: #Predicate { $0.number ?? 0 > 0 }) { $0.sum(\.number) }
        }
    }

    @Test func `decimals stay decimals`() async throws {
        let amounts = ["0.1", "0.2", "0.3"].compactMap { Decimal(string: $0) }
        let snapshot = try await Self.snapshot(amounts.map { Sale(amount: $0) })
        #expect(try snapshot.sum(\Sale.amount) == Decimal(string: "0.6"))
        #expect(try snapshot.average(\Sale.amount) == Decimal(string: "0.2"))
    }

    @Test func `only stored properties with an order have extremes, distinct values and groups`() async throws {
        let snapshot = try await Self.snapshot([Sale()])
        for body in [
            { _ = try snapshot.sum(\Sale.computed) }, { _ = try snapshot.minimum(\Sale.computed) },
            { _ = try snapshot.distinct(\Sale.tags) },
            { _ = try snapshot.grouped(Sale.self, by: \.computed) { $0.count } },
            { _ = try snapshot.grouped(Sale.self, by: \.city) { $0.maximum(\.computed) } },
        ] {
            let error = #expect(throws: GraphError.self, performing: body)
            guard case .notOrdered? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        let other = try await Coordinator(for: Node.self).snapshot
        #expect(throws: GraphError.unknownEntity("Sale")) { try other.sum(\Sale.price) }
    }

    @Test func `distinct values come in their order by an index, else as they come first`() async throws {
        let cities = ["b", "a", "c", "a", "", "b"]
        let snapshot = try await Self.snapshot(
            cities.enumerated().map { Sale(number: $0 == 2 ? nil : 3 - $0, city: $1, country: $0 < 2 ? nil : $1) })
        #expect(try snapshot.distinct(\Sale.city) == ["", "a", "b", "c"])
        #expect(try snapshot.distinct(\Sale.number) == [nil, -2, -1, 0, 2, 3])
        #expect(try snapshot.distinct(\Sale.country) == [nil, "c", "a", "", "b"])
        #expect(try snapshot.distinct(\Sale.city, where: #Predicate { $0.city != "" }) == ["b", "a", "c"])
        #expect(try snapshot.distinct(\Sale.kind) == [.shop])
        #expect(try snapshot.distinct(\Sale.seller).map(\.id) == [nil])
    }

    @Test func `groups come by key, nil first, and equal texts are one group`() async throws {
        let snapshot = try await Self.snapshot([
            Sale(price: 1, country: "caf\u{e9}"), Sale(price: 2, country: nil), Sale(price: 4, country: "cafe\u{301}"),
            Sale(price: 8, country: "bar", kind: .online),
        ])
        let groups = try snapshot.grouped(Sale.self, by: \.country) {
            (count: $0.count, total: $0.sum(\.price), least: $0.minimum(\.price), most: $0.maximum(\.price))
        }
        #expect(groups.map(\.key) == [nil, "bar", "café"])
        #expect(groups.map(\.result.count) == [1, 1, 2])
        #expect(groups.map(\.result.total) == [2, 8, 5])
        #expect(groups.map(\.result.least) == [2, 8, 1] && groups.map(\.result.most) == [2, 8, 4])
        #expect(try snapshot.grouped(Sale.self, by: \.kind) { $0.average(\.price) }.map(\.key) == [.online, .shop])
        #expect(try snapshot.grouped(Sale.self, by: \.price, where: #Predicate { $0.price > 9 }) { $0.count }.isEmpty)
    }

    @Test func `zeros of both signs and NaN are groups as they sort`() async throws {
        let prices = [0.0, .nan, -0.0, .nan, 0.0]
        let groups = try await Self.snapshot(prices.map { Sale(price: $0) }).grouped(Sale.self, by: \.price) {
            $0.count
        }
        #expect(groups.map(\.result) == [1, 2, 2])
        #expect(groups[0].key.sign == .minus && groups[2].key.isNaN)
    }

    @Test func `groups by a reference are by the target, and pending changes count`() async throws {
        let context = try await Self.context([Sale(price: 3), Sale(price: 4), Sale(price: 5)])
        try await context.perform { context in
            let sales = try context.fetch(Sale.self)
            let (ada, eve) = (context.insert(Seller(name: "Ada")), context.insert(Seller(name: "Eve")))
            sales[0].seller = eve
            sales[1].seller = ada
            sales[2].price = 10
            let groups = try context.grouped(Sale.self, by: \.seller) { (count: $0.count, total: $0.sum(\.price)) }
            #expect(groups.map(\.key) == [nil, ada.id, eve.id])
            #expect(groups.map(\.result.total) == [10, 4, 3])
            sales[2].delete()
            #expect(try context.sum(\Sale.price) == 7)
            #expect(try context.maximum(\Sale.price) == 4)
            #expect(try context.average(\Sale.price, where: #Predicate { $0.price < 4 }) == 3)
            #expect(try context.distinct(\Sale.price) == [3, 4])
        }
    }

    @Test func `an error of the closure ends the grouping`() async throws {
        struct Stop: Error {}
        let snapshot = try await Self.snapshot([Sale(city: "a"), Sale(city: "b")])
        var count = 0
        #expect(throws: Stop.self) {
            try snapshot.grouped(Sale.self, by: \.city) { _ in
                count += 1
                throw Stop()
            }
        }
        #expect(count == 1)
    }

    @Test func `random stores with pending changes give what a naive computation gives`() async throws {
        for seed in Seeds.programs(share: 4) {
            var random = SeededGenerator(seed: seed)
            func sale() -> Sale {
                Sale(
                    number: random.chance(3) ? nil : Int.random(in: -5..<5, using: &random),
                    small: Int8.random(in: .min ... .max, using: &random),
                    price: Double(Int.random(in: -9..<9, using: &random)),
                    rate: random.chance(3) ? nil : Double(Int.random(in: 0..<5, using: &random)),
                    city: ["x", "y", "zebra", "zoo of many words", ""][Int.random(in: 0..<5, using: &random)],
                    country: random.chance(2) ? nil : "\(Int.random(in: 0..<3_000, using: &random))")
            }
            // Some of more than a block of rows.
            let count = Int.random(in: 0..<(seed % 3 == 0 ? 3_000 : 600), using: &random)
            let context = try await Self.context((0..<count).map { _ in sale() })
            let (more, edits, seeds) = ((0..<50).map { _ in sale() }, (0..<20).map { _ in sale() }, random.next())
            try await context.perform { context in
                var random = SeededGenerator(seed: seeds)
                context.insert(contentsOf: more)
                let sales = try context.fetch(Sale.self)
                for edit in edits {
                    guard let sale = sales.randomElement(using: &random) else { continue }
                    (sale.number, sale.price, sale.city, sale.rate) = (edit.number, edit.price, edit.city, edit.rate)
                    if random.chance(3) { sales.randomElement(using: &random)?.delete() }
                }
                try Self.compare(context, where: nil) { _ in true }
                let least = Int8.random(in: .min ... .max, using: &random)
                try Self.compare(context, where: #Predicate { $0.small >= least }) { $0.small >= least }
            }
        }
    }

    private static func compare(
        _ context: isolated Context, where predicate: Predicate<Sale>?, _ matches: (Sale) -> Bool
    ) throws {
        let sales = try context.fetchValues(Sale.self, where: matches)
        let numbers = sales.compactMap(\.number)
        #expect(try context.sum(\Sale.number, where: predicate) == numbers.reduce(0, +))
        #expect(try context.sum(\Sale.price, where: predicate) == sales.reduce(0) { $0 + $1.price })
        #expect(try context.sum(\Sale.small, where: predicate) == sales.reduce(0) { $0 + Int($1.small) })
        #expect(
            try context.average(\Sale.number, where: predicate)
                == (numbers.isEmpty ? nil : Double(numbers.reduce(0, +)) / Double(numbers.count)))
        #expect(try context.minimum(\Sale.number, where: predicate) == numbers.min())
        #expect(try context.maximum(\Sale.number, where: predicate) == numbers.max())
        #expect(try context.minimum(\Sale.city, where: predicate) == sales.map(\.city).min())
        #expect(try context.maximum(\Sale.city, where: predicate) == sales.map(\.city).max())
        #expect(try context.maximum(\Sale.rate, where: predicate) == sales.compactMap(\.rate).max())
        var firsts: [String?] = []
        for sale in sales where !Set(firsts).contains(sale.country) { firsts.append(sale.country) }
        #expect(try context.distinct(\Sale.country, where: predicate) == firsts)
        let cities = Set(sales.map(\.city))
        let distinct = try context.distinct(\Sale.city, where: predicate)
        #expect(distinct.count == cities.count && Set(distinct) == cities)
        let groups = try context.grouped(Sale.self, by: \.number, where: predicate) {
            ($0.count, $0.sum(\.price), $0.minimum(\.city), $0.maximum(\.rate), $0.average(\.small))
        }
        let expected = Dictionary(grouping: sales, by: \.number)
        #expect(groups.map(\.key) == expected.keys.sorted { ($0 ?? .min) < ($1 ?? .min) })
        for (key, result) in groups {
            let group = expected[key] ?? []
            #expect(result.0 == group.count && result.1 == group.reduce(0) { $0 + $1.price })
            #expect(result.2 == group.map(\.city).min() && result.3 == group.compactMap(\.rate).max())
            #expect(result.4 == Double(group.reduce(0) { $0 + Int($1.small) }) / Double(group.count))
        }
    }
}
