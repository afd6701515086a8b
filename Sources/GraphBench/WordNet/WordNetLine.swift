/// One synset's line, taken apart as wndb(5) describes it.
///
///     offset(8 digits) lex_filenum(2 digits) ss_type(n v a s r) w_cnt(2 hex) {word lex_id(1 hex)}…
///     p_cnt(3 digits) {symbol offset pos source/target(2 + 2 hex)}… [frames] | gloss
struct WordNetLine {
    struct Word {
        let text: ArraySlice<UInt8>
        let lexicalID: Int
    }

    struct Pointer {
        let symbol: ArraySlice<UInt8>
        let offset: Int
        let partOfSpeech: UInt8
        let sourceNumber: Int
        let targetNumber: Int
    }

    struct Malformed: Error {
        let reason: String
    }

    let offset: Int
    let lexicographerFile: Int
    let isSatellite: Bool
    let gloss: String
    private(set) var words: [Word] = []
    private(set) var pointers: [Pointer] = []

    /// - Parameter line: the bytes without the line's end.
    init(_ line: ArraySlice<UInt8>) throws(Malformed) {
        var fields = Fields(rest: line)
        offset = try fields.number("the offset")
        lexicographerFile = try fields.number("the lexicographer file")
        isSatellite = try fields.next("the type").first == 0x73
        let wordCount = try fields.number("the number of words", radix: 16)
        for _ in 0..<wordCount {
            let text = try fields.next("a word")
            let end = text.firstIndex(of: 0x28) ?? text.endIndex
            words.append(Word(text: text[..<end], lexicalID: try fields.number("a lexical id", radix: 16)))
        }
        let pointerCount = try fields.number("the number of pointers")
        for _ in 0..<pointerCount {
            let symbol = try fields.next("a pointer's symbol")
            let offset = try fields.number("a pointer's offset")
            let partOfSpeech = try fields.next("a pointer's part of speech").first ?? 0
            let numbers = try fields.number("a pointer's sense numbers", radix: 16)
            pointers.append(
                Pointer(
                    symbol: symbol, offset: offset, partOfSpeech: partOfSpeech, sourceNumber: numbers >> 8,
                    targetNumber: numbers & 0xFF))
        }
        guard let bar = fields.rest.firstIndex(of: 0x7C) else { throw Malformed(reason: "there is no gloss") }
        var text = fields.rest[(bar + 1)...]
        while text.first == 0x20 { text.removeFirst() }
        while text.last == 0x20 { text.removeLast() }
        gloss = String(decoding: text, as: UTF8.self)
    }

    /// Fields with one space or more between them.
    private struct Fields {
        var rest: ArraySlice<UInt8>

        mutating func next(_ name: String) throws(Malformed) -> ArraySlice<UInt8> {
            var start = rest.startIndex
            while start < rest.endIndex, rest[start] == 0x20 { start += 1 }
            var end = start
            while end < rest.endIndex, rest[end] != 0x20 { end += 1 }
            guard start < end else { throw Malformed(reason: "\(name) is missing") }
            defer { rest = rest[end...] }
            return rest[start..<end]
        }

        mutating func number(_ name: String, radix: Int = 10) throws(Malformed) -> Int {
            let field = try next(name)
            // No number of the format has more digits.
            guard field.count <= 8 else { throw Malformed(reason: "\(name) is too long") }
            var number = 0
            for byte in field {
                let digit =
                    switch byte {
                    case 0x30...0x39: Int(byte) - 0x30
                    case 0x61...0x66: Int(byte) - 0x61 + 10
                    case 0x41...0x46: Int(byte) - 0x41 + 10
                    default: radix
                    }
                guard digit < radix else { throw Malformed(reason: "\(name) is no number") }
                number = number * radix + digit
            }
            return number
        }
    }
}
