/// Finds where literals end: strings, with all that they interpolate, and regular expressions.
extension Lexer {
    /// `#if`, `#"raw string"#`, `#/regex/#`.
    mutating func readPound() throws(Problem) {
        let start = position
        var delimiters = 0
        while byte(delimiters) == UInt8(ascii: "#") { delimiters += 1 }
        switch byte(delimiters) {
        case UInt8(ascii: "\""):
            position += delimiters
            try skipString(delimiters: delimiters)
            append(.string, from: start)
        case UInt8(ascii: "/"):
            position += delimiters + 1
            try skipRegex(delimiters: delimiters, from: start)
            append(.regex, from: start)
        default:
            position += delimiters
            skipWord()
            guard delimiters == 1, position > start + 1 else { throw problem("nothing follows this #", at: start) }
            matchCondition(from: start)
            append(.pound, from: start)
        }
    }

    /// A string literal or a piece of one, on the way through literals that interpolate others.
    private struct StringLevel {
        let start: Int
        let delimiters: Int
        let isMultiline: Bool
        /// Round brackets that the interpolation within has open; nil outside one.
        var brackets: Int?
    }

    /// From an opening quotation mark to behind the literal's end, past everything that it interpolates.
    mutating func skipString(delimiters: Int) throws(Problem) {
        var levels = [openString(delimiters: delimiters)]
        while var level = levels.last {
            guard let byte = byte() else { throw problem("this string does not end", at: level.start) }
            if let brackets = level.brackets {
                if let inner = try skipInterpolated(byte) {
                    levels.append(inner)
                    continue
                }
                switch byte {
                case UInt8(ascii: "("): level.brackets = brackets + 1
                case UInt8(ascii: ")"): level.brackets = brackets == 1 ? nil : brackets - 1
                default: break
                }
                if byte == UInt8(ascii: "(") || byte == UInt8(ascii: ")") {
                    position += 1
                    levels[levels.count - 1] = level
                }
                continue
            }
            if byte == UInt8(ascii: "\\"), hasDelimiters(level.delimiters, at: position + 1) {
                position += 1 + level.delimiters
                if self.byte() == UInt8(ascii: "(") {
                    levels[levels.count - 1].brackets = 1
                }
                position += 1
            } else if byte == UInt8(ascii: "\""), let length = closingLength(of: level) {
                position += length
                levels.removeLast()
            } else if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"), !level.isMultiline {
                throw problem("this string does not end on its line", at: level.start)
            } else {
                position += 1
            }
        }
    }

    /// Within an interpolation: past whatever could hide a bracket. Gives the level of a string that begins here, and has
    /// moved on unless the byte is a round bracket.
    private mutating func skipInterpolated(_ byte: UInt8) throws(Problem) -> StringLevel? {
        switch byte {
        case UInt8(ascii: "\""):
            return openString(delimiters: 0)
        case UInt8(ascii: "#"):
            var delimiters = 0
            while self.byte(delimiters) == UInt8(ascii: "#") { delimiters += 1 }
            position += delimiters
            return self.byte() == UInt8(ascii: "\"") ? openString(delimiters: delimiters) : nil
        case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"):
            try skipBlockComment()
        case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "/"):
            skipLine()
        case UInt8(ascii: "("), UInt8(ascii: ")"):
            break
        default:
            position += 1
        }
        return nil
    }

    /// At a quotation mark. Three begin a multi-line literal, whose text begins on the next line; `#"""#` is a raw literal of
    /// one.
    private mutating func openString(delimiters: Int) -> StringLevel {
        let start = position
        let isMultiline = isAt("\"\"\"") && (delimiters == 0 || isLineEnd(at: position + 3))
        position += isMultiline ? 3 : 1
        return StringLevel(start: start, delimiters: delimiters, isMultiline: isMultiline)
    }

    private func isLineEnd(at offset: Int) -> Bool {
        let rest = bytes[min(offset, bytes.count)...].drop { $0 == UInt8(ascii: " ") || $0 == 0x09 }
        return rest.first.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? true
    }

    private func closingLength(of level: StringLevel) -> Int? {
        guard level.isMultiline else {
            return hasDelimiters(level.delimiters, at: position + 1) ? 1 + level.delimiters : nil
        }
        return isAt("\"\"\"") && hasDelimiters(level.delimiters, at: position + 3) ? 3 + level.delimiters : nil
    }

    private func hasDelimiters(_ count: Int, at offset: Int) -> Bool {
        offset + count <= bytes.count && bytes[offset..<offset + count].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    /// From behind the opening slash of an extended regex literal to behind its end.
    private mutating func skipRegex(delimiters: Int, from start: Int) throws(Problem) {
        while let byte = byte() {
            if byte == UInt8(ascii: "\\") {
                position += 2
            } else if byte == UInt8(ascii: "/"), hasDelimiters(delimiters, at: position + 1) {
                position += 1 + delimiters
                return
            } else {
                position += 1
            }
        }
        throw problem("this regular expression does not end", at: start)
    }

    /// A slash begins a regex literal where no operand ends, if another slash closes it on the line, with no space at
    /// either end, its brackets matched and no comment begun; otherwise it belongs to an operator (SE-0354).
    mutating func skipBareRegex() -> Bool {
        guard
            followsSpace || tokens.last.map({ "([{,;:".utf8.contains($0.character) && $0.kind == .punctuation }) ?? true
        else { return false }
        guard !namesOperator(tokens.count) else { return false }
        var offset = position + 1
        var groups = 0
        var isClass = false
        guard offset < bytes.count, bytes[offset] != UInt8(ascii: " "), bytes[offset] != 0x09 else { return false }
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return false
            case UInt8(ascii: "\\"): offset += 1
            case UInt8(ascii: "["): isClass = true
            case UInt8(ascii: "]"): isClass = false
            case UInt8(ascii: "(") where !isClass: groups += 1
            case UInt8(ascii: ")") where !isClass:
                groups -= 1
                if groups < 0 { return false }
            case UInt8(ascii: "/"):
                guard offset > position + 1, bytes[offset - 1] != UInt8(ascii: " "), bytes[offset - 1] != 0x09 else {
                    return false
                }
                guard offset + 1 == bytes.count || !"/*".utf8.contains(bytes[offset + 1]) else { return false }
                position = offset + 1
                return true
            default: break
            }
            offset += 1
        }
        return false
    }
}
