/// Walks through a command line.
///
/// An option's value is the next argument or follows an equals sign.
struct ArgumentReader {
    private var rest: ArraySlice<String>
    private var attached: String?

    init(_ arguments: [String]) {
        rest = arguments[...]
    }

    mutating func next() -> String? {
        // A value that the option before did not take is an argument that nothing knows.
        if let unused = attached {
            attached = nil
            return "=\(unused)"
        }
        guard let argument = rest.popFirst() else { return nil }
        guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return argument }
        attached = String(argument[argument.index(after: equals)...])
        return String(argument[..<equals])
    }

    mutating func operand() -> String? {
        guard let first = rest.first, !first.hasPrefix("-") else { return nil }
        return rest.popFirst()
    }

    mutating func value(for option: String) throws(Options.Invalid) -> String {
        defer { attached = nil }
        guard let value = attached ?? operand(), !value.isEmpty else {
            throw Options.Invalid(message: "\(option) needs a value")
        }
        return value
    }

    mutating func number(for option: String, in range: ClosedRange<Int>) throws(Options.Invalid) -> Int {
        try Self.number(try value(for: option), for: option, in: range)
    }

    /// Numbers with commas between them.
    mutating func numbers(for option: String, in range: ClosedRange<Int>) throws(Options.Invalid) -> [Int] {
        var numbers: [Int] = []
        for text in try value(for: option).split(separator: ",", omittingEmptySubsequences: false) {
            numbers.append(try Self.number(String(text), for: option, in: range))
        }
        return numbers
    }

    private static func number(
        _ text: String, for option: String, in range: ClosedRange<Int>
    ) throws(Options.Invalid) -> Int {
        guard let number = Int(text), range.contains(number) else {
            let limits = "from \(range.lowerBound) to \(range.upperBound)"
            throw Options.Invalid(message: "\(option) needs a whole number \(limits), not '\(text)'")
        }
        return number
    }
}
