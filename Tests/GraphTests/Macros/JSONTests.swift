import Testing

@testable import GraphMacros

/// The plugin's own JSON.
struct JSONTests {
    private func read(_ text: String) throws -> JSON { try JSON(Array(text.utf8)) }

    private func offset(ofMistakeIn bytes: [UInt8]) -> Int? {
        do {
            _ = try JSON(bytes)
            return nil
        } catch {
            return error.offset
        }
    }

    @Test(arguments: [
        JSON.null, .bool(true), .bool(false), .number(0), .number(-1), .number(.max), .number(.min), .string(""),
        .string("\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1F}\u{7F}"), .string("größe 名前 🐶 e\u{301} \u{2028}\u{FFFF}\u{10FFFF}"),
        .array([]), .array([.array([.null]), .object([:])]), .object([:]),
        .object(["": .null, "a\"b": .array([.number(1), .string("x")]), "ü": .object(["n": .bool(false)])]),
    ])
    func `what was written reads back`(_ value: JSON) throws {
        #expect(try JSON(value.bytes) == value)
    }

    @Test func `names are written in order, characters as they are`() {
        let value = JSON.object(["b": .number(nil), "a": .string("\u{1}\"🐶\\")])
        #expect(String(decoding: value.bytes, as: UTF8.self) == #"{"a":"\u0001\"🐶\\","b":null}"#)
    }

    @Test func `escapes`() throws {
        #expect(try read(#""\"\\\/\b\f\n\r\t\u0041\u00e9\u00E9\u0000""#).string == "\"\\/\u{8}\u{C}\n\r\tAéé\u{0}")
        #expect(try read(#""\ud83d\udc36\uD83D\uDC36""#).string == "🐶🐶")
        #expect(try read(#""e\u0301""#).string?.unicodeScalars.count == 2)
    }

    @Test(arguments: [
        #""\ud83d""#, #""\ud83d\n""#, #""\ud83dx""#, #""\ud83d\ud83d""#, #""\udc36""#, #""\ud83d\u0041""#, #""\u12""#,
        #""\u12G4""#, #""\u+041""#, #""\u-041""#, #""\u 041""#, #""\x41""#, #""\"#,
    ])
    func `escapes that mean nothing`(_ text: String) {
        #expect(throws: JSON.Malformed.self) { try read(text) }
    }

    @Test func `white space and numbers`() throws {
        #expect(
            try read(" \t\r\n[ 1 , -20 ,{ \"a\" : null } ] \n")
                == .array([.number(1), .number(-20), .object(["a": .null])]))
        #expect(try read("[1.5, 1e3, 9223372036854775808]") == .array([.number(nil), .number(nil), .number(nil)]))
        #expect(try read("1").string == nil)
        #expect(try read("1")["a"] == nil)
        #expect(try read("{}").array == nil)
    }

    @Test(arguments: [
        ("", 0), (" ", 1), ("{", 1), ("{\"a\"}", 4), ("{\"a\":}", 5), ("{\"a\":1,}", 7), ("{1:2}", 1), ("[1,]", 3),
        ("[1 2]", 3),
        ("[1", 2), ("\"a", 2), ("tru", 0), ("nul", 0), ("-", 0), ("1-2", 0), ("[] []", 3), ("{\"a\":1}x", 7), ("}", 0),
        ("'a'", 0), ("NaN", 0),
    ])
    func `malformed text is told with its place`(_ text: String, _ place: Int) {
        #expect(offset(ofMistakeIn: Array(text.utf8)) == place)
    }

    @Test func `a message may break off anywhere`() throws {
        let bytes = PluginMessages.expansion(of: "struct A { var größe = \"\\u{1F436}\" }\r\n").bytes
        for length in bytes.indices { #expect(offset(ofMistakeIn: Array(bytes[..<length])) != nil) }
        for place in bytes.indices {
            var mangled = bytes
            mangled[place] ^= 0x80
            _ = try? JSON(mangled)
        }
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"a\":[", "[\n"])
    func `depth has a bound, so that the stack has none to fear`(_ piece: String) {
        let bomb = String(repeating: piece, count: 200_000)
        #expect(offset(ofMistakeIn: Array(bomb.utf8)).map { $0 < 1000 } == true)
    }

    @Test func `the protocol's depth is allowed`() throws {
        let deep = String(repeating: "[", count: 99) + String(repeating: "]", count: 99)
        #expect(try read(deep).array?.count == 1)
    }
}
