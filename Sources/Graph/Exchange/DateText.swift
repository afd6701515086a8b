#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Dates as RFC 3339 writes them, `2026-11-25T23:16:58.25Z`, with as many digits of the second as lead back to the same date.
///
/// Calendars are Hinnant's (*chrono-compatible low-level date algorithms*): years begin in March, and 400 of them have 146,097
/// days.
enum DateText {
    /// From day 0 of those algorithms, 0000-03-01, to 2001-01-01.
    private static let dayOf2001 = 730_791
    private static let secondsOfDay = 86_400

    /// nil for what has no such text: dates beyond the years 1 to 9999, fractions smaller than a ten-thousandth of a second
    /// next to the beginning of 2001, and what is no date.
    static func text(of date: Date) -> String? {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds >= -63_113_904_000, seconds < 252_423_993_600, seconds.sign == .plus || seconds != 0 else {
            return nil
        }
        var (whole, fraction, digits): (Int, Int, Int)
        if let number = Int(exactly: seconds) {
            (whole, fraction, digits) = (number, 0, 0)
        } else {
            // The shortest decimal number that leads back to the same bits.
            let parts = seconds.description.split(separator: ".")
            guard parts.count == 2, let before = Int(parts[0]), let after = UInt64(parts[1]),
                case let count = parts[1].utf8.count, count <= 18
            else { return nil }
            (whole, fraction, digits) = (before, Int(after), count)
        }
        if seconds < 0, fraction > 0 { (whole, fraction) = (whole - 1, powerOfTen(digits) - fraction) }
        let second = modulo(whole, secondsOfDay)
        let day = calendarDay((whole - second) / secondsOfDay + dayOf2001)
        var text: [UInt8] = []
        text.reserveCapacity(40)
        func append(_ number: Int, digits: Int, behind mark: Unicode.Scalar? = nil) {
            if let mark { text.append(UInt8(ascii: mark)) }
            var (rest, place) = (number, text.count + digits)
            text.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: digits))
            while rest > 0 {
                place -= 1
                text[place] += UInt8(rest % 10)
                rest /= 10
            }
        }
        append(day.year, digits: 4)
        append(day.month, digits: 2, behind: "-")
        append(day.day, digits: 2, behind: "-")
        append(second / 3_600, digits: 2, behind: "T")
        append(second / 60 % 60, digits: 2, behind: ":")
        append(second % 60, digits: 2, behind: ":")
        if fraction > 0 { append(fraction, digits: digits, behind: ".") }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// The longest text that is read.
    private static let limitBytes = 63

    /// nil if the text is none of a date and a time with their offset from universal time.
    static func date(of text: String) -> Date? {
        guard text.utf8.count <= limitBytes else { return nil }
        var text = text
        return text.withUTF8 { utf8 in
            var scanner = Scanner(rest: utf8[...])
            return date(&scanner)
        }
    }

    private static func date(_ scanner: inout Scanner) -> Date? {
        guard let year = scanner.number(digits: 4), scanner.take("-"), let month = scanner.number(digits: 2),
            scanner.take("-"), let day = scanner.number(digits: 2),
            scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.number(digits: 2), scanner.take(":"), let minute = scanner.number(digits: 2),
            scanner.take(":"), let second = scanner.number(digits: 2)
        else { return nil }
        var fraction: (number: Int, digits: Int) = (0, 0)
        if scanner.take(".") {
            fraction.digits = scanner.digitCount
            guard 1...18 ~= fraction.digits, let number = scanner.number(digits: fraction.digits) else { return nil }
            fraction.number = number
        }
        guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        let count = dayCount(year, month, day)
        // A day that the month does not have leads to another one.
        guard calendarDay(count) == (year, month, day), hour < 24, minute < 60, second < 60 else { return nil }
        let whole = (count - dayOf2001) * secondsOfDay + hour * 3_600 + minute * 60 + second - offset
        guard fraction.number > 0 else { return Date(timeIntervalSinceReferenceDate: Double(whole)) }
        // In front of the beginning of 2001 the fraction counts down from the second's end.
        let isNegative = whole < 0
        let (before, after) =
            isNegative ? (-(whole + 1), powerOfTen(fraction.digits) - fraction.number) : (whole, fraction.number)
        let number = "\(isNegative ? "-" : "")\(before).\(padded(after, fraction.digits))"
        return Double(number).map { Date(timeIntervalSinceReferenceDate: $0) }
    }

    /// Goes through the bytes of a text.
    private struct Scanner {
        var rest: Slice<UnsafeBufferPointer<UInt8>>

        var isAtEnd: Bool { rest.isEmpty }

        /// How many digits come next.
        var digitCount: Int { rest.prefix(while: Self.isDigit).count }

        static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

        /// - Parameter digits: no more than an `Int` has.
        mutating func number(digits: Int) -> Int? {
            let part = rest.prefix(digits)
            guard part.count == digits, part.allSatisfy(Self.isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            return part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        /// The seconds from universal time; nil if none stand here.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let isNegative = rest.first == UInt8(ascii: "-")
            guard take("+") || take("-"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2),
                hours < 24,
                minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isNegative ? -60 : 60)
        }
    }

    private static func calendarDay(_ count: Int) -> (year: Int, month: Int, day: Int) {
        let dayOfEra = modulo(count, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = (count - dayOfEra) / 146_097 * 400 + yearOfEra
        return (year + (month < 10 ? 0 : 1), month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    private static func dayCount(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let yearOfEra = modulo(year, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return (year - yearOfEra) / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    }

    private static func modulo(_ number: Int, _ divisor: Int) -> Int {
        let rest = number % divisor
        return rest < 0 ? rest + divisor : rest
    }

    private static func padded(_ number: Int, _ digits: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func powerOfTen(_ exponent: Int) -> Int { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
