import Foundation
import Testing

@testable import GraphMacros

/// The names that a property cannot have, because a member of `ManagedObject` would win over it.
struct HiddenNameTests {
    private struct SymbolGraph: Decodable {
        struct Symbol: Decodable {
            struct Kind: Decodable { let identifier: String }
            let kind: Kind
            let pathComponents: [String]
        }

        let symbols: [Symbol]
    }

    @Test func `the hidden names are the members of the managed object`() throws {
        let graph = try JSONDecoder().decode(SymbolGraph.self, from: SwiftCompiler().symbolGraph())
        let members = graph.symbols.filter { symbol in
            symbol.pathComponents.count == 2 && symbol.pathComponents[0] == "ManagedObject"
                && ["swift.property", "swift.method"].contains(symbol.kind.identifier)
        }
        var names = Set(members.compactMap { $0.pathComponents[1].split(separator: "(").first.map(String.init) })
        #expect(names.remove("id") != nil)
        // The compiler derives it and lists it nowhere.
        names.insert("hashValue")
        #expect(PropertyDeclaration.hiddenNames == names)
    }
}
