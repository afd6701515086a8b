#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value that a property cannot have.
struct InvalidValue: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Numbers as decimal texts, and back to the same bits.
extension StoredValue {
    /// A number; in a text, what is none: `inf`, `-inf`, `nan`, and the bits of every other NaN.
    init(_ value: Double) {
        self = value.isFinite ? .number("\(value)") : Self.special(value, value.bitPattern, Double.nan.bitPattern)
    }

    /// The same as for `Double`.
    init(_ value: Float) {
        self = value.isFinite ? .number("\(value)") : Self.special(value, value.bitPattern, Float.nan.bitPattern)
    }

    private static func special<Bits: FixedWidthInteger>(
        _ value: some BinaryFloatingPoint, _ bits: Bits, _ nan: Bits
    ) -> StoredValue {
        guard value.isNaN else { return .text(value > 0 ? "inf" : "-inf") }
        return .text(bits == nan ? "nan" : "0x" + String(bits, radix: 16))
    }

    /// nil if it is no number of the type.
    var double: Double? {
        if let text = numberText { return Double(text).flatMap { $0.isFinite ? $0 : nil } }
        return special { Double(bitPattern: $0) }
    }

    var float: Float? {
        if let text = numberText { return Float(text).flatMap { $0.isFinite ? $0 : nil } }
        return special { Float(bitPattern: $0) }
    }

    private func special<Value: BinaryFloatingPoint, Bits: FixedWidthInteger>(_ value: (Bits) -> Value) -> Value? {
        switch text {
        case "inf": .infinity
        case "-inf": -.infinity
        case "nan": .nan
        case let text? where text.hasPrefix("0x"):
            // Bits of a number have a decimal form, which is the only one.
            Bits(text.dropFirst(2), radix: 16).map(value).flatMap { $0.isNaN ? $0 : nil }
        default: nil
        }
    }

    /// nil if it is no decimal number with all these digits.
    var decimal: Decimal? {
        if text == "NaN" { return .nan }
        guard let text = numberText, text.utf8.count <= 256, let value = Decimal(string: text) else { return nil }
        // A decimal number has 38 digits, and the initializer rounds.
        return DecimalDigits(value.description) == DecimalDigits(text) ? value : nil
    }

    /// A number in the notation of JSON, whether or not it is in quotation marks.
    var numberText: String? {
        switch self {
        case .number(let text): text
        case .text(let text) where text.isJSONNumber: text
        default: nil
        }
    }

    func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        numberText.flatMap { Number($0) }
    }
}

/// The value of a decimal notation: digits without zeros at either end, and what the last one counts.
private struct DecimalDigits: Equatable {
    private let isNegative: Bool
    private var digits: [UInt8] = []
    private var exponent = 0

    /// - Parameter text: in the notation of JSON.
    init(_ text: String) {
        let parts = text.utf8.split(whereSeparator: { $0 | 0x20 == UInt8(ascii: "e") })
        let mantissa = parts.first ?? Substring(text).utf8
        isNegative = mantissa.first == UInt8(ascii: "-")
        digits = mantissa.filter { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        if let point = mantissa.firstIndex(of: UInt8(ascii: ".")) {
            exponent = 1 - mantissa.distance(from: point, to: mantissa.endIndex)
        }
        // No more digits than the text has, so that only an exponent that no number has overflows.
        exponent &+= parts.count > 1 ? Int(Substring(parts[1])) ?? .max : 0
        digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent &+= 1
        }
        if digits.isEmpty { exponent = 0 }
    }

    static func == (lhs: DecimalDigits, rhs: DecimalDigits) -> Bool {
        lhs.digits == rhs.digits
            && (lhs.digits.isEmpty || (lhs.isNegative, lhs.exponent) == (rhs.isNegative, rhs.exponent))
    }
}

extension String {
    /// Whether this is a number as JSON writes it.
    var isJSONNumber: Bool {
        var text = self
        return text.withUTF8 { utf8 in
            var offset = 0
            func take(_ isTaken: (UInt8) -> Bool) -> Bool {
                guard offset < utf8.count, isTaken(utf8[offset]) else { return false }
                offset += 1
                return true
            }
            func takeDigits() -> Bool {
                let start = offset
                while take({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {}
                return offset > start
            }
            _ = take { $0 == UInt8(ascii: "-") }
            guard take({ $0 == UInt8(ascii: "0") }) || takeDigits() else { return false }
            if take({ $0 == UInt8(ascii: ".") }), !takeDigits() { return false }
            if take({ $0 | 0x20 == UInt8(ascii: "e") }) {
                _ = take { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
                if !takeDigits() { return false }
            }
            return offset == utf8.count
        }
    }
}
