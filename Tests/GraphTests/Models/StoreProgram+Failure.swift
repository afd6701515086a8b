import Foundation

extension StoreProgram {
    /// What a program of sixty steps comes to that the model does not, with the shortest program that does; nil if it comes to
    /// the same.
    ///
    /// - Parameter folder: where the store's file is to be; nil runs in memory.
    static func failure(seed: UInt64, folder: String? = nil) async -> String? {
        let program = StoreProgram(length: 60, seed: seed)
        guard await program.mismatch(in: folder) != nil else { return nil }
        let shrunk = await program.shrunk { await $0.mismatch(in: folder) != nil }
        let mismatch = await shrunk.mismatch(in: folder)
        return """
            GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter StoreProgramTests
            \(shrunk)
            \(mismatch?.description ?? "the shrunk program passes when run again")
            """
    }

    private func mismatch(in folder: String?) async -> StoreProgramRun.Mismatch? {
        let path = folder.map { $0 + "/" + UUID().uuidString }
        // Opening lists the folder, in which nothing is to pile up.
        defer {
            for file in path.map({ [$0, $0 + ".lock"] }) ?? [] { try? FileManager.default.removeItem(atPath: file) }
        }
        return await StoreProgramRun.mismatch(of: self, path: path)
    }
}
