import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// The elements of a drawing, as a parser of XML finds them.
final class XMLElements: NSObject, XMLParserDelegate {
    struct Element {
        let name: String
        let attributes: [String: String]
        var text = ""

        func number(_ attribute: String) -> Double? {
            attributes[attribute].flatMap { Double($0) }
        }
    }

    /// In the order of their begins.
    private(set) var elements: [Element] = []
    private(set) var isWellFormed = false
    private var open: [Int] = []

    init(_ text: String) {
        super.init()
        let parser = XMLParser(data: Data(text.utf8))
        parser.delegate = self
        isWellFormed = parser.parse()
    }

    func elements(kind: String) -> [Element] {
        elements.filter { $0.attributes["class"] == kind }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        open.append(elements.count)
        elements.append(Element(name: name, attributes: attributes))
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        open.removeLast()
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if let last = open.last { elements[last].text += text }
    }
}
