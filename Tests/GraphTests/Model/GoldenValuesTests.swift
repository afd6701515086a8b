import Foundation
import Testing

@testable import Graph

/// `Golden/json-values.graph` was written when `Codable` values were JSON. It is never written again: files like it are in
/// programs' hands.
struct GoldenValuesTests {
    private func copy() throws -> (folder: TemporaryFolder, path: String) {
        let folder = try TemporaryFolder()
        let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/json-values.graph")
        let digest = SHA256.digest(try [UInt8](Data(contentsOf: golden))).map { PlainText.hexadecimal($0) }.joined()
        try #require(digest == "1e81f25d25fecdef92dc7081d48ca77ff85bdcbbae42ed0d81fffbae7b88cbd4", "somebody edited it")
        try FileManager.default.copyItem(atPath: golden.path, toPath: folder.file())
        return (folder, folder.file())
    }

    private func stops(_ path: String) async throws -> [GoldenStop] {
        let coordinator = try await Coordinator(for: GoldenStop.self, at: path)
        #expect(coordinator.check() == [])
        let stops = try coordinator.snapshot.fetchValues(GoldenStop.self)
        try await coordinator.close()
        return stops
    }

    @Test func `a file with values in JSON opens, and holds what was saved`() async throws {
        let (folder, path) = try copy()
        let stops = try await stops(path)
        #expect(stops.map(\.code) == ["s0", "s1", "s3"])
        #expect(stops.map(\.place) == [GoldenPlace.all[0], GoldenPlace.all[1], GoldenPlace.all[3]])
        #expect(stops[1].place.latitude.sign == .minus && Array(stops[1].place.name.utf8) == Array("e\u{301}".utf8))
        #expect(stops.map(\.event) == [nil, .golden, nil])
        let since = Date(timeIntervalSinceReferenceDate: 0.1)
        #expect(stops.map(\.mood) == [.busy(since: since, with: ["a", "é"]), .calm, .calm])
        let busy = GoldenMood.busy(since: Date(timeIntervalSinceReferenceDate: -1), with: [])
        #expect(stops.map(\.history) == [[.calm, .other("x"), busy], [], []])
        withExtendedLifetime(folder) {}
    }

    @Test func `its values can be changed and deleted, and the file opened again`() async throws {
        let (folder, path) = try copy()
        let coordinator = try await Coordinator(for: GoldenStop.self, at: path)
        let ids = try coordinator.snapshot.fetchIDs(GoldenStop.self)
        try await coordinator.transaction { context in
            context[ids[0]]?.place = GoldenPlace.all[2]
            context[ids[1]]?.event = nil
            context[ids[2]]?.delete()
            context.insert(GoldenStop(code: "new", place: GoldenPlace.all[0], mood: .other("é"), history: [.calm]))
        }
        try await coordinator.transaction { context in context[ids[1]]?.event = .golden }
        try await coordinator.close()
        let reopened = try await stops(path)
        #expect(reopened.map(\.code) == ["s0", "s1", "new"])
        #expect(reopened.map(\.place) == [GoldenPlace.all[2], GoldenPlace.all[1], GoldenPlace.all[0]])
        #expect(reopened.map(\.event) == [nil, .golden, nil])
        #expect(reopened[2].mood == .other("é"))
        withExtendedLifetime(folder) {}
    }
}

private struct GoldenPlace: Codable, Equatable {
    var name: String
    var latitude: Double
    var tags: [String?]
    var counts: [String: Int]
    var levels: [Int: String]
    var ids: Set<Int>

    static let all = [
        GoldenPlace(
            name: "Zürich", latitude: 47.25, tags: [nil, "", "x/\"\\"], counts: ["b": 2, "a": .min, "": .max],
            levels: [-1: "low", 10: "high"], ids: [3, 1, 2]),
        GoldenPlace(name: "e\u{301}", latitude: -0.0, tags: [], counts: [:], levels: [:], ids: []),
        GoldenPlace(
            name: "", latitude: .infinity, tags: ["a"], counts: ["": 0], levels: [0: ""], ids: [.min, .max]),
        GoldenPlace(
            name: "\0\u{1F600}", latitude: .leastNonzeroMagnitude, tags: [nil], counts: ["é": -1], levels: [:], ids: [7]
        ),
    ]
}

private struct GoldenEvent: Codable, Equatable {
    var date: Date
    var link: URL
    var token: UUID
    var data: Data
    var price: Decimal
    var large: UInt64
    var small: Int64
    var ratio: Float
    var isOpen: Bool
    var remark: String?
    var parts: [[Int8]]

    static let golden = GoldenEvent(
        date: Date(timeIntervalSinceReferenceDate: 700_000_000.125),
        link: URL(string: "https://example.com/a%20b?q=1#f")!,
        token: UUID(uuidString: "7FFFFFFF-0000-FFFF-1234-FFFFFFFFFFFF")!, data: Data([0, 1, 254, 255]),
        price: Decimal(string: "-123.45")!, large: .max, small: .min, ratio: 0.1, isOpen: true, remark: nil,
        parts: [[], [-128, 127]])
}

private enum GoldenMood: Codable, Equatable {
    case calm
    case busy(since: Date, with: [String])
    case other(String)
}

@Entity private struct GoldenStop {
    @Unique var code: String
    var place: GoldenPlace
    var event: GoldenEvent?
    var mood: GoldenMood
    var history: [GoldenMood]
}
