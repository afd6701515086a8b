import Foundation
import Synchronization
import Testing

@testable import GraphBench

struct SessionTests {
    private final class Store: Sendable {}

    private struct Seen {
        weak var store: Store?
        var path: String?
        var leftovers: [String] = []
        var rows: [Int] = []
    }

    @Test func `stores and files of a size are gone before the next begins`() async throws {
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let seen = Mutex(Seen())
        let workload = Workload(
            "one", "a store and a file", unit: .seconds(per: "row"), targets: [], sqlite: nil,
            native: { setting in
                let before = seen.withLock { $0 }
                if before.store != nil { seen.withLock { $0.leftovers.append("store") } }
                if let path = before.path, FileManager.default.fileExists(atPath: path) {
                    seen.withLock { $0.leftovers.append(path) }
                }
                let store = await setting.shared("store") { Store() }
                let path = setting.freshPath("file")
                try Data([1]).write(to: URL(fileURLWithPath: path))
                seen.withLock {
                    $0.store = store
                    $0.path = path
                    $0.rows.append(setting.data.rows)
                }
                return { _ in Measurement(amount: 1, count: 1, answer: withExtendedLifetime(store) { 1 }) }
            })
        let session = Session(directory: directory.path, runs: 1, usesPeer: false, seed: 1, progress: ProgressLine())
        let results = try await session.measure([workload], sizes: [1_000, 2_000, 3_000])
        #expect(seen.withLock { $0.leftovers } == [])
        #expect(seen.withLock { $0.rows } == [1_000, 2_000, 3_000])
        #expect(results.map { $0.map(\.rows) } == [[1_000], [2_000], [3_000]])
        #expect(results.allSatisfy { $0[0].median(.native) == 1 })
    }
}
