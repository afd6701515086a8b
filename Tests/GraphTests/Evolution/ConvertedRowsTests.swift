import Foundation
import Synchronization
import Testing

@testable import Graph

/// Rows that are converted in parts, and indexes that a converted state takes over from the file's.
struct ConvertedRowsTests {
    enum V1 {
        @Entity(indexed: [["word", "code"]]) struct Part {
            @Indexed var code: String
            @Indexed var size: Int32
            var word: String
            var mark: String? = nil
            var whole: ToOne<Whole> = nil
        }

        @Entity struct Whole {
            var name: String
            @Relationship(inverse: \Part.whole) var parts: ToMany<Part> = []
        }
    }

    /// Indexes of the same values, of values of another type, and of the same ones in another order.
    enum V2 {
        @Entity(indexed: [["code", "word"], ["whole"]]) struct Part {
            @Indexed var code: String
            @Indexed var size: Int
            @Indexed var word: String
            var mark: String? = nil
            var note: String? = nil
            var whole: ToOne<Whole> = nil
        }

        @Entity struct Whole {
            var name: String
            @Relationship(inverse: \Part.whole) var parts: ToMany<Part> = []
        }
    }

    /// A value that was indexed, and has to be unique now.
    enum V3 {
        @Entity struct Part {
            @Unique var code: String
            var mark: String? = nil
            var note: String? = nil
        }
    }

    /// Values that every row has to have now.
    enum V4 {
        @Entity struct Part {
            var code: String
            var size: Float
            var mark: String
        }
    }

    static let count = 9_000

    /// Parts with codes of their own, each of which has a mark; a closure may change some.
    private func makeFile(
        _ folder: TemporaryFolder, _ change: (inout V1.Part, Int) -> Void = { _, _ in }
    ) async throws {
        let coordinator = try await Coordinator(for: V1.Part.self, V1.Whole.self, at: folder.file())
        let context = Context(coordinator)
        let wholes = await context.insert(contentsOf: (0..<10).map { V1.Whole(name: "\($0)") })
        let parts = (0..<Self.count).map { number in
            var part = V1.Part(
                code: "the code of part \(number * 7_919 % Self.count)", size: Int32(number % 100),
                word: "\(number % 7)")
            (part.mark, part.whole) = ("marked", ToOne(wholes[number % 10]))
            change(&part, number)
            return part
        }
        _ = await context.insert(contentsOf: parts)
        try await context.save()
        try await coordinator.close()
    }

    @Test func `indexes are those of the rows, whether they stay or are built`() async throws {
        let folder = try TemporaryFolder()
        try await makeFile(folder) { part, number in if number % 3 == 0 { part.whole = nil } }
        let reports = Mutex<[Double]>([])
        let coordinator = try await Coordinator(
            for: V2.Part.self, V2.Whole.self, at: folder.file(),
            progress: { progress in
                if progress.stage == .converting { reports.withLock { $0.append(progress.fraction) } }
            })
        let fractions = reports.withLock { $0 }
        #expect(fractions.count > 10 && fractions == fractions.sorted() && fractions.last == 1)
        #expect(coordinator.check() == [])
        let snapshot = coordinator.snapshot
        #expect(snapshot.count(of: V2.Part.self) == Self.count)
        let found = try snapshot.fetchValues(V2.Part.self, where: #Predicate { $0.code == "the code of part 4711" })
        #expect(found.map(\.code) == ["the code of part 4711"])
        #expect(try snapshot.fetchCount(V2.Part.self, where: #Predicate { $0.size == 42 }) == Self.count / 100)
        try await coordinator.close()
    }

    @Test func `an index that becomes unique names the objects with a value that others have`() async throws {
        let folder = try TemporaryFolder()
        try await makeFile(folder) { part, number in if [17, 5_000, 8_999].contains(number) { part.code = "twice" } }
        let before = FileManager.default.contents(atPath: folder.file())
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: V3.Part.self, at: folder.file(), dropping: ["Whole", "Part.word"])
        }
        guard case .migrationFailed(_, let failures)? = error else { throw try #require(error) }
        #expect(failures.map(\.id.row).sorted() == [5_001, 9_000])
        #expect(failures.allSatisfy { $0.property == "code" && $0.reason.contains("the same value as Part") })
        #expect(FileManager.default.contents(atPath: folder.file()) == before)
    }

    @Test func `rows that cannot be converted are named in their order, each with its first property that cannot`()
        async throws
    {
        let folder = try TemporaryFolder()
        try await makeFile(folder) { part, number in
            if [3, 4, 8_000].contains(number) { part.size = 16_777_217 }
            if [2, 3, 4_711].contains(number) { part.mark = nil }
        }
        let error = await #expect(throws: GraphError.self) {
            try await Coordinator(for: V4.Part.self, at: folder.file(), dropping: ["Whole"])
        }
        guard case .migrationFailed(_, let failures)? = error else { throw try #require(error) }
        #expect(
            failures.map { "\($0.id.row) \($0.property ?? "")" } == [
                "3 mark", "4 size", "5 size", "4712 mark", "8001 size",
            ])
    }

    enum Nested {
        @Entity struct Part { var mark: Int?? }
        enum Next {
            @Entity struct Part { var mark: Int? }
        }
        enum Filled {
            @Entity struct Part { var mark: Int? = 42 }
        }
        enum Required {
            @Entity struct Part { var mark = 42 }
        }
        enum Wider {
            @Entity struct Part { var mark: Int128?? = 42 }
        }
    }

    @Test func `nil in nil becomes nil where there is one nil alone`() async throws {
        let folder = try TemporaryFolder()
        let store = try await Coordinator(for: Nested.Part.self, at: folder.file())
        try await store.transaction { context in
            for mark: Int?? in [nil, .some(nil), 5] { context.insert(Nested.Part(mark: mark)) }
        }
        try await store.close()
        for name in ["1", "2", "3", "4"] {
            try FileManager.default.copyItem(atPath: folder.file(), toPath: folder.file(name))
        }
        let next = try await Coordinator(for: Nested.Next.Part.self, at: folder.file("1"))
        #expect(try next.snapshot.fetchValues(Nested.Next.Part.self).map(\.mark) == [nil, nil, 5])
        try await next.close()
        let filled = try await Coordinator(for: Nested.Filled.Part.self, at: folder.file("2"))
        #expect(try filled.snapshot.fetchValues(Nested.Filled.Part.self).map(\.mark) == [nil, nil, 5])
        try await filled.close()
        let required = try await Coordinator(for: Nested.Required.Part.self, at: folder.file("3"))
        #expect(try required.snapshot.fetchValues(Nested.Required.Part.self).map(\.mark) == [42, 42, 5])
        try await required.close()
        let wider = try await Coordinator(for: Nested.Wider.Part.self, at: folder.file("4"))
        #expect(try wider.snapshot.fetchValues(Nested.Wider.Part.self).map(\.mark) == [nil, .some(nil), 5])
        try await wider.close()
    }
}
