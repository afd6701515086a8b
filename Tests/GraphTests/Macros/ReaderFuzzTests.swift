import Foundation
import Testing

@testable import GraphMacros

/// Mangled declarations: whatever the text is, the macro answers, and what it answers has its place in the source.
///
/// `GRAPH_MUTATIONS` sets how many there are, `GRAPH_SEED` where their seeds begin.
struct ReaderFuzzTests {
    private static let first = setting("GRAPH_SEED") ?? 1
    private static let count = setting("GRAPH_MUTATIONS") ?? 3000

    private static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func `no source makes the reader fail`() throws {
        let mangler = try Mangler()
        let lastWords = LastWords()
        defer { lastWords.end() }
        for seed in Self.first..<(Self.first + Self.count) {
            let text = mangler.text(seed: seed)
            lastWords.prepare("GRAPH_SEED=\(seed) GRAPH_MUTATIONS=1 swift test --filter ReaderFuzzTests\n\(text)\n")
            for complaint in Self.complaints(about: text) {
                Issue.record(
                    """
                    GRAPH_SEED=\(seed) GRAPH_MUTATIONS=1 swift test --filter ReaderFuzzTests
                    \(complaint)
                    \(text.debugDescription)
                    \(text)
                    """
                )
            }
        }
    }

    @Test(
        arguments: try ExpansionPair.all(in: .accepted).filter {
            [
                "Comments", "Interpolation", "MultilineString", "RawMultilineStringDefault", "RawStrings",
                "RegexLiterals",
            ]
            .contains($0.name)
        }
    )
    func `a source may break off anywhere`(_ pair: ExpansionPair) {
        let bytes = Array(pair.declaration.utf8)
        for length in bytes.indices {
            #expect(Self.complaints(about: String(decoding: bytes[..<length], as: UTF8.self)) == [])
        }
    }

    /// Deeper than a stack would bear; and so long that a second pass for each bracket would be noticed.
    @Test(arguments: ["(", "[{", "<", "{", "({", "\"\\(", "/*", "#if A\n", "@A(", "a<b,", "a: A<", "x.", "`", "/"])
    func `nesting has no limit`(_ piece: String) {
        let nested = String(repeating: piece, count: 20_000)
        for text in [nested, "struct S {\n var a = 1\n var b = \(nested)", "struct S: \(nested)", "@A\(nested)"] {
            #expect(Self.complaints(about: text) == [])
        }
    }

    /// What is wrong with the answers for a source.
    private static func complaints(about text: String) -> [String] {
        var complaints: [String] = []
        let size = text.utf8.count
        for role in ["member", "extension"] {
            let expansion = Expansion(
                of: ExpansionRequest(
                    macro: "EntityMacro",
                    role: role,
                    attribute: SourceText("@Entity"),
                    declaration: SourceText(text),
                    lexicalContext: [SourceText(text)]
                )
            )
            for problem in expansion.problems
            where problem.range.lowerBound < 0 || problem.range.upperBound > size {
                complaints.append("\(role): \(problem.range) of \(size) bytes: \(problem.message)")
            }
            if expansion.source == nil, expansion.problems.isEmpty { complaints.append("\(role): no answer") }
            if let source = expansion.source, !isBalanced(source) {
                complaints.append("\(role): brackets do not match in\n\(source)")
            }
        }
        return complaints
    }

    /// The reader of the tests is the one under test, but it reads another text: what was cut out of the source at the
    /// wrong place has a bracket or a quotation mark too many.
    private static func isBalanced(_ source: String) -> Bool {
        guard let tokens = try? Lexer.tokens(of: SourceText(source)) else { return false }
        var open: [Unicode.Scalar] = []
        for token in tokens where token.kind == .punctuation {
            switch Unicode.Scalar(token.character) {
            case "(": open.append(")")
            case "[": open.append("]")
            case "{": open.append("}")
            case let bracket where ")]}".unicodeScalars.contains(bracket):
                guard open.popLast() == bracket else { return false }
            default: break
            }
        }
        return open.isEmpty
    }
}

/// What the process says before a trap ends it, or before the alarm ends a case that goes on for half a minute.
private struct LastWords {
    nonisolated(unsafe) private static var text: [UInt8] = []
    private let handlers: [(signal: Int32, before: (@convention(c) (Int32) -> Void)?)]

    init() {
        handlers = [SIGILL, SIGTRAP, SIGALRM].map { number in
            let before = signal(number) { number in
                _ = write(2, LastWords.text, LastWords.text.count)
                signal(number, SIG_DFL)
                raise(number)
            }
            return (number, before)
        }
    }

