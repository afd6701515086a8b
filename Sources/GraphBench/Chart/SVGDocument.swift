import Foundation

/// A drawing as text, element by element.
///
/// Numbers have at most two digits after the point, so that the same results give the same text.
struct SVGDocument {
    enum Anchor: String {
        case start
        case middle
        case end
    }

    private let width: Double
    private let height: Double
    private var elements: [String] = []

    init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }

    mutating func rectangle(
        x: Double, y: Double, width: Double, height: Double, fill: String, stroke: String? = nil,
        kind: String? = nil, note: String? = nil
    ) {
        add(
            "rect",
            [
                ("class", kind), ("x", Self.number(x)), ("y", Self.number(y)), ("width", Self.number(width)),
                ("height", Self.number(height)), ("fill", fill), ("stroke", stroke),
            ], note: note)
    }

    mutating func line(
        x1: Double, y1: Double, x2: Double, y2: Double, stroke: String, width: Double = 1, kind: String? = nil,
        note: String? = nil
    ) {
        add(
            "line",
            [
                ("class", kind), ("x1", Self.number(x1)), ("y1", Self.number(y1)), ("x2", Self.number(x2)),
                ("y2", Self.number(y2)), ("stroke", stroke), ("stroke-width", Self.number(width)),
            ], note: note)
    }

    /// Straight lines from each point to the next.
    mutating func curve(_ points: [(x: Double, y: Double)], stroke: String, width: Double, kind: String) {
        let list = points.map { "\(Self.number($0.x)),\(Self.number($0.y))" }.joined(separator: " ")
        add(
            "polyline",
            [
                ("class", kind), ("points", list), ("fill", "none"), ("stroke", stroke),
                ("stroke-width", Self.number(width)),
            ])
    }

    mutating func circle(
        x: Double, y: Double, radius: Double, fill: String, stroke: String, kind: String? = nil, note: String? = nil
    ) {
        add(
            "circle",
            [
                ("class", kind), ("cx", Self.number(x)), ("cy", Self.number(y)), ("r", Self.number(radius)),
                ("fill", fill), ("stroke", stroke), ("stroke-width", "1.5"),
            ], note: note)
    }

    mutating func text(
        _ text: String, x: Double, y: Double, size: Double = 11, anchor: Anchor = .start, isBold: Bool = false,
        fill: String
    ) {
        add(
            "text",
            [
                ("x", Self.number(x)), ("y", Self.number(y)), ("font-size", Self.number(size)),
                ("text-anchor", anchor == .start ? nil : anchor.rawValue), ("font-weight", isBold ? "bold" : nil),
                ("fill", fill),
            ], content: Self.escaped(text))
    }

    /// The whole file.
    var svg: String {
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        let box = "viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\""
        return """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) font-family="sans-serif">
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    /// - Parameter note: what a pointer over the element shows.
    private mutating func add(
        _ name: String, _ attributes: [(String, String?)], content: String = "", note: String? = nil
    ) {
        let list = attributes.compactMap { name, value in value.map { " \(name)=\"\(Self.escaped($0))\"" } }.joined()
        let inside = content + (note.map { "<title>\(Self.escaped($0))</title>" } ?? "")
        elements.append(inside.isEmpty ? "<\(name)\(list)/>" : "<\(name)\(list)>\(inside)</\(name)>")
    }

    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "0" }
        var text = String(format: "%.2f", value)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text == "-0" ? "0" : text
    }

    /// Text without what XML takes for markup, or does not allow at all.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\u{0}"..<" ", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": " "
            default: String(scalar)
            }
        }.joined()
    }
}
