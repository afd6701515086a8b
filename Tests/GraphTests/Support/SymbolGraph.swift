import Foundation

/// A module's public symbols.
struct SymbolGraph: Decodable {
    struct Symbol: Decodable {
        struct Kind: Decodable {
            let identifier: String
        }

        struct Identifier: Decodable {
            let precise: String
        }

        struct Comment: Decodable {
            struct Line: Decodable {
                let text: String
            }

            let lines: [Line]
        }

        let pathComponents: [String]
        let kind: Kind
        let identifier: Identifier
        let docComment: Comment?
    }

    let symbols: [Symbol]

    /// Of the module under test, extracted once.
    static let graph = Result { try JSONDecoder().decode(SymbolGraph.self, from: SwiftCompiler().symbolGraph()) }
}
