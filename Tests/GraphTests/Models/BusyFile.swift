import Foundation
import Synchronization

@testable import Graph

/// A file to which sixteen tasks write and from which others read while it is compacted again and again, on threads, with a model
/// beside each writer. It grows from round to round, and is closed, opened and compared after each.
struct BusyFile {
    @Entity struct Desk {
        @Unique var number: Int
        /// How often its writer has saved, whatever was written.
        var saves = 0
        @Relationship(.cascade, inverse: \Sheet.desk, ordered: true) var sheets: ToMany<Sheet> = []
    }

    @Entity struct Sheet {
        @Indexed var text: String
        var desk: ToOne<Desk> = nil
    }

    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    /// What is on a writer's desks, by their numbers, in order. The first desk stays, and counts the saves.
    fileprivate struct Model: Sendable {
        var desks: [Int: [String]] = [:]
        var saves = 0
    }

    /// What readers know of the writers.
    private final class Progress: Sendable {
        private let state: Mutex<(begun: [Int], saved: [Int], isOver: Bool)>

        init(_ models: [Model]) { state = Mutex((models.map(\.saves), models.map(\.saves), false)) }

        var begun: [Int] { state.withLock { $0.begun } }
        var saved: [Int] { state.withLock { $0.saved } }
        var isOver: Bool { state.withLock { $0.isOver } }
        func begin(_ writer: Int) { state.withLock { $0.begun[writer] += 1 } }
        func save(_ writer: Int) { state.withLock { $0.saved[writer] += 1 } }
        func end() { state.withLock { $0.isOver = true } }
    }

    static let writers = 16
    private static let desksPerWriter = 8
    private static let sheetLimit = 40

    private let path: String
    private var models = Array(repeating: Model(), count: writers)
    private(set) var compactions = 0

    init(path: String) {
        self.path = path
    }

