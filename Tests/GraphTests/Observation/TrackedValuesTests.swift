import Observation
import Testing

@testable import Graph

@Entity private struct Item {
    var title = 0
    var n = 0
    var list: ToOne<Board> = nil
}

@Entity private struct Board {
    var name = 0
    @Relationship(.nullify, inverse: \Item.list) var items: ToMany<Item> = []
}

/// Whoever reads what an object shows is told when that becomes something else, whatever has led to it.
@MainActor struct TrackedValuesTests {
    /// What ends an edit of an object that others deleted.
    enum Ending: CaseIterable {
        case rollback, rollbackToLatest, discard, undo, policy
    }

    @Test(.bug(id: "untold drop", "a view went on showing an edit that had been dropped"), arguments: Ending.allCases)
    func `an edit of an object that others deleted is told of when it is dropped`(ending: Ending) async throws {
        let coordinator = try await Coordinator(for: Item.self, Board.self)
        let context = Context(coordinator, executor: .main)
        context.sync { $0.undoLimit = 5 }
        let id = try await coordinator.transaction { $0.insert(Item(title: 1)).id }
        await context.refresh()
        let item = try context.sync { try $0.object(for: id) }
        item.title = 2
        try await coordinator.transaction { $0[id]?.delete() }
        await context.refresh()
        let (title, n) = (Tracked { item.title }, Tracked { item.n })
        switch ending {
        case .rollback: context.sync { $0.rollback() }
        case .rollbackToLatest: await context.rollback(to: .latest)
        case .discard: item.discardChanges()
        case .undo: context.sync { _ = $0.undo() }
        case .policy: try await context.save(mergePolicy: .mergeByPropertyStoreTrump)
        }
        #expect(item.title == 1)
        #expect(title.isTold && !n.isTold)
    }

    @Test func `what is written to such an object is told of`() async throws {
        let coordinator = try await Coordinator(for: Item.self, Board.self)
        let context = Context(coordinator, executor: .main)
        let id = try await coordinator.transaction { $0.insert(Item(title: 1)).id }
        await context.refresh()
        let item = try context.sync { try $0.object(for: id) }
        item.title = 2
        try await coordinator.transaction { $0[id]?.delete() }
        await context.refresh()
        let (title, n) = (Tracked { item.title }, Tracked { item.n })
        item.title = 3
        #expect(item.title == 3 && title.isTold && !n.isTold)
    }

    @Test func `random programs are told of all that objects show anew`() async throws {
        for seed in Seeds.programs(share: 5) {
            var program = try await Program(seed: seed)
            for step in 0..<40 { try await program.step(step) }
        }
    }

    /// What one context shows, while others commit.
    @MainActor private struct Program {
        private var random: SeededGenerator
        private let seed: UInt64
        private let coordinator: Coordinator
        private let context: Context
        private var items: [Item.Object] = []
        private var boards: [Board.Object] = []

        init(seed: UInt64) async throws {
            (self.seed, random) = (seed, SeededGenerator(seed: seed))
            coordinator = try await Coordinator(for: Item.self, Board.self)
            context = Context(coordinator, executor: .main)
            context.sync { $0.undoLimit = seed % 2 == 0 ? 20 : 0 }
            boards = context.sync { context in (0..<2).map { context.insert(Board(name: $0)) } }
            items = context.sync { context in (0..<3).map { context.insert(Item(title: $0)) } }
            try await context.save()
        }

        private mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        private mutating func item() -> Item.Object { items[number(below: items.count)] }
        private mutating func board() -> Board.Object { boards[number(below: boards.count)] }

        mutating func step(_ step: Int) async throws {
            let (old, hadChanges) = (reads(), Tracked { [context] in context.sync { $0.hasChanges ? 1 : 0 } })
            let kind = number(below: 16)
            try await act(kind)
            for (name, read) in old {
                #expect(read.isTold || read.read() == read.value, "seed \(seed), step \(step) (\(kind)): \(name)")
            }
            #expect(
                hadChanges.isTold || hadChanges.read() == hadChanges.value, "seed \(seed), step \(step) (\(kind))")
        }

        /// Each is tracked by itself.
        private func reads() -> [(name: String, read: Tracked)] {
            var reads: [(String, Tracked)] = []
            for (number, item) in items.enumerated() {
                reads += [
                    ("title of \(number)", Tracked { item.title }), ("n of \(number)", Tracked { item.n }),
                    ("list of \(number)", Tracked { Int(item.list?.id.row ?? 0) }),
                    ("value of \(number)", Tracked { item.value.title * 100 + item.value.n }),
                    ("isDeleted of \(number)", Tracked { item.isDeleted ? 1 : 0 }),
                    ("hasChanges of \(number)", Tracked { item.hasChanges ? 1 : 0 }),
                ]
            }
            for (number, board) in boards.enumerated() {
                reads += [
                    ("name of board \(number)", Tracked { board.name }),
                    ("items of board \(number)", Tracked { board.items.reduce(0) { $0 * 31 + Int($1.id.row) } }),
                ]
            }
            return reads
        }

        private mutating func act(_ kind: Int) async throws {
            switch kind {
            case 0, 1: item().title = 10 + number(below: 5)
            case 2: item().n = number(below: 3)
            case 3: item().list = number(below: 3) == 0 ? nil : board()
            case 4:
                item().delete()
            case 5:
                let value = number(below: 5)
                items.append(context.sync { $0.insert(Item(title: value)) })
            case 6, 7, 8: try await actElsewhere()
            case 9, 10: await context.refresh()
            case 11: context.sync { $0.rollback() }
            case 12:
                if number(below: 2) == 0 { item().discardChanges() } else { await context.rollback(to: .latest) }
            case 13: context.sync { _ = $0.undo() }
            case 14: context.sync { _ = $0.redo() }
            default:
                let policies: [MergePolicy] = [
                    .error, .overwrite, .rollback, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump,
                ]
                try? await context.save(mergePolicy: policies[number(below: policies.count)])
            }
        }

        private mutating func actElsewhere() async throws {
            let (item, board) = (item().id, board().id)
            let (kind, value) = (number(below: 5), number(below: 5))
            try await coordinator.transaction { context in
                switch kind {
                case 0, 1: context[item]?.delete()
                case 2: context[item]?.title = 20 + value
                case 3: context[item]?.list = context[board]
                default: context[board]?.name = value
                }
            }
        }
    }
}

/// A read, and whether it was told to be out of date.
@MainActor private final class Tracked {
    private(set) var isTold = false
    private(set) var value = 0
    let read: @MainActor () -> Int

    init(_ read: @escaping @MainActor () -> Int) {
        self.read = read
        value = withObservationTracking(read) {
            MainActor.assumeIsolated { self.isTold = true }
        }
    }
}
