import Foundation

/// What contenders are given: the data, a place for files, and stores that several workloads read without changing.
final class Setting {
    let data: PeopleData
    /// A folder of this run's own.
    let directory: String
    /// What the packages are drawn from, and what is read and changed of the people, who are always the same.
    let seed: UInt64
    private var shared: [String: Any] = [:]
    private var readBack: ReadBack?
    private var pathCount = 0

    init(data: PeopleData, directory: String, seed: UInt64 = 1) {
        self.data = data
        self.directory = directory
        self.seed = seed
    }

    /// A path that nothing has used yet.
    func freshPath(_ name: String) -> String {
        pathCount += 1
        return "\(directory)/\(pathCount)-\(name)"
    }

    /// Returns what `make` made at the first call with this key.
    func shared<Value>(_ key: String, make: () async throws -> Value) async rethrows -> Value {
        if let value = shared[key] as? Value { return value }
        let value = try await make()
        shared[key] = value
        return value
    }

    /// Opens a contender's file anew and returns the answer that is in it after the last run.
    typealias ReadBack = (_ lastRun: Int) async throws -> UInt64

    /// Has the file of the contender that gets ready read back once its runs are over: it must give the last run's answer.
    ///
    /// - Parameter readBack: holds nothing that keeps the file open, unless it closes that first.
    func afterRuns(_ readBack: @escaping ReadBack) {
        self.readBack = readBack
    }

    /// Returns what the contender that got ready last has given, once.
    func takeReadBack() -> ReadBack? {
        defer { readBack = nil }
        return readBack
    }

    /// Removes a file and the companions whose names begin with its name.
    func remove(_ path: String) {
        let name = (path as NSString).lastPathComponent
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for other in names where other.hasPrefix(name) {
            try? FileManager.default.removeItem(atPath: "\(directory)/\(other)")
        }
    }
}
