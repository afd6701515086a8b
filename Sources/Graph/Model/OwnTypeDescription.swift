#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a value of a program's own type is printed: as it describes itself, unless it is large or holds a date that Foundation cannot
/// print. Then its parts are printed one by one, up to some length, as Swift does where a type does not describe itself.
struct OwnTypeDescription {
    private static let partLimit = 10_000
    private static let byteLimit = 4_000

    private var text = ""

    static func text<Value>(of value: Value) -> String {
        guard mayHoldUnprintableDate(value) else { return String(describing: value) }
        var description = OwnTypeDescription()
        description.append(value)
        return description.text
    }

    private static func mayHoldUnprintableDate(_ value: Any) -> Bool {
        var rest = partLimit
        return mayHoldUnprintableDate(value, &rest)
    }

    /// - Parameter rest: how many parts are looked at before the answer is yes.
    private static func mayHoldUnprintableDate(_ value: Any, _ rest: inout Int) -> Bool {
        rest -= 1
        guard rest > 0 else { return true }
        if let date = value as? Date { return !date.isPrintable }
        let mirror = Mirror(reflecting: value)
        // Of objects Swift prints no contents.
        return mirror.displayStyle != .class && mirror.children.contains { mayHoldUnprintableDate($0.value, &rest) }
    }

    private mutating func append(_ value: Any) {
        guard text.utf8.count < Self.byteLimit else { return }
        if let date = value as? Date {
            text += date.text
            return
        }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional where mirror.children.isEmpty: text += "nil"
        case .optional: append(mirror.children, "", "")
        case .collection, .set: append(mirror.children, "[", "]")
        case .dictionary:
            append(mirror.children, "[", "]") { description, entry in
                for (place, part) in Mirror(reflecting: entry).children.enumerated() {
                    if place > 0 { description.text += ": " }
                    description.append(part.value)
                }
            }
        case _ where !Self.mayHoldUnprintableDate(value):
            text += (value as? String)?.debugDescription ?? String(describing: value)
        case .enum: append(mirror.children, "", "")
        case .tuple: append(mirror.children, "(", ")")
        default: append(mirror.children, "\(mirror.subjectType)(", ")")
        }
    }

    private mutating func append(
        _ children: Mirror.Children, _ beginning: String, _ end: String,
        each: (inout OwnTypeDescription, Any) -> Void = { $0.append($1) }
    ) {
        text += beginning
        for (place, child) in children.enumerated() {
            if place > 0 { text += ", " }
            guard text.utf8.count < Self.byteLimit else {
                text += "…"
                break
            }
            if let label = child.label, label != "some", !label.hasPrefix(".") { text += label + ": " }
            each(&self, child.value)
        }
        text += end
    }
}
