/// A type that encodes itself as one text, which JSON could take for something else.
struct EncodedText: Codable, Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
