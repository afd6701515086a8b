import Foundation
import Testing

@testable import Graph

@Entity private struct Article {
    @Unique var code: Decimal
    @Indexed var price: Decimal?
    var weight: Decimal = 0
}

/// Decimal numbers as other numbers: they sort, are unique, and have indexes.
struct DecimalIndexTests {
    @Test func `a unique one is refused twice, and a file with indexes of them opens again`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file()
        let store = try await Coordinator(for: Article.self, at: path)
        let numbers = (-50..<50).shuffled()
        try await store.transaction { context in
            for number in numbers {
                let price = number % 7 == 0 ? nil : Decimal(number) / 8
                context.insert(Article(code: Decimal(number) / 1_000, price: price, weight: Decimal(number) * 3))
            }
        }
        let error = await #expect(throws: GraphError.self) {
            try await store.transaction { _ = $0.insert(Article(code: Decimal(string: "0.0100")!)) }
        }
        guard case .notUnique? = error else { throw try #require(error) }
        try await store.compact()
        try await store.close()
        let again = try await Coordinator(for: Article.self, at: path)
        let snapshot = again.snapshot
        #expect(snapshot.check() == [] && snapshot.count(of: Article.self) == 100)
        #expect(snapshot.first(\Article.code, equals: Decimal(string: "-0.05")!)?.weight == -150)
        let sorted = numbers.sorted()
        let codes = try snapshot.fetchValues(Article.self, sortedBy: [.ascending(\.code)]).map(\.code)
        #expect(codes == sorted.map { Decimal($0) / 1_000 })
        let weights = try snapshot.fetchValues(Article.self, sortedBy: [.descending(\.weight)]).map(\.weight)
        #expect(weights == sorted.reversed().map { Decimal($0) * 3 })
        #expect(try snapshot.maximum(\Article.price) == Decimal(48) / 8)
        #expect(try snapshot.minimum(\Article.weight) == -150)
        let bound = Decimal(5)
        let cheap = try snapshot.fetchCount(Article.self, where: #Predicate { $0.price ?? bound < 0 })
        #expect(cheap == sorted.count { $0 < 0 && $0 % 7 != 0 })
        try await again.close()
    }
}