    /// Has each writer save so often.
    mutating func round(seed: UInt64, saves: Int) async throws {
        let durability = [Durability.full, .relaxed, .none][Int(seed % 3)]
        let coordinator = try await open(durability)
        let progress = Progress(models)
        let (models, path) = (models, path)
        async let compacting = Self.compact(coordinator, until: progress)
        async let reading: Void = Self.read(coordinator, until: progress)
        async let readingFile: Void = Self.readFile(path, isSafe: durability == .full, until: progress)
        do {
            self.models = try await withThrowingTaskGroup { group in
                for writer in 0..<Self.writers {
                    group.addTask {
                        var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(writer))
                        var model = models[writer]
                        let context = Context(coordinator)
                        for _ in 0..<saves {
                            try await Self.save(writer, &model, in: context, progress, using: &random)
                        }
                        return (writer, model)
                    }
                }
                return try await group.reduce(into: models) { $0[$1.0] = $1.1 }
            }
        } catch {
            progress.end()
            throw error
        }
        progress.end()
        compactions += try await compacting
        try await reading
        try await readingFile
        try compare(coordinator.snapshot)
        try await coordinator.close()
        let reopened = try await open(.full)
        try compare(reopened.snapshot)
        let findings = reopened.check()
        guard findings.isEmpty else { throw Mismatch(description: "check: \(findings)") }
        try await reopened.close()
    }

    private func open(_ durability: Durability) async throws -> Coordinator {
        try await Coordinator(for: Desk.self, Sheet.self, at: path, durability: durability)
    }

    // MARK: Writing

    fileprivate enum Step {
        case add(Int, String)
        case write(Int, Int, String)
        case move(Int, Int, Int)
        case remove(Int, Int)
        /// With all sheets; the next one of this number is another desk.
        case delete(Int)

        /// - Parameter model: what there is before and, afterwards, what the step leaves.
        init(_ writer: Int, _ model: inout Model, using random: inout SeededGenerator) {
            let first = writer * BusyFile.desksPerWriter
            let number = first + Int.random(in: 0..<BusyFile.desksPerWriter, using: &random)
            let sheets = model.desks[number] ?? []
            let place = sheets.isEmpty ? 0 : Int.random(in: sheets.indices, using: &random)
            let text = String(repeating: "n", count: Int.random(in: 0..<200, using: &random)) + " \(model.saves)"
            switch Int.random(in: 0..<12, using: &random) {
            case 0 where number != first && model.desks[number] != nil:
                model.desks[number] = nil
                self = .delete(number)
            case 1..<4 where !sheets.isEmpty:
                model.desks[number]?[place] = text
                self = .write(number, place, text)
            case 4..<6 where !sheets.isEmpty:
                let target = Int.random(in: sheets.indices, using: &random)
                let sheet = model.desks[number]?.remove(at: place) ?? ""
                model.desks[number]?.insert(sheet, at: target)
                self = .move(number, place, target)
            case 6..<8 where !sheets.isEmpty, _ where sheets.count == BusyFile.sheetLimit:
                model.desks[number]?.remove(at: place)
                self = .remove(number, place)
            default:
                model.desks[number, default: []].append(text)
                self = .add(number, text)
            }
        }
    }

    private static func save(
        _ writer: Int,
        _ model: inout Model,
        in context: Context,
        _ progress: Progress,
        using random: inout SeededGenerator
    ) async throws {
        model.saves += 1
        if model.desks[writer * desksPerWriter] == nil { model.desks[writer * desksPerWriter] = [] }
        let steps = (0..<Int.random(in: 1..<4, using: &random)).map { _ in Step(writer, &model, using: &random) }
        let saves = model.saves
        progress.begin(writer)
        try await context.transaction { context in
            try context.desk(writer * desksPerWriter).saves = saves
            for step in steps { try context.take(step) }
        }
        progress.save(writer)
    }

    // MARK: Reading

    /// Compacts without a break.
    private static func compact(_ coordinator: Coordinator, until progress: Progress) async throws -> Int {
        var count = 0
        while !progress.isOver {
            try await coordinator.compact()
            count += 1
        }
        return count
    }

    private static func read(_ coordinator: Coordinator, until progress: Progress) async throws {
        while !progress.isOver {
            try await Task.sleep(for: .milliseconds(1))
            let before = progress.saved
            let counts = try saveCounts(coordinator.snapshot)
            try compare(counts, atLeast: before, atMost: progress.begun)
        }
    }

    /// Opens the file beside its writer.
    ///
    /// - Parameter isSafe: whether what is saved is in the file for good, where a reader sees it.
    private static func readFile(_ path: String, isSafe: Bool, until progress: Progress) async throws {
        while !progress.isOver {
            try await Task.sleep(for: .milliseconds(5))
            let before = progress.saved
            let reader = try await Coordinator(for: Desk.self, Sheet.self, at: path, readOnly: true)
            let counts = try saveCounts(reader.snapshot)
            try compare(counts, atLeast: isSafe ? before : before.map { _ in 0 }, atMost: progress.begun)
        }
    }

    private static func saveCounts(_ snapshot: Snapshot) throws -> [Int] {
        var counts = Array(repeating: 0, count: writers)
        for desk in try snapshot.fetchValues(Desk.self) where desk.number % desksPerWriter == 0 {
            counts[desk.number / desksPerWriter] = desk.saves
        }
        return counts
    }

    private static func compare(_ counts: [Int], atLeast least: [Int], atMost most: [Int]) throws {
        for (writer, count) in counts.enumerated() where count < least[writer] || count > most[writer] {
            throw Mismatch(description: "writer \(writer): \(count) saves are read of \(least[writer])…\(most[writer])")
        }
    }

    /// All that there is.
    private func compare(_ snapshot: Snapshot) throws {
        var expected: [Int: [String]] = [:]
        for model in models { expected.merge(model.desks) { _, new in new } }
        var found: [Int: [String]] = [:]
        for id in try snapshot.fetchIDs(Desk.self) {
            guard let desk = snapshot.value(for: id) else { throw Mismatch(description: "\(id) has no value") }
            found[desk.number] = try snapshot.related(\Desk.sheets, of: id).map { snapshot.value(for: $0)?.text ?? "?" }
        }
        guard found != expected else {
            guard try Self.saveCounts(snapshot) == models.map(\.saves) else {
                throw Mismatch(description: "saves are not counted as they were")
            }
            return
        }
        let numbers = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
        let texts = numbers.prefix(3).map { number in
            "desk \(number) has \(found[number]?.count ?? -1) sheets, not \(expected[number]?.count ?? -1)"
        }
        throw Mismatch(description: "\(numbers.count) desks differ: \(texts.joined(separator: "; "))")
    }
}

extension Context {
    /// The desk of a number, which is made if there is none.
    fileprivate func desk(_ number: Int) throws -> ManagedObject<BusyFile.Desk> {
        let found = try fetch(BusyFile.Desk.self, where: { $0.number == number })
        return found.first ?? insert(BusyFile.Desk(number: number))
    }

    fileprivate func take(_ step: BusyFile.Step) throws {
        switch step {
        case .add(let number, let text):
            let desk = try desk(number)
            desk.sheets.append(insert(BusyFile.Sheet(text: text)))
        case .write(let number, let place, let text):
            try desk(number).sheets[place].text = text
        case .move(let number, let place, let other):
            try desk(number).sheets.move(from: place, to: other)
        case .remove(let number, let place):
            let desk = try desk(number)
            delete(desk.sheets[place])
        case .delete(let number):
            delete(try desk(number))
        }
    }
}
