import Foundation
import Testing

/// Every public function, initializer and subscript of `Sources/Graph` says in a paragraph of its comment how long it takes:
/// `Complexity: O(log *n*) for *n* objects of the entity.`
struct ComplexityTests {
    /// What protocols of the standard library require, where it does what everybody expects. Declarations that are unavailable
    /// need no complexity either.
    static let obvious = [
        "func == ", "func != ", "func < ", "func hash(into", "func encode(to", "init(from decoder",
        "func makeAsyncIterator()", "func next() async",
    ]

    private struct Declaration {
        /// The file and the line.
        let place: String
        /// From its keyword on.
        let text: Substring
        /// The lines of its comment, without the slashes.
        let comment: [Substring]

        var saysComplexity: Bool {
            comment.indices.contains { line in
                comment[line].hasPrefix("Complexity: ") && (line == 0 || comment[line - 1].isEmpty)
            }
        }
    }

    /// The public functions, initializers and subscripts of a file that can be called.
    private static func declarations(in text: String, of file: String) -> [Declaration] {
        var declarations: [Declaration] = []
        var comment: [Substring] = []
        var isUnavailable = false
        /// How many parentheses of an attribute are open.
        var depth = 0
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("///") {
                comment.append(code.dropFirst(3).drop { $0 == " " })
            } else if depth > 0 || (code.hasPrefix("@") && !code.contains(" public ")) {
                depth += code.count { $0 == "(" } - code.count { $0 == ")" }
                if code.contains("unavailable") { isUnavailable = true }
            } else {
                let match = code.firstMatch(of: /\bpublic (?:[a-z()]+ )*?((?:func|init|subscript)\b.*)/)
                if let match, !isUnavailable {
                    let place = "\(file):\(number + 1)"
                    declarations.append(Declaration(place: place, text: match.1, comment: comment))
                }
                (comment, isUnavailable) = ([], false)
            }
        }
        return declarations
    }

    private static func declarations() throws -> [Declaration] {
        let sources = URL(fileURLWithPath: #filePath).appending(path: "../../../../Sources/Graph").standardized
        let paths = FileManager.default.enumerator(atPath: sources.path)
        let names = (paths?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }.sorted()
        return try names.flatMap { name in
            declarations(in: try String(contentsOf: sources.appending(path: name), encoding: .utf8), of: name)
        }
    }

    @Test func `every public function, initializer and subscript says its complexity`() throws {
        let declarations = try Self.declarations()
        #expect(declarations.count > 150)
        let silent = declarations.filter { declaration in
            !declaration.saysComplexity && !Self.obvious.contains { declaration.text.hasPrefix($0) }
        }
        #expect(silent.map { "\($0.place): \($0.text)" } == [])
    }

    @Test func `a comment without a complexity is found, behind attributes too`() {
        let text = """
            extension Context {
                /// Complexity: O(1).
                public var count: Int { 0 }
                public func first() {}
                /// Says nothing. Complexity: O(1).
                @discardableResult
                public nonisolated func second() {}
                /// Unavailable.
                @available(
                    *, unavailable,
                    message: "(no)"
                )
                public init() {}
                /// Says it.
                ///
                /// Complexity: O(*k*)
                /// for *k* values.
                @inlinable
                public static subscript<V>(value: V) -> V { value }
            }
            """
        let found = Self.declarations(in: text, of: "A.swift")
        #expect(found.map(\.place) == ["A.swift:4", "A.swift:7", "A.swift:19"])
        #expect(found.map(\.saysComplexity) == [false, false, true])
    }
}
