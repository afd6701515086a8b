import Foundation
import Graph

/// What a program does with a store while calls to the system fail, and what it was told of each step.
///
/// A save N inserts two entries, of the numbers 2N and 2N + 1, so that a half of it shows.
struct ShortLife {
    let folder: String
    /// Told of each step: `saved N`, `did STEP`, `skipped STEP` where the store did not open for it, or `refused STEP CASE …`.
    let tell: (String) -> Void
    private var store: Coordinator?
    private var durability = Durability.full

    init(in folder: String, tell: @escaping (String) -> Void) {
        self.folder = folder
        self.tell = tell
    }

    private var path: String { folder + "/store.graph" }

    /// Creates a store, saves alone and in a group, compacts, ends without closing and with something behind the end, opens what
    /// that has left, copies, closes, saves on another level of durability, and converts the file to another schema.
    mutating func run() async {
        for number in 1...2 { await save([number]) }
        await save([3, 4, 5])
        await step("compact") { try await $0.compact() }
        await save([6])
        store = nil
        tearEnd()
        await save([7])
        await step("copy") { [folder] in try await $0.copy(to: folder + "/copy.graph") }
        await save([8])
        await close()
        durability = .relaxed
        for number in 9...10 { await save([number]) }
        await step("sync") { try await $0.sync() }
        await close()
        await migrate()
    }

    /// At the same time, and so in one group or two.
    private mutating func save(_ numbers: [Int]) async {
        guard let store = await opened() else {
            for number in numbers { tell("skipped \(number)") }
            return
        }
        let outcomes = await withTaskGroup(of: (number: Int, error: (any Error)?).self) { group in
            for number in numbers {
                group.addTask {
                    do {
                        try await Context(store).transaction { context in
                            for entry in Self.entries(number) { _ = context.insert(entry) }
                        }
                        return (number, nil)
                    } catch { return (number, error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for (number, error) in outcomes {
            guard let error else {
                tell("saved \(number)")
                continue
            }
            tell("refused \(number) \(TestProgram.refusal(error))")
            // A full disk is the one failure after which the same store takes more.
            if case GraphError.diskFull = error { continue }
            try? await self.store?.close()
            self.store = nil
        }
    }

    private mutating func step(_ name: String, _ body: (Coordinator) async throws -> Void) async {
        guard let store = await opened() else { return tell("skipped \(name)") }
        do {
            try await body(store)
            tell("did \(name)")
        } catch { tell("refused \(name) \(TestProgram.refusal(error))") }
    }

    private mutating func close() async {
        await step("close") { try await $0.close() }
        store = nil
    }

    private mutating func opened() async -> Coordinator? {
        if let store { return store }
        do {
            store = try await Coordinator(for: Entry.self, at: path, durability: durability, compaction: .manual)
            tell("did open")
        } catch { tell("refused open \(TestProgram.refusal(error))") }
        return store
    }

    /// As a write does that has not come to its end. The calls of the C library's streams never fail here.
    private func tearEnd() {
        guard let file = fopen(path, "r+") else { return }
        fseek(file, 0, SEEK_END)
        let bytes = [UInt8](repeating: 0x55, count: 1_000)
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    private func migrate() async {
        do {
            let store = try await Coordinator(for: Extended.Entry.self, at: path, compaction: .manual)
            tell("did migrate")
            do {
                try await Context(store).transaction { context in
                    for entry in Self.entries(11) {
                        _ = context.insert(Extended.Entry(number: entry.number, filling: entry.filling))
                    }
                }
                tell("saved 11")
            } catch { tell("refused 11 \(TestProgram.refusal(error))") }
            do {
                try await store.close()
                tell("did close")
            } catch { tell("refused close \(TestProgram.refusal(error))") }
        } catch { tell("refused migrate \(TestProgram.refusal(error))") }
    }

    // MARK: What is there

    private static func entries(_ save: Int) -> [Entry] {
        let filling = Data(repeating: UInt8(save), count: [40_000, 10, 700, 5_000][save % 4])
        return (2 * save...2 * save + 1).map { Entry(number: $0, filling: filling) }
    }

    /// The saves that are in a file, whichever of the two schemas it has; nil if one of them is there in part.
    static func saves(at path: String) async throws -> [Int]? {
        do {
            let store = try await Coordinator(for: Entry.self, at: path, compaction: .manual)
            let entries = try store.snapshot.fetchValues(Entry.self).map { ($0.number, $0.filling) }
            return try await saves(entries, closing: store)
        } catch GraphError.schemaMismatch {
            let store = try await Coordinator(for: Extended.Entry.self, at: path, compaction: .manual)
            let found = try store.snapshot.fetchValues(Extended.Entry.self)
            guard found.allSatisfy({ $0.rank == 7 }) else { return nil }
            return try await saves(found.map { ($0.number, $0.filling) }, closing: store)
        }
    }

    private static func saves(_ entries: [(Int, Data)], closing store: Coordinator) async throws -> [Int]? {
        let errors = store.check()
        try await store.close()
        let saves = Set(entries.map { $0.0 / 2 }).sorted()
        let expected = saves.flatMap { Self.entries($0) }.map { ($0.number, $0.filling) }
        let isWhole = entries.sorted { $0.0 < $1.0 }.elementsEqual(expected, by: ==)
        return isWhole && errors.isEmpty ? saves : nil
    }
}

/// The library of `Tests/SystemFaults`, if this program was started with it.
enum SystemFaults {
    private typealias Arm =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, Int, Int, Int) -> Int32
    private typealias Count = @convention(c) () -> Int
    private typealias Path = @convention(c) () -> UnsafePointer<CChar>

    private static func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
        guard let symbol = dlsym(nil, "graph_faults_" + name) else { throw CocoaError(.featureUnsupported) }
        return unsafeBitCast(symbol, to: type)
    }

    /// - Parameter words: the folder, the call, what becomes of it, the first and the last number of the calls that fail, and the
    ///   distance from one to the next.
    static func arm(_ words: [String]) throws {
        let numbers = words.suffix(3).compactMap { Int($0) }
        guard words.count == 6, numbers.count == 3,
            try function("arm", as: Arm.self)(words[0], words[1], words[2], numbers[0], numbers[1], numbers[2]) == 0
        else { throw CocoaError(.featureUnsupported) }
    }

    /// How many calls there were, how many failed, and the file of the first of these.
    static func disarm() throws -> String {
        let (calls, fired) = (try function("calls", as: Count.self)(), try function("fired", as: Count.self)())
        let path = String(cString: try function("path", as: Path.self)())
        _ = try function("arm", as: Arm.self)("", "", "", 0, 0, 0)
        return "calls \(calls) failed \(fired) \(path)"
    }
}
