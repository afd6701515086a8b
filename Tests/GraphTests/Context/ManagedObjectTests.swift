import Testing

@testable import Graph

struct ManagedObjectTests {
    @Entity fileprivate struct Product {
        var description = ""
        var price = 0
    }

    @Test func `a property called description is read and written through the object`() async throws {
        let coordinator = try await Coordinator(for: Product.self)
        let id = try await Context(coordinator).transaction { context in
            let product = context.insert(Product(description: "a chair"))
            #expect(product.description == "a chair")
            product.description += " of wood"
            return product.id
        }
        #expect(coordinator.snapshot.value(for: id)?.description == "a chair of wood")
    }

    @Test func `an object is printed as identifier and row, however it is printed`() async throws {
        try await Context(Coordinator(for: Product.self)).perform { context in
            let product = context.insert(Product(description: "a chair"))
            let text = #"Product/p1 { description = "a chair", price = 0 }"#
            var printed = ""
            print(product, terminator: "", to: &printed)
            #expect(printed == text)
            #expect("\(product)" == text && "\(product as any AnyManagedObject)" == text)
            #expect(String(describing: product) == text && String(reflecting: product) == text)
            product.delete()
            #expect("\(product)" == text + " (deleted)")
        }
    }

    private static func identifier<Value: Identifiable>(of value: Value) -> Value.ID { value.id }

    @Test func `an object is identified by its identifier`() async throws {
        try await Context(Coordinator(for: Product.self)).perform { context in
            let product = context.insert(Product())
            let id: Product.ID = Self.identifier(of: product)
            #expect(id == product.id)
        }
    }
}
