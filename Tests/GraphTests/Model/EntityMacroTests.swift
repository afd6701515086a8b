import Foundation
import Testing

@testable import Graph

/// What `@Entity` writes is what one would write by hand.
struct EntityMacroTests {
    /// Everything that a schema says, as far as it can be compared.
    private func statements<E: Entity>(_ schema: EntitySchema<E>) -> [String] {
        let layout = "\(schema.layout.stride) \(schema.layout.alignment)"
        return ["\(schema.name) \(schema.originalName ?? "-") \(layout)"]
            + schema.properties.map { property in
                let role =
                    switch property.role {
                    case .attribute(let uniqueness, let isIndexed):
                        "attribute \(uniqueness?.rawValue ?? "-")\(isIndexed ? " indexed" : "")"
                    case .toOne(let relationship):
                        "to-one \(relationship)"
                    case .toMany(let relationship):
                        "to-many \(relationship)"
                    case .ephemeral:
                        "ephemeral"
                    }
                let names = "\(property.name) \(property.originalName ?? "-") \(property.keyPath)"
                return "\(names) \(property.valueType) \(property.operations.kind) \(role)"
            }
    }

    @Test func `the macro and the hand write equal schemas`() throws {
        let byHand = EntitySchema<Camera>("Camera", originalName: "Device") {
            $0.attribute("serial", \.serial, unique: true)
            $0.attribute("made", \.made, indexed: true)
            $0.attribute("weight", \.weight, originalName: "mass")
            $0.attribute("mount", \.mount)
            $0.attribute("tags", \.tags)
            $0.ephemeral("isSelected", \.isSelected, default: true)
            $0.ephemeral("preview", \.preview, default: nil)
            $0.toOne("body", \.body, deleteRule: .deny, originalName: "owner")
            $0.toMany("parts", \.parts, inverse: \Camera.body, deleteRule: .cascade)
        }
        #expect(statements(Camera.schema) == statements(byHand))
        #expect(statements(Camera.schema).count == 10)

        let record = try SchemaRecord(Schema([EntityDescription(Camera.self)]))
        #expect(
            String(decoding: record.bytes, as: UTF8.self) == """
                graph schema 1
                entity 1 "Camera"
                property 1 "serial" string unique
                property 2 "made" optional(date) indexed
                property 3 "weight" double
                property 4 "mount" string
                property 5 "tags" array(string)
                property 6 "body" to-one 1 deny
                property 7 "parts" to-many 1 6 cascade

                """)
    }

    @Test(.bug(id: "collections-as-json", "collections, URL and Decimal were stored as JSON"))
    func `each attribute is stored as what its type is`() {
        let kinds = Assorted.schema.properties.map { "\($0.name): \($0.operations.kind)" }
        #expect(
            kinds == [
                "array: array(string)", "nested: array(array(optional(int16)))", "bytes: bytes", "set: set(uuid)",
                "map: dictionary(int, string)", "url: optional(url)", "price: decimal", "raw: string",
                "rawOptional: optional(string)",
                "rawArray: codable", "own: codable", "ownOptional: codable", "data: data", "flag: bool",
            ]
        )
    }

    @Test func `the default that a schema has for an ephemeral property is its initial value`() async throws {
        let context = Context(try await Coordinator(for: Camera.self))
        let id = try await context.transaction { context in
            let camera = context.insert(Camera(serial: "s", isSelected: false, preview: [1]))
            #expect(camera.isSelected == false && camera.preview == [1])
            return camera.id
        }
        let value = try #require(context.coordinator.snapshot.value(for: id))
        #expect(value.isSelected && value.preview == nil)
    }
}

@Entity(originalName: "Device") private struct Camera {
    @Unique var serial: String
    @Indexed var made: Date?
    @Attribute(originalName: "mass") var weight = 1.5
    var mount = Mount.round { didSet { weight += 1 } }
    private(set) var tags: [String] = []
    @Ephemeral var isSelected = true
    @Ephemeral var preview: [Int]?
    @Relationship(.deny, originalName: "owner") var body: ToOne<Camera> = nil
    @Relationship(.cascade, inverse: \Camera.body) var parts: ToMany<Camera> = []

    var isHeavy: Bool { weight > 2 }
    static let makers = ["A", "B"]
}

private enum Mount: String, Codable {
    case round, square
}

private struct Lens: Codable, Equatable {
    var millimetres = 50
}

@Entity private struct Assorted {
    var array: [String] = []
    var nested: [[Int16?]] = []
    var bytes: [UInt8] = []
    var set: Set<UUID> = []
    var map: [Int: String] = [:]
    var url: URL?
    var price: Decimal = 1
    var raw = Mount.round
    var rawOptional: Mount?
    var rawArray = [Mount.round]
    var own = Lens()
    var ownOptional: Lens?
    var data = Data()
    var flag = true
}
