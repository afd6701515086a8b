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
        var rest = partLimit
        let part = Part(value, &rest)
        guard !part.isPrintable else { return String(describing: value) }
        var description = OwnTypeDescription()
        description.append(part)
        return description.text
    }

    /// A value or a part of one.
    private struct Part {
        let value: Any
        var style: Mirror.DisplayStyle?
        var children: [(label: String?, part: Part)] = []
        /// False if it holds a date that Foundation cannot print, or more parts than are looked at.
        var isPrintable = true
        /// Whether it has more parts than are here.
        var isCut = false

        /// - Parameter rest: how many parts are still looked at.
        init(_ value: Any, _ rest: inout Int) {
            self.value = value
            rest -= 1
            if let date = value as? Date {
                isPrintable = date.isPrintable
                return
            }
            let mirror = Mirror(reflecting: value)
            style = mirror.displayStyle
            // Of objects Swift prints no contents.
            guard style != .class else { return }
            for child in mirror.children {
                guard rest > 0 else {
                    (isPrintable, isCut) = (false, true)
                    return
                }
                let part = Part(child.value, &rest)
                isPrintable = isPrintable && part.isPrintable
                children.append((child.label, part))
            }
        }
    }

    private mutating func append(_ part: Part) {
        guard text.utf8.count < Self.byteLimit else { return }
        if let date = part.value as? Date {
            text += date.text
            return
        }
        switch part.style {
        case .optional where part.isPrintable && part.children.isEmpty: text += "nil"
        case .optional: appendParts(of: part, "", "")
        case .collection, .set: appendParts(of: part, "[", "]")
        case .dictionary:
            appendParts(of: part, "[", "]") { description, entry in
                for (place, child) in entry.children.enumerated() {
                    if place > 0 { description.text += ": " }
                    description.append(child.part)
                }
            }
        case _ where part.isPrintable:
            text += (part.value as? String)?.debugDescription ?? String(describing: part.value)
        case .enum: appendParts(of: part, "", "")
        case .tuple: appendParts(of: part, "(", ")")
        default: appendParts(of: part, "\(type(of: part.value))(", ")")
        }
    }

    private mutating func appendParts(
        of part: Part, _ beginning: String, _ end: String,
        each: (inout OwnTypeDescription, Part) -> Void = { $0.append($1) }
    ) {
        text += beginning
        var separator = ""
        var isCut = part.isCut
        for (label, child) in part.children {
            guard text.utf8.count < Self.byteLimit else {
                isCut = true
                break
            }
            text += separator
            separator = ", "
            if let label, label != "some", !label.hasPrefix(".") { text += label + ": " }
            each(&self, child)
        }
        if isCut { text += separator + "…" }
        text += end
    }
}
