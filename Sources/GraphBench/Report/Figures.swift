import Foundation

/// Numbers as people read them: three significant digits and a unit.
enum Figures {
    static func seconds(_ value: Double) -> String {
        switch value {
        case ..<0.999_5e-6: "\(digits(value * 1e9)) ns"
        case ..<0.999_5e-3: "\(digits(value * 1e6)) µs"
        case ..<0.999_5: "\(digits(value * 1e3)) ms"
        default: "\(digits(value)) s"
        }
    }

    static func bytes(_ value: Double) -> String {
        switch value {
        case ..<9_999.5: "\(digits(value)) B"
        case ..<10_239_488: "\(digits(value / 1_024)) KiB"
        default: "\(digits(value / 1_048_576)) MiB"
        }
    }

    /// A mean number of rows.
    static func rows(_ value: Double) -> String {
        value < 99.95 ? digits(value) : count(Int(value.rounded()))
    }

    static func factor(_ value: Double) -> String {
        value.magnitude < 0.0995 ? "\(String(format: "%.3f", value))x" : "\(digits(value))x"
    }

    /// As short as it can be, for targets, which are round numbers.
    static func limit(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e15 ? String(Int(value)) : String(value)
    }

    static func secondsLimit(_ value: Double) -> String {
        switch value {
        case ..<1e-6: "\(limit((value * 1e9).rounded())) ns"
        case ..<1e-3: "\(limit((value * 1e6).rounded())) µs"
        case ..<1: "\(limit((value * 1e3).rounded())) ms"
        default: "\(limit(value)) s"
        }
    }

    /// With thousands apart, in any locale.
    static func count(_ value: Int) -> String {
        let text = String(value.magnitude)
        var grouped = value < 0 ? "-" : ""
        for (position, digit) in text.enumerated() {
            if position > 0, (text.count - position).isMultiple(of: 3) { grouped += "," }
            grouped.append(digit)
        }
        return grouped
    }

    /// A number of things, `noun` in the plural unless there is one.
    static func number(_ count: Int, of noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    private static func digits(_ value: Double) -> String {
        switch value.magnitude {
        case ..<9.995: String(format: "%.2f", value)
        case ..<99.95: String(format: "%.1f", value)
        default: String(format: "%.0f", value)
        }
    }
}
