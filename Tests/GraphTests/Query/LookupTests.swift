import Foundation
import Testing

@testable import Graph

/// Each value twice: in a property that is indexed, and in one that is not.
@Entity(indexed: [["pair", "number"], ["size", "text"], ["weight", "day"]])
private struct Specimen {
    @Indexed var text: String
    var plainText: String
    @Indexed var note: String?
    var plainNote: String?
    @Indexed var number: Int
    var plainNumber: Int
    @Indexed var size: Int8?
    var plainSize: Int8?
    @Indexed var weight: Double
    var plainWeight: Double
    @Indexed var share: Float?
    var plainShare: Float?
    @Indexed var found: Date
    var plainFound: Date
    @Indexed var lost: Date?
    var plainLost: Date?
    @Indexed var depth: Int??
    var plainDepth: Int??
    @Indexed var day: Weekday
    var plainDay: Weekday
    @Indexed var priority: Priority?
    var plainPriority: Priority?
    @Indexed var isRare: Bool
    /// Only a compound index begins with it.
    var pair: UInt16
    var tags: [String] = []

    static func random(_ random: inout SeededGenerator) -> Specimen {
        func one<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        let text = one(Specimen.texts)
        let note = one(Specimen.texts.map(Optional.some) + [nil, nil])
        let number = Int.random(in: -5...5, using: &random)
        let size = one([nil, -128, -1, 0, 1, 127] as [Int8?])
        let weight = one(Specimen.weights)
        let share = one(Specimen.weights.map { Float($0) } + [nil])
        let found = Date(timeIntervalSinceReferenceDate: one(Specimen.weights))
        let lost = one(Specimen.weights.map { Date(timeIntervalSinceReferenceDate: $0) } + [nil, nil])
        let depth = one([nil, .some(nil), -1, 0, 3] as [Int??])
        let day = one(Weekday.allCases)
        let priority = one(Priority.allCases.map(Optional.some) + [nil])
        return Specimen(
            text: text, plainText: text, note: note, plainNote: note, number: number, plainNumber: number, size: size,
            plainSize: size, weight: weight, plainWeight: weight, share: share, plainShare: share, found: found,
            plainFound: found, lost: lost, plainLost: lost, depth: depth, plainDepth: depth, day: day, plainDay: day,
            priority: priority, plainPriority: priority,
            isRare: .random(using: &random), pair: one([0, 1, 2, 9]))
    }

    static let texts = [
        "", "a", "ab", "abc", "a\r\n", "a\r", "b", "e", "\u{E9}", "e\u{301}", "e\u{301}x", "\u{E9}x", "e\u{338}",
        "\u{1100}",
        "\u{1100}\u{1161}",
        "\u{AC00}", "\u{AC01}", "a\u{0}", "a\u{0}b", "A\u{30A}", "\u{212B}", "\u{FB01}", "\u{1F468}\u{200D}\u{1F469}",
        "\u{1F468}",
    ]
    static let weights = [-Double.infinity, -1, -0.0, 0, 1, 1.5, .infinity, .nan, -.nan, .leastNonzeroMagnitude]
}

/// A value with a raw value that is not all of it in memory: its first part lies where the whole lies.
private struct Extent: RawRepresentable, Equatable, Sendable {
    let width: Int32
    let height: Int32

    init(width: Int32, height: Int32) { (self.width, self.height) = (width, height) }
    init?(rawValue: String) {
        let parts = rawValue.split(separator: "x").compactMap { Int32($0) }
        guard parts.count == 2 else { return nil }
        self.init(width: parts[0], height: parts[1])
    }

    var rawValue: String { "\(width)x\(height)" }
}

/// Equal to others with another raw value.
private struct Code: RawRepresentable, Codable, Equatable, Sendable {
    let rawValue: String

    static func == (lhs: Code, rhs: Code) -> Bool { lhs.rawValue.lowercased() == rhs.rawValue.lowercased() }
}

