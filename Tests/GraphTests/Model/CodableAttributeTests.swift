import Foundation
import Synchronization
import Testing

@testable import Graph

/// Properties of a program's own types.
struct CodableAttributeTests {
    // MARK: nil

    @Test func `nil is null, comes back as nil, and is identical to nil alone`() throws {
        try expectNull(nil as Chapter?, besides: [Chapter(number: 0, text: "")])
        // What wraps nil is null, too, and comes back as nil, as from any coder.
        try expectNull(nil as Chapter??, besides: [.some(Chapter(number: 0, text: "")), .some(nil)])
    }

    private func expectNull<Value: Codable & Equatable & Sendable>(_ null: Value, besides others: [Value]) throws {
        let operations = AttributeCodec<Value>.codable().operations
        var (writer, isNull) = (ByteWriter(), false)
        try withUnsafePointer(to: null) { try operations.encode($0, &writer) }
        #expect(writer.bytes == [2, 1, 0xF6])
        try writer.bytes.withUnsafeBytes { buffer in
            var reader = ByteReader(buffer)
            try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
                let address = try #require(memory.baseAddress)
                memset(address, 0xAA, MemoryLayout<Value>.size)
                try operations.decode(&reader, UnsafeMutableRawPointer(address))
                isNull = address.move() == null
            }
            #expect(reader.remaining == 0 && !reader.hasUnreadParts)
        }
        #expect(isNull)
        for other in others + [null] {
            let areIdentical = withUnsafePointer(to: null) { null in
                withUnsafePointer(to: other) { operations.isIdentical(null, $0) && operations.isIdentical($0, null) }
            }
            #expect(areIdentical == (other == null))
        }
    }

    // MARK: What is a change

    /// Writes a value over another, and gives what the store has then and after it was opened again.
    private func overwrite(_ old: Wrapped, with new: Wrapped) async throws -> (isChanged: Bool, values: [Wrapped]) {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Holder.self, at: folder.file())
        let id = try await coordinator.transaction { $0.insert(Holder(content: old)).id }
        let context = Context(coordinator)
        let isChanged = try await context.perform { context in
            let holder = try context.object(for: id)
            holder.content = new
            return holder.hasChanges
        }
        try await context.save()
        let saved = try #require(coordinator.snapshot.value(for: id))
        #expect(coordinator.snapshot.version(of: id) == RowVersion(isChanged ? 2 : 1))
        try await coordinator.close()
        let reopened = try await Coordinator(for: Holder.self, at: folder.file())
        let read = try #require(reopened.snapshot.value(for: id))
        try await reopened.close()
        return (isChanged, [saved.content, read.content])
    }

    @Test func `R1: a write that the type's own equality does not see is saved`() async throws {
        let (old, new) = (
            Wrapped(chapter: Chapter(number: 1, text: "old")), Wrapped(chapter: Chapter(number: 1, text: "new"))
        )
        #expect(old == new)
        let (isChanged, values) = try await overwrite(old, with: new)
        #expect(isChanged && values.map(\.chapter.text) == ["new", "new"])
    }

    @Test func `R1: the sign of zero and the bytes of texts inside are saved`() async throws {
        let zeros = try await overwrite(Wrapped(number: 0), with: Wrapped(number: -0.0))
        #expect(zeros.isChanged && zeros.values.allSatisfy { $0.number.sign == .minus })
        let texts = try await overwrite(Wrapped(text: "é"), with: Wrapped(text: "e\u{301}"))
        #expect(texts.isChanged && texts.values.allSatisfy { $0.text.utf8.count == 3 })
    }

    @Test func `R1: a set and a dictionary that were filled in another order are no change`() async throws {
        var (one, other) = (Wrapped(), Wrapped())
        for number in 0..<100 {
            one.set.insert(number)
            one.table[Double(number)] = "x"
            other.set.insert(99 - number)
            other.table[Double(99 - number)] = "x"
        }
        #expect(try await overwrite(one, with: other).isChanged == false)
        other.set.remove(7)
        #expect(try await overwrite(one, with: other).isChanged == true)
    }

    @Test func `R1: values that the type's own equality tells apart differ, though they encode alike`() async throws {
        let coordinator = try await Coordinator(for: Sealed.self)
        let id = try await coordinator.transaction { $0.insert(Sealed()).id }
        try await coordinator.transaction { try $0.object(for: id).mark = Mark(text: "a", hint: 1) }
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2) && coordinator.snapshot.commit.number == 2)
        // One that does not equal itself has no say.
        try await coordinator.transaction { try $0.object(for: id).mark = Mark(text: "a", hint: .nan) }
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2) && coordinator.snapshot.commit.number == 2)
    }

    @Test func `R1: a value that nobody wrote to is not compared by what it encodes`() async throws {
        let coordinator = try await Coordinator(for: Unordered.self)
        let id = try await coordinator.transaction { $0.insert(Unordered()).id }
        let context = Context(coordinator)
        try await context.perform { context in
            try context.object(for: id).note = "changed"
            #expect(try context.object(for: id).changedValues.keys.sorted() == ["note"])
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.note == "changed")
    }

    // MARK: Old values in records

    /// As a program's versions follow one another: the first has no token, the others make one up where there is none.
    @Test func `a type that gives a missing key another default each time does not lock its file`() async throws {
        let folder = try TemporaryFolder()
        var coordinator = try await Coordinator(for: First.Item.self, at: folder.file())
        let id = try await coordinator.transaction { $0.insert(First.Item(card: .init(text: "a"))).id.row }
        try await coordinator.close()
        for round in 0..<3 {
            coordinator = try await Coordinator(for: Second.Item.self, at: folder.file())
            try await coordinator.transaction { $0[Second.Item.ID(row: id)]?.card.text = "\(round)" }
            try await coordinator.close()
        }
        coordinator = try await Coordinator(for: Second.Item.self, at: folder.file())
        #expect(coordinator.snapshot.value(for: Second.Item.ID(row: id))?.card.text == "2")
        try await coordinator.close()
    }

    @Test func `a record that says otherwise what a value was is remarked on`() throws {
        let schema = try Schema([EntityDescription(Holder.self)])
        func records(_ text: String) throws -> RecordedStore {
            var store = RecordedStore(schema: schema)
            try store.commit { $0.insert(1, Holder(content: Wrapped(text: text))) }
            try store.commit { $0.change(Holder.self, 1) { $0.content.text = "new" } }
            return store
        }
        let (one, other) = (try records("one"), try records("other"))
        var good = StoreReplay(schema: schema, path: "store")
        for record in one.records { try good.apply(.commit, record) }
        #expect(good.remarks == [])
        var odd = StoreReplay(schema: schema, path: "store")
        try odd.apply(.commit, one.records[0])
        try odd.apply(.commit, other.records[1])
        #expect(odd.remarks.count == 1 && odd.remarks[0].contains("Holder.content"))
        let value: Holder? = odd.snapshot.value(1)
        #expect(value?.content.text == "new")
    }

    @Test func `a store says of a file that it has such records`() async throws {
        let schema = try Schema([EntityDescription(Holder.self)])
        var one = RecordedStore(schema: schema)
        try one.commit { $0.insert(1, Holder(content: Wrapped(text: "one"))) }
        var other = RecordedStore(schema: schema)
        try other.commit { $0.insert(1, Holder(content: Wrapped(text: "other"))) }
        try other.commit { $0.change(Holder.self, 1) { $0.content.text = "new" } }
        let disk = SimulatedDisk()
        try RecordedStore(one, other.records.suffix(1)).write(to: disk, as: schema)
        let coordinator = try await Coordinator.open(schema, on: disk)
        #expect(coordinator.diagnostics.map(\.kind) == [.otherValues])
        #expect(coordinator.diagnostics.last?.description.contains("Holder.content") == true)
        #expect(try coordinator.snapshot.fetchValues(Holder.self).map(\.content.text) == ["new"])
    }

    // MARK: Values that cannot be written

    @Test func `a save with a value that does not encode says so shortly, and keeps it`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Unwilling.Item.self, at: folder.file())
        let context = Context(coordinator)
        let item = await context.perform { context in
            context.insert(Unwilling.Item(text: .init(text: String(repeating: "long ", count: 100_000)))).id
        }
        let error = try #require(await #expect(throws: GraphError.self) { try await context.save() })
        guard case .notEncodable("Item", let reason) = error else { throw error }
        #expect(reason.hasPrefix("too long: long long") && "\(error)".utf8.count < 1_000)
        #expect(await context.perform { $0.hasChanges } && coordinator.snapshot.commit == .none)
        await context.perform { $0[item]?.text.text = "short" }
        try await context.save()
        try await coordinator.close()
        let reopened = try await Coordinator(for: Unwilling.Item.self, at: folder.file())
        #expect(reopened.snapshot.value(for: item)?.text.text == "short")
        try await reopened.close()
    }

    @Test func `a value that stops to encode costs a compaction and a copy, and nothing else`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Moody.Item.self, at: folder.file())
        let context = Context(coordinator)
        await context.perform { context in
            for number in 0..<100 { context.insert(Moody.Item(mood: .init(number: number))) }
        }
        try await context.save()
        Moody.refused.withLock { $0 = 70 }
        for _ in 0..<2 {
            let error = try #require(await #expect(throws: GraphError.self) { try await coordinator.compact() })
            guard case .notEncodable("Item", _) = error else { throw error }
        }
        let error = try #require(
            await #expect(throws: GraphError.self) { try await coordinator.copy(to: folder.file("copy.graph")) })
        guard case .notEncodable("Item", _) = error else { throw error }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.sorted() == ["store.graph", "store.graph.lock"])
        Moody.refused.withLock { $0 = nil }
        try await coordinator.compact()
        try await coordinator.close()
        let reopened = try await Coordinator(for: Moody.Item.self, at: folder.file())
        #expect(try reopened.snapshot.fetchValues(Moody.Item.self).map(\.mood.number) == Array(0..<100))
        try await reopened.close()
    }

    // MARK: Types that have changed

    private func failure<E: Entity>(_ type: E.Type, _ path: String) async throws -> GraphError? {
        do {
            let coordinator = try await Coordinator(for: type, at: path)
            try await coordinator.close()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a value that its type does not take any more is named with its object, property and type`() async throws
    {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: First.Item.self, at: folder.file())
        try await coordinator.transaction { context in
            context.insert(First.Item(card: .init(text: "a")))
            context.insert(First.Item(card: .init(text: "b"), mood: .low))
        }
        try await coordinator.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        let changed = try await failure(Third.Item.self, folder.file())
        guard case .valueNotReadable(let path, let object, let property, let type, let reason) = changed else {
            Issue.record("\(String(describing: changed))")
            return
        }
        #expect(path == folder.file() && "\(object)" == "Item/p1" && property == "card")
        #expect(type.hasSuffix("Third.Card") && reason == "at text: there is a text, not Int")
        #expect("\(try #require(changed))".contains("Item/p1.card cannot be read as"))
        let lost = try await failure(Fourth.Item.self, folder.file())
        guard case .valueNotReadable(_, let object, "mood", let type, let reason) = lost else {
            Issue.record("\(String(describing: lost))")
            return
        }
        #expect("\(object)" == "Item/p2" && type.hasSuffix("Fourth.Mood") && reason == "it has no case for \"low\"")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file())) == before)
        #expect(try await failure(Second.Item.self, folder.file()) == nil)
    }

    @Test func `the error is short, whatever the value says`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Loud.Item.self, at: folder.file())
        let text = String(repeating: "long ", count: 100_000)
        try await coordinator.transaction { _ = $0.insert(Loud.Item(text: Loud.Text(text: text))) }
        try await coordinator.close()
        let error = try #require(try await failure(Quiet.Item.self, folder.file()))
        #expect("\(error)".utf8.count < 2_000)
    }
}

private struct Wrapped: Codable, Equatable {
    var chapter = Chapter(number: 0, text: "")
    var number = 0.0
    var text = ""
    var set: Set<Int> = []
    var table: [Double: String] = [:]
}

@Entity private struct Holder {
    var content: Wrapped
    var note = ""
}

/// Encodes something else each time.
private struct Restless: Codable, Equatable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(UUID())
    }

    init() {}
    init(from decoder: any Decoder) throws {}
}

@Entity private struct Unordered {
    var restless = Restless()
    var note = ""
}

private enum Unwilling {
    struct Text: Codable, Equatable {
        struct TooLong: Error, CustomStringConvertible {
            let description: String
        }

        var text: String

        func encode(to encoder: any Encoder) throws {
            guard text.count < 100 else { throw TooLong(description: "too long: \(text)") }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(text, forKey: .text)
        }
    }

    @Entity struct Item {
        var text: Text
    }
}

private enum First {
    struct Card: Codable, Equatable {
        var text: String
    }

    enum Mood: String { case low, high }

    @Entity struct Item {
        var card: Card
        var mood = Mood.high
    }
}

private enum Second {
    struct Card: Codable, Equatable {
        var text: String
        var token = UUID()

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            text = try container.decode(String.self, forKey: .text)
            token = try container.decodeIfPresent(UUID.self, forKey: .token) ?? UUID()
        }
    }

    @Entity struct Item {
        var card: Card
        var mood = First.Mood.high
    }
}

private enum Third {
    struct Card: Codable, Equatable {
        var text: Int
    }

    @Entity struct Item {
        var card: Card
        var mood = First.Mood.high
    }
}

private enum Fourth {
    enum Mood: String { case high, middle }

    @Entity struct Item {
        var card: First.Card
        var mood = Mood.high
    }
}

private enum Loud {
    struct Text: Codable, Equatable {
        var text: String
    }

    @Entity struct Item {
        var text: Text
    }
}

private enum Quiet {
    struct Text: Codable, Equatable {
        init(from decoder: any Decoder) throws {
            let value = try [String: String](from: decoder)
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(value)"))
        }
    }

    @Entity struct Item {
        var text: Text
    }
}

/// Stores its text alone.
private struct Mark: Codable, Equatable {
    enum CodingKeys: CodingKey {
        case text
    }

    var text = "a"
    var hint = 0.0
}

private struct Sealed: Entity {
    var mark = Mark()

    static let schema = EntitySchema<Sealed>("Sealed") { $0.attribute("mark", \.mark) }
}

/// Values of which one refuses to be encoded for a time.
private enum Moody {
    static let refused = Mutex<Int?>(nil)

    @Entity struct Item {
        var mood: Mood
    }

    struct Mood: Codable, Equatable {
        var number: Int

        init(number: Int) { self.number = number }

        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
        }

        func encode(to encoder: any Encoder) throws {
            guard Moody.refused.withLock({ $0 != number }) else { throw Refusal() }
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
    }

    struct Refusal: Error {}
}
