/// For types that are coded as the text of their `description`.
extension LosslessStringConvertible {
    /// - Parameter kind: what the value is, for the error's text.
    init(textOf decoder: any Decoder, as kind: String) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a \(kind)"))
        }
        self = value
    }

    func encodeText(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
