import Testing

@testable import Graph

struct PrefixedKeyTests {
    /// All strings of up to `length` bytes, each 0, 1 or 255.
    private static func strings(upTo length: Int) -> [[UInt8]] {
        var strings: [[UInt8]] = [[]]
        var last = strings
        for _ in 0..<length {
            last = last.flatMap { string in [0, 1, 255].map { string + [$0] } }
            strings += last
        }
        return strings
    }

    @Test func `a key in two parts is like the whole one, wherever it is divided`() {
        let strings = Self.strings(upTo: 3)
        for first in strings {
            for second in strings {
                for cut in 0...first.count {
                    for otherCut in 0...second.count { compare(first, cut, second, otherCut) }
                }
            }
        }
    }

    @Test func `heads order like what they are the heads of`() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...6, using: &random)
            let start = [UInt8](repeating: 9, count: length)
            let (first, second) = (start + tail(&random), start + tail(&random))
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    let heads = (KeyBytes(first).head(after: length), KeyBytes(second).head(after: length))
                    guard heads.0 != heads.1 else { return }
                    #expect((heads.0 < heads.1) == (KeyBytes(first).compare(KeyBytes(second)) < 0))
                }
            }
            let expected = (first.dropFirst(length) + [UInt8](repeating: 0, count: 8)).prefix(8)
            let head = first.withUnsafeBytes { KeyBytes($0).head(after: length) }
            #expect(head == expected.reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    private func tail(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in [0, 1, 128, 255].randomElement(using: &random)! }
    }

    private func compare(_ first: [UInt8], _ cut: Int, _ second: [UInt8], _ otherCut: Int) {
        with(first, cut) { key in
            with(second, otherCut) { other in
                let order = key.compare(other)
                #expect((order < 0) == first.lexicographicallyPrecedes(second), "\(first) \(second)")
                #expect((order == 0) == (first == second), "\(first) \(second)")
                #expect(key.sharedCount(with: other) == zip(first, second).prefix { $0 == $1 }.count)
            }
            #expect(key.bytes == first)
            #expect(key.dropFirst(otherCut).bytes == Array(first.dropFirst(otherCut)))
            #expect(key.prefix(otherCut).bytes == Array(first.prefix(otherCut)))
            let hasPrefix = second.withUnsafeBytes { key.hasPrefix(KeyBytes($0)) }
            #expect(hasPrefix == first.starts(with: second), "\(first) \(second)")
        }
    }

    private func with(_ bytes: [UInt8], _ cut: Int, _ body: (PrefixedKey) -> Void) {
        bytes.withUnsafeBytes {
            body(PrefixedKey(prefix: KeyBytes($0).prefix(cut), suffix: KeyBytes($0).dropFirst(cut)))
        }
    }
}
