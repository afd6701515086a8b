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
        // The shortest decimal number that leads back to the same bits.
        let parts = seconds.description.split(separator: ".")
        guard parts.count == 2, var whole = Int(parts[0]), var fraction = UInt64(parts[1]),
            case let digits = parts[1].utf8.count, digits <= 18
        else { return nil }
        if seconds < 0, fraction > 0 { (whole, fraction) = (whole - 1, powerOfTen(digits) - fraction) }
        let second = modulo(whole, secondsOfDay)
        let day = calendarDay((whole - second) / secondsOfDay + dayOf2001)
        let time = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        let rest = fraction == 0 ? "" : "." + padded(Int(fraction), digits)
        return "\(padded(day.year, 4))-\(padded(day.month, 2))-\(padded(day.day, 2))T\(time)\(rest)Z"
    }

    /// nil if the text is none of a date and a time with their offset from universal time.
    static func date(of text: String) -> Date? {
        let pattern = /(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(?:[Zz]|([+-])(\d\d):(\d\d))/
        guard text.utf8.count < 64, text.utf8.allSatisfy({ $0 < 0x80 }),
            let match = text.wholeMatch(of: pattern)?.output
        else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let (year, month, day) = (number(match.1), number(match.2), number(match.3))
        let (hour, minute, second) = (number(match.4), number(match.5), number(match.6))
        let offset = (number(match.9) * 60 + number(match.10)) * (match.8 == "-" ? -60 : 60)
        let count = dayCount(year, month, day)
        // A day that the month does not have leads to another one.
        guard calendarDay(count) == (year, month, day), hour < 24, minute < 60, second < 60, number(match.10) < 60,
            number(match.9) < 24
        else { return nil }
        var whole = (count - dayOf2001) * secondsOfDay + hour * 3_600 + minute * 60 + second - offset
        var (sign, fraction) = ("", String(match.7 ?? "0"))
        if whole < 0 {
            sign = "-"
            let rest = UInt64(fraction) ?? 0
            if rest > 0 {
                whole += 1
                fraction = padded(Int(powerOfTen(fraction.utf8.count) - rest), fraction.utf8.count)
            }
        }
        return Double("\(sign)\(abs(whole)).\(fraction)").map { Date(timeIntervalSinceReferenceDate: $0) }
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

    private static func powerOfTen(_ exponent: Int) -> UInt64 { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