@Entity
private struct Label {
    @Indexed var extent: Extent
    @Indexed var code: Code
    @Indexed var color: String
    var number: Int
}

/// A look-up by a property: its answers are those of a filter, whether or not there is an index.
struct LookupTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Specimen.self)
        context = Context(coordinator)
    }

    /// What to look up, and what a filter does for it.
    private struct Question: Sendable {
        let text: String
        let isMet: @Sendable (Specimen) -> Bool
        let values: @Sendable (Snapshot) -> [Specimen]
        let ids: @Sendable (Snapshot) -> [PersistentID<Specimen>]
        let count: @Sendable (Snapshot) -> Int
        let objects: @Sendable (isolated Context) -> [PersistentID<Specimen>]
        let counted: @Sendable (isolated Context) -> Int

        init<V: Equatable & Sendable>(_ keyPath: any KeyPath<Specimen, V> & Sendable, equals value: V) {
            text = "\(keyPath) equals \(Self.isDate(V.self) ? "a date" : "\(value)")"
            isMet = { $0[keyPath: keyPath] == value }
            values = { $0.fetchValues(keyPath, equals: value) }
            ids = { $0.fetchIDs(keyPath, equals: value) }
            count = { $0.fetchCount(keyPath, equals: value) }
            objects = { $0.fetch(keyPath, equals: value).map(\.id) }
            counted = { $0.fetchCount(keyPath, equals: value) }
        }

        /// Dates that are no number stop a program that prints them.
        private static func isDate<V>(_ type: V.Type) -> Bool { type == Date.self || type == Date?.self }

        /// - Parameter isMet: what the range says.
        init<V: OrderedAttributeValue, R: RangeExpression<V.NonOptional> & Sendable>(
            _ keyPath: any KeyPath<Specimen, V> & Sendable, in range: R,
            isMet: @escaping @Sendable (V.NonOptional) -> Bool
        ) {
            text = "\(keyPath) in \(Self.isDate(V.self) ? "dates" : "\(range)")"
            self.isMet = { V.nonOptional($0[keyPath: keyPath]).map(isMet) ?? false }
            values = { $0.fetchValues(keyPath, in: range) }
            ids = { $0.fetchIDs(keyPath, in: range) }
            count = { $0.fetchCount(keyPath, in: range) }
            objects = { $0.fetch(keyPath, in: range).map(\.id) }
            counted = { $0.fetchCount(keyPath, in: range) }
        }

        init<V: OrderedAttributeValue>(_ keyPath: any KeyPath<Specimen, V> & Sendable, startingWith prefix: String)
        where V.NonOptional == String {
            text = "\(keyPath) starting with \(prefix.debugDescription)"
            isMet = { V.nonOptional($0[keyPath: keyPath])?.starts(with: prefix) ?? false }
            values = { $0.fetchValues(keyPath, startingWith: prefix) }
            ids = { $0.fetchIDs(keyPath, startingWith: prefix) }
            count = { $0.fetchCount(keyPath, startingWith: prefix) }
            objects = { $0.fetch(keyPath, startingWith: prefix).map(\.id) }
            counted = { $0.fetchCount(keyPath, startingWith: prefix) }
        }

        /// Those about one type, with each kind of range.
        ///
        /// - Parameter normal: makes values of which `<` is right. Swift 6.3 orders some texts only in their normal form.
        static func ranges<V: OrderedAttributeValue, N: Comparable & Sendable>(
            _ keyPaths: [any KeyPath<Specimen, V> & Sendable], _ low: V.NonOptional, _ high: V.NonOptional,
            normal: @escaping @Sendable (V.NonOptional) -> N
        ) -> [Question] where V.NonOptional: Comparable {
            let (least, greatest) = (normal(low), normal(high))
            return keyPaths.flatMap { keyPath in
                [
                    Question(keyPath, in: low..<high) { (least..<greatest).contains(normal($0)) },
                    Question(keyPath, in: low...high) { (least...greatest).contains(normal($0)) },
                    Question(keyPath, in: low...) { least <= normal($0) },
                    Question(keyPath, in: ..<high) { normal($0) < greatest },
                    Question(keyPath, in: ...high) { normal($0) <= greatest },
                    Question(keyPath, in: low..<low) { _ in false },
                    Question(keyPath, in: Except(bound: low)) { $0 != low },
                ]
            }
        }

        static func ranges<V: OrderedAttributeValue>(
            _ keyPaths: [any KeyPath<Specimen, V> & Sendable], _ low: V.NonOptional, _ high: V.NonOptional
        ) -> [Question] where V.NonOptional: Comparable {
            ranges(keyPaths, low, high) { $0 }
        }

        static func all(_ random: inout SeededGenerator) -> [Question] {
            let (one, other) = (Specimen.random(&random), Specimen.random(&random))
            var all: [Question] = [
                Question(\.text, equals: one.text), Question(\.plainText, equals: one.text),
                Question(\.note, equals: one.note), Question(\.plainNote, equals: one.note),
                Question(\.number, equals: one.number), Question(\.plainNumber, equals: one.number),
                Question(\.size, equals: one.size), Question(\.plainSize, equals: one.size),
                Question(\.weight, equals: one.weight), Question(\.plainWeight, equals: one.weight),
                Question(\.share, equals: one.share), Question(\.plainShare, equals: one.share),
                Question(\.found, equals: one.found), Question(\.plainFound, equals: one.found),
                Question(\.lost, equals: one.lost), Question(\.plainLost, equals: one.lost),
                Question(\.depth, equals: one.depth), Question(\.plainDepth, equals: one.depth),
                Question(\.day, equals: one.day), Question(\.plainDay, equals: one.day),
                Question(\.priority, equals: one.priority), Question(\.plainPriority, equals: one.priority),
                Question(\.isRare, equals: one.isRare), Question(\.pair, equals: one.pair),
                Question(\.tags, equals: one.tags), Question(\.text.count, equals: one.text.count),
                Question(\.text, startingWith: other.text), Question(\.plainText, startingWith: other.text),
                Question(\.note, startingWith: other.text), Question(\.plainNote, startingWith: other.text),
            ]
            @Sendable func normal(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
            let text = [one.text, other.text].sorted { normal($0) < normal($1) }
            // A range whose bounds Swift takes for upside down cannot be made.
            if text[0] <= text[1] {
                all += ranges([\.text, \.plainText], text[0], text[1], normal: normal)
                all += ranges([\.note, \.plainNote], text[0], text[1], normal: normal)
            }
            all += ranges(
                [\.number, \.plainNumber], min(one.number, other.number), max(one.number, other.number))
            all += ranges([\.size, \.plainSize], min(one.size ?? 0, 5), max(one.size ?? 0, 5))
            all += ranges([\.pair], min(one.pair, other.pair), max(one.pair, other.pair))
            all += ranges([\.depth, \.plainDepth], min((one.depth ?? 0) ?? 0, 2), max((one.depth ?? 0) ?? 0, 2))
            // NaN is in no range, though a date's own operators say that it is at most and at least every date.
            @Sendable func seconds(_ date: Date) -> Double { date.timeIntervalSinceReferenceDate }
            if seconds(one.found) <= seconds(other.found) {
                all += ranges([\.found, \.plainFound], one.found, other.found, normal: seconds)
                all += ranges([\.lost, \.plainLost], one.found, other.found, normal: seconds)
            }
            if one.weight <= other.weight {
                all += ranges([\.weight, \.plainWeight], one.weight, other.weight)
                all += ranges([\.share, \.plainShare], Float(one.weight), Float(other.weight))
            }
            return all
        }
    }

    @Test func `values of two properties are looked up together`() async throws {
        var random = SeededGenerator(seed: 9)
        let specimens = (0..<300).map { _ in Specimen.random(&random) }
        try await context.transaction { $0.insert(contentsOf: specimens) }
        func check<V: Equatable & Sendable, W: Equatable & Sendable>(
            _ first: any KeyPath<Specimen, V> & Sendable, _ second: any KeyPath<Specimen, W> & Sendable,
            _ sample: Specimen
        ) async throws {
            let (one, other) = (sample[keyPath: first], sample[keyPath: second])
            let expected = specimens.firstIndex { $0[keyPath: first] == one && $0[keyPath: second] == other }
            let found = coordinator.snapshot.first(first, equals: one, second, equals: other)
            #expect(
                found?.text == expected.map { specimens[$0].text } && found?.pair == expected.map { specimens[$0].pair }
            )
            let id = await context.perform { $0.first(first, equals: one, second, equals: other)?.id }
            #expect(id.map { Int($0.row) - 1 } == expected, "\(first) \(one), \(second) \(other)")
        }
        for _ in 0..<60 {
            let sample = Specimen.random(&random)
            try await check(\.pair, \.number, sample)
            try await check(\.number, \.pair, sample)
            try await check(\.size, \.text, sample)
            try await check(\.text, \.size, sample)
            try await check(\.weight, \.day, sample)
            try await check(\.tags, \.plainText, sample)
            try await check(\.plainSize, \.note, sample)
        }
    }

    @Test func `references are looked up, and so is nil`() async throws {
        let coordinator = try await Coordinator(for: Bookcase.self, Tome.self)
        let ids = try await coordinator.transaction { context in
            let cases = (0..<3).map { context.insert(Bookcase(name: "\($0)")) }
            for number in 0..<40 {
                context.insert(Tome(title: "\(number)")).bookcase = number % 4 == 3 ? nil : cases[number % 4]
            }
            return cases.map(\.id)
        }
        let snapshot = coordinator.snapshot
        for (number, id) in ids.enumerated() {
            let reference = ToOne(id)
            #expect(snapshot.first(\Tome.bookcase, equals: reference)?.title == "\(number)")
            #expect(snapshot.fetchCount(\Tome.bookcase, equals: reference) == 10)
            #expect(snapshot.fetchValues(\Tome.bookcase, equals: reference).allSatisfy { $0.bookcase == reference })
        }
        #expect(snapshot.first(\Tome.bookcase, equals: nil)?.title == "3")
        #expect(snapshot.fetchCount(\Tome.bookcase, equals: nil) == 10)
        #expect(snapshot.fetchIDs(\Tome.bookcase, equals: nil).count == 10)
    }

    /// A range that Graph does not know.
    private struct Except<Bound: Comparable & Sendable>: RangeExpression, Sendable {
        let bound: Bound
        func relative<C: Collection>(to collection: C) -> Range<Bound> where C.Index == Bound {
            collection.startIndex..<collection.endIndex
        }
        func contains(_ element: Bound) -> Bool { element != bound }
    }

    private static func expect(_ question: Question, _ snapshot: Snapshot) throws {
        let expected = try snapshot.fetchIDs(Specimen.self, where: question.isMet)
        #expect(question.ids(snapshot) == expected, "\(question.text)")
        #expect(question.count(snapshot) == expected.count, "\(question.text)")
        let texts = try snapshot.fetchValues(Specimen.self, where: question.isMet).map { Array($0.text.utf8) }
        #expect(question.values(snapshot).map { Array($0.text.utf8) } == texts, "\(question.text)")
    }

    @Test(arguments: [3, 40, 150]) func `a look-up finds what a filter finds`(_ count: Int) async throws {
        var random = SeededGenerator(seed: UInt64(count))
        for _ in 0..<2 {
            let specimens = (0..<count).map { _ in Specimen.random(&random) }
            let questions = (0..<3).flatMap { _ in Question.all(&random) }
            try await context.perform { context in
                for object in try context.fetch(Specimen.self) { object.delete() }
                for specimen in specimens { context.insert(specimen) }
                // Pending, and in a part of a tree that is not the base's.
                for question in questions {
                    let expected = try context.fetchIDs(Specimen.self, where: question.isMet)
                    #expect(question.objects(context) == expected, "\(question.text)")
                    #expect(question.counted(context) == expected.count, "\(question.text)")
                }
            }
            try await context.save()
            for question in questions { try Self.expect(question, coordinator.snapshot) }
            let nested = await Context(parent: context)
            let others = (0..<count / 2).map { _ in Specimen.random(&random) }
            try await nested.perform { nested in
                for (object, other) in zip(try nested.fetch(Specimen.self), others) {
                    if other.isRare {
                        object.delete()
                    } else {
                        (object.text, object.plainText) = (other.text, other.text)
                        (object.note, object.plainNote) = (other.note, other.note)
                        (object.number, object.plainNumber, object.pair) = (other.number, other.number, other.pair)
                        (object.weight, object.plainWeight) = (other.weight, other.weight)
                    }
                }
                for question in questions {
                    let expected = try nested.fetchIDs(Specimen.self, where: question.isMet)
                    #expect(question.objects(nested) == expected, "\(question.text)")
                }
            }
        }
    }

    @Test func `the first one is the oldest`() async throws {
        var random = SeededGenerator(seed: 1)
        let specimens = (0..<100).map { _ in Specimen.random(&random) }
        try await context.transaction { context in for each in specimens { context.insert(each) } }
        let snapshot = coordinator.snapshot
        for specimen in specimens {
            let expected = specimens.first { $0.number == specimen.number }
            #expect(snapshot.first(\Specimen.number, equals: specimen.number)?.text == expected?.text)
            #expect(snapshot.first(\Specimen.plainNumber, equals: specimen.number)?.text == expected?.text)
        }
        #expect(snapshot.first(\Specimen.number, equals: 77) == nil)
        let text = specimens[7].text
        let (found, none, same) = await context.perform { context in
            (
                context.first(\Specimen.text, equals: text)?.id, context.first(\Specimen.number, equals: 77)?.id,
                context.first(\Specimen.text, equals: text) === context.first(\Specimen.plainText, equals: text)
            )
        }
        #expect(found == snapshot.fetchIDs(\Specimen.plainText, equals: text).first && none == nil && same)
    }

    private static func labels() async throws -> Coordinator {
        let coordinator = try await Coordinator(for: Label.self)
        try await coordinator.transaction { context in
            for number in 0..<9 {
                context.insert(
                    Label(
                        extent: Extent(width: Int32(number), height: 7), code: Code(rawValue: "code\(number % 3)"),
                        color: number % 2 == 0 ? "red" : "blue", number: number))
            }
        }
        return coordinator
    }

    @Test func `a part of a value is not looked up as the whole`() async throws {
        let snapshot = try await Self.labels().snapshot
        for width in 0..<9 {
            #expect(snapshot.first(\Label.extent.width, equals: Int32(width))?.number == width)
            #expect(snapshot.first(\Label.extent, equals: Extent(width: Int32(width), height: 7))?.number == width)
        }
        #expect(snapshot.first(\Label.extent.height, equals: 7)?.number == 0)
        #expect(snapshot.first(\Label.extent.height, equals: 8) == nil)
    }

    @Test func `a predicate finds the first one that a type's own equality calls equal`() async throws {
        let snapshot = try await Self.labels().snapshot
        let code = Code(rawValue: "CODE1")
        #expect(try snapshot.first(Label.self, where: #Predicate { $0.code == code })?.number == 1)
        #expect(try snapshot.fetchValues(Label.self, where: #Predicate { $0.code == code }).map(\.number) == [1, 4, 7])
        // A look-up by the property goes by raw values.
        #expect(snapshot.first(\Label.code, equals: code) == nil)
        #expect(snapshot.first(\Label.code, equals: Code(rawValue: "code1"))?.number == 1)
    }

    @Test func `the first one of a sort, behind a page or an offset is not the first one with the value`() async throws
    {
        let coordinator = try await Self.labels()
        let snapshot = coordinator.snapshot
        var fetch = FetchDescriptor<Label>(predicate: #Predicate { $0.color == "red" })
        #expect(try snapshot.first(fetch)?.number == 0)
        fetch.fetchOffset = 2
        #expect(try snapshot.first(fetch)?.number == 4)
        fetch.fetchOffset = 0
        fetch.sortBy = [.descending(\.number)]
        #expect(try snapshot.first(fetch)?.number == 8)
        fetch.fetchLimit = 2
        fetch.after = try snapshot.fetchPage(fetch).next
        #expect(try snapshot.first(fetch)?.number == 4)
        let last = fetch
        #expect(try await Context(coordinator).perform { try $0.first(last)?.number } == 4)
        fetch = FetchDescriptor(predicate: fetch.predicate, fetchLimit: 0)
        #expect(try snapshot.first(fetch) == nil)
    }

    @Test func `a unique property has one object for each value, and any number for nil`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        try await coordinator.transaction { context in
            for number in 0..<50 {
                context.insert(
                    Person(name: "\(number)", email: number.isMultiple(of: 3) ? nil : "\(number)@example.com"))
            }
        }
        let snapshot = coordinator.snapshot
        for number in 0..<50 where !number.isMultiple(of: 3) {
            let email: String? = "\(number)@example.com"
            #expect(snapshot.first(\Person.email, equals: email)?.name == "\(number)")
            #expect(snapshot.fetchIDs(\Person.email, equals: email).count == 1)
        }
        #expect(snapshot.first(\Person.email, equals: "nobody@example.com") == nil)
        // Until it is saved, a unique value may be there twice.
        let context = Context(coordinator)
        let (names, first) = await context.perform { context in
            context.insert(Person(name: "second", email: "1@example.com"))
            let email: String? = "1@example.com"
            return (
                context.fetch(\Person.email, equals: email).map(\.name),
                context.first(\Person.email, equals: email)?.name
            )
        }
        #expect(names == ["1", "second"] && first == "1")
        #expect(snapshot.fetchCount(\Person.email, equals: nil) == 17)
        #expect(
            snapshot.fetchValues(\Person.email, equals: nil).map(\.name)
                == stride(from: 0, to: 50, by: 3).map { "\($0)" })
    }

    @Test func `an entity that the store lacks has no rows`() async {
        let snapshot = coordinator.snapshot
        #expect(snapshot.first(\Person.email, equals: "ada") == nil)
        #expect(snapshot.fetchValues(\Person.age, in: 1...).isEmpty)
        #expect(snapshot.fetchCount(\Person.name, startingWith: "a") == 0)
        let objects = await context.perform { $0.fetch(\Person.age, in: ...3).count }
        #expect(objects == 0)
    }

    @Test func `indexes are looked into, and a scan is taken where most rows match`() async throws {
        var random = SeededGenerator(seed: 2)
        let specimens = (0..<2_000).map { number in
            var specimen = Specimen.random(&random)
            (specimen.number, specimen.plainNumber) = (number, number)
            return specimen
        }
        try await context.transaction { context in for each in specimens { context.insert(each) } }
        let visits = Counter()
        func ask(_ range: Range<Int>, _ keyPath: any KeyPath<Specimen, Int> & Sendable) -> Int {
            let before = visits.value
            var condition = PropertyCondition<Specimen, Int>(keyPath, in: range)
            let matches = condition.matches
            condition.matches = { value in
                _ = visits.next()
                return matches(value)
            }
            #expect(coordinator.snapshot.lookUpIDs(condition).count == range.count)
            return visits.value - before
        }
        // The keys decide there.
        #expect(ask(100..<110, \.number) == 0)
        #expect(ask(100..<110, \.plainNumber) == 2_000)
        #expect(ask(100..<1_500, \.number) == 2_000)
    }
}