    func prepare(_ text: String) {
        Self.text = Array(text.utf8)
        alarm(30)
    }

    func end() {
        alarm(0)
        for handler in handlers { signal(handler.signal, handler.before) }
    }
}

/// Makes declarations that nobody would write out of those of the corpus.
private struct Mangler {
    private let sources: [[UInt8]]

    private static let nastyPieces = [
        "\"\"\"", "\"", "#\"", "\"#", "#\"\"\"", "\\(", "\\", "/*", "*/", "//", "/", "#/", "/#", "#if A\n",
        "\n#endif\n",
        "\n#else\n", "#", "##", "@", "@A(", "<", ">", "->", "`", "\0", "\u{FFFD}", "\u{A0}", "🐶", "e\u{301}",
        "\u{FEFF}", "(",
        ")", "[", "]", "{", "}", "\r", "\n", "\r\n", ";", ",", ":", "::", ".", "=", "?", "!", "&", "'", "$0", " var ",
        " let ",
        " func ", "\nlazy ", "\nstatic ", "\nasync ", " didSet {", " ToOne<", " struct ", "{ didSet {} }", "\u{202E}",
    ]

    init() throws {
        let pairs = try ExpansionPair.all(in: .accepted) + ExpansionPair.all(in: .rejected)
        sources = pairs.map { Array($0.declaration.utf8) }
    }

    func text(seed: UInt64) -> String {
        var random = SeededGenerator(seed: seed)
        var bytes = sources.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &random) { mangle(&bytes, &random) }
        // What is not UTF-8 any more is replaced, as on the way from the compiler.
        return String(decoding: bytes, as: UTF8.self)
    }

    private func mangle(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: bytes.removeSubrange(Self.range(in: bytes, upTo: 3, &random))
        case 1: bytes.removeSubrange(Self.range(in: bytes, upTo: 100, &random))
        case 2, 3: Self.insert(Array(bytes[Self.range(in: bytes, upTo: 40, &random)]), into: &bytes, &random)
        case 4...6:
            Self.insert(Array((Self.nastyPieces.randomElement(using: &random) ?? "").utf8), into: &bytes, &random)
        case 7: bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        case 8: splice(into: &bytes, &random)
        case 9: Self.swapLines(of: &bytes, &random)
        case 10: Self.swapTokens(of: &bytes, &random)
        default: Self.nest(&bytes, &random)
        }
    }

    private static func range(in bytes: [UInt8], upTo length: Int, _ random: inout SeededGenerator) -> Range<Int> {
        let start = Int.random(in: 0...bytes.count, using: &random)
        return start..<min(bytes.count, start + Int.random(in: 1...length, using: &random))
    }

    private static func insert(_ piece: [UInt8], into bytes: inout [UInt8], _ random: inout SeededGenerator) {
        bytes.insert(contentsOf: piece, at: Int.random(in: 0...bytes.count, using: &random))
    }

    private func splice(into bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let other = sources.randomElement(using: &random) ?? []
        bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        bytes += other[Int.random(in: 0...other.count, using: &random)...]
    }

    private static func swapLines(of bytes: inout [UInt8], _ random: inout SeededGenerator) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines.swapAt(lines.indices.randomElement(using: &random) ?? 0, lines.indices.randomElement(using: &random) ?? 0)
        bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    private static func swapTokens(of bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let source = SourceText(String(decoding: bytes, as: UTF8.self))
        bytes = source.bytes
        guard let tokens = try? Lexer.tokens(of: source), let one = tokens.randomElement(using: &random)?.range,
            let other = tokens.randomElement(using: &random)?.range, one.upperBound <= other.lowerBound
        else { return }
        // From the end, so that the places stay right.
        bytes.replaceSubrange(other, with: source.bytes[one])
        bytes.replaceSubrange(one, with: source.bytes[other])
    }

    private static func nest(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let brackets = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("/*", "*/"), ("\"\\(", ")\"")]
        let (opening, closing) = brackets.randomElement(using: &random) ?? ("", "")
        let depth = Int.random(in: 1...200, using: &random)
        let place = range(in: bytes, upTo: 50, &random)
        bytes.insert(contentsOf: String(repeating: closing, count: depth).utf8, at: place.upperBound)
        bytes.insert(contentsOf: String(repeating: opening, count: depth).utf8, at: place.lowerBound)
    }
}
