import Testing

@testable import Graph

/// Declarations that would make the engine read or write memory as something that it is not.
struct SchemaCheckTests {
    private func problems<E: Entity>(of type: E.Type) -> [SchemaProblem] {
        do {
            _ = try Schema([EntityDescription(type)])
            return []
        } catch {
            guard case .invalidSchema(let problems) = error else { return [] }
            return problems
        }
    }

    @Test func `a weak property is refused`() {
        #expect(problems(of: WithWeak.self).map(\.property) == ["target"])
    }

    @Test func `an unowned property is refused`() {
        #expect(problems(of: WithUnowned.self).map(\.property) == ["target"])
    }

    @Test func `a class is refused as an entity`() {
        #expect(!problems(of: ClassEntity.self).isEmpty)
    }

    @Test func `an enumeration is refused as an entity`() {
        #expect(!problems(of: EnumEntity.self).isEmpty)
        #expect(!problems(of: EmptyEnumEntity.self).isEmpty)
    }

    @Test func `a lazy property and the storage of a property wrapper are reported, not overlooked`() {
        #expect(!problems(of: WithLazy.self).isEmpty)
        #expect(!problems(of: WithWrapper.self).isEmpty)
    }

    @Test func `a key path into a property is no key path to it`() {
        #expect(problems(of: WithNested.self).map(\.property) == ["inner"])
        #expect(problems(of: WithNestedOfSameType.self).map(\.property) == ["number"])
    }

    @Test func `one key path cannot stand for two properties`() {
        #expect(problems(of: Twice.self).map(\.property) == ["second"])
    }

    @Test func `a type that says it has an order has one, where it is to be unique or indexed`() {
        #expect(
            problems(of: WithUnordered.self).map(\.description) == [
                "WithUnordered.code: it is to be unique or indexed, but its values have no order",
                "WithUnordered.other: it is to be unique or indexed, but its values have no order",
            ])
    }

    @Test func `a transient property is checked like any other`() {
        #expect(
            problems(of: WithWrongTransients.self).map(\.description) == [
                "WithWrongTransients.missing: WithWrongTransients has no stored property of this name",
                "WithWrongTransients.weakling: a weak or unowned reference cannot be stored",
                "WithWrongTransients.number: declared as String, stored as Int",
                "WithWrongTransients.number: the key path leads to another property",
                "WithWrongTransients.left: the key path leads to another property",
                "WithWrongTransients.loops: a to-many relationship cannot be transient",
                "WithWrongTransients.right: the schema leaves out this stored property, which would be lost",
            ])
        #expect(problems(of: DoublyDeclared.self).map(\.property) == ["number"])
    }

    @Test func `properties without a size, tuples left out and observers are told apart`() {
        #expect(problems(of: Marked.self).isEmpty)
        #expect(problems(of: WithTuple.self).map(\.property) == ["pair"])
        #expect(problems(of: Observed.self).isEmpty)
    }
}

/// Has no order, whatever it says.
private struct Unordered: OrderedAttributeValue {
    static var attributeCodec: AttributeCodec<Unordered> {
        AttributeCodec(
            kind: "bool", encode: { $1.append(0) },
            decode: { reader in
                _ = try reader.take(1)
                return Unordered()
            },
            isIdentical: { _, _ in true })
    }
}

@Entity private struct WithUnordered {
    @Unique var code: Unordered
    @Indexed var other: Unordered?
}

private final class Target: Codable, Equatable, Sendable {
    let number: Int

    init(number: Int) {
        self.number = number
    }

    static func == (lhs: Target, rhs: Target) -> Bool { lhs.number == rhs.number }
}

private struct WithWeak: Entity {
    weak let target: Target?

    static let schema = EntitySchema<WithWeak>("WithWeak") { $0.attribute("target", \.target) }
}

private struct WithUnowned: Entity {
    unowned let target: Target

    static let schema = EntitySchema<WithUnowned>("WithUnowned") { $0.attribute("target", \.target) }
}

private struct WithWrongTransients: Entity {
    weak let weakling: Target?
    var number = 1
    var left = ""
    var right = ""
    var loops: ToMany<WithWrongTransients> = []

    static let schema = EntitySchema<WithWrongTransients>("WithWrongTransients") {
        $0.transient("missing", \.left, default: "")
        $0.transient("weakling", \.weakling, default: nil)
        $0.transient("number", \.left, default: "")
        $0.transient("left", \.right, default: "")
        $0.transient("loops", \.loops, default: [])
    }
}

private struct DoublyDeclared: Entity {
    var number = 1

    static let schema = EntitySchema<DoublyDeclared>("DoublyDeclared") {
        $0.attribute("number", \.number)
        $0.transient("number", \.number, default: 1)
    }
}

private final class ClassEntity: Entity {
    let name = ""
    let number = 1

    static let schema = EntitySchema<ClassEntity>("ClassEntity") {
        $0.attribute("name", \.name)
        $0.attribute("number", \.number)
    }
}

private enum EnumEntity: Entity {
    case first(Int)
    case second(String)

    static let schema = EntitySchema<EnumEntity>("EnumEntity") { _ in }
}

private enum EmptyEnumEntity: Entity {
    static let schema = EntitySchema<EmptyEnumEntity>("EmptyEnumEntity") { _ in }
}

private struct WithLazy: Entity {
    lazy var text = "later"

    static let schema = EntitySchema<WithLazy>("WithLazy") { _ in }
}

@propertyWrapper
private struct Clamped: Sendable {
    var wrappedValue: Int
}

private struct WithWrapper: Entity {
    @Clamped var number = 1

    static let schema = EntitySchema<WithWrapper>("WithWrapper") { $0.attribute("number", \.number) }
}

private struct Inner: Codable, Equatable {
    var number = 1
    var other = 2
}

private struct WithNested: Entity {
    var inner = Inner()

    static let schema = EntitySchema<WithNested>("WithNested") { $0.attribute("inner", \.inner.number) }
}

private struct WithNestedOfSameType: Entity {
    var inner = Inner()
    var number = 3

    static let schema = EntitySchema<WithNestedOfSameType>("WithNestedOfSameType") {
        $0.attribute("inner", \.inner)
        $0.attribute("number", \.inner.other)
    }
}

private struct Twice: Entity {
    var first = 1
    var second = 2

    static let schema = EntitySchema<Twice>("Twice") {
        $0.attribute("first", \.first)
        $0.attribute("second", \.first)
    }
}

private struct Marker: Codable, Equatable {}

private struct Marked: Entity {
    var before = Marker()
    var number = 1
    var after = Marker()

    static let schema = EntitySchema<Marked>("Marked") {
        $0.attribute("before", \.before)
        $0.attribute("number", \.number)
        $0.attribute("after", \.after)
    }
}

private struct WithTuple: Entity {
    var pair = (1, 2)

    static let schema = EntitySchema<WithTuple>("WithTuple") { _ in }
}

private struct Observed: Entity {
    var number = 1 {
        didSet { if number < 0 { number = 0 } }
    }

    static let schema = EntitySchema<Observed>("Observed") { $0.attribute("number", \.number) }
}
