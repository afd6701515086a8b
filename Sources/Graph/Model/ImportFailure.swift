/// What is wrong with a line that was to be imported.
public struct ImportFailure: Sendable, Hashable, CustomStringConvertible {
    /// The path of the file, or the name that the program has given the source.
    public let source: String
    /// The line on which the row or the links begin, from 1; nil if the failure concerns no line.
    public let line: Int?
    /// The entity's name; nil if the line does not get as far as to name one.
    public let entity: String?
    /// The property's name; nil if the failure concerns the line as a whole.
    public let property: String?
    /// What is wrong.
    public let reason: String

    /// `people.csv:12: Person.age: "abc" is not a whole number …`
    public var description: String {
        let place = "\(source.shortened(to: 400))\(line.map { ":\($0)" } ?? "")"
        let name = entity.map { ": \($0.shortened())\(property.map { "." + $0.shortened() } ?? "")" } ?? ""
        return "\(place)\(name): \(reason.shortened(to: 400))"
    }
}
