import Foundation
import Synchronization
import Testing

@testable import Graph

/// Three contexts on one store of nodes that are related to each other in every way, at random.
struct NodeFuzzTests {
    @Test(arguments: 0..<(ReviewOptions.seeds)) func `nodes at random`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let disk = SimulatedDisk()
        let schema = try Schema([EntityDescription(Node.self)])
        let coordinator = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1),
            checksEveryCommit: true)
        let contexts = [Context(coordinator), Context(coordinator), Context(coordinator)]
        var saves = 0
        for step in 0..<60 {
            let context = contexts.randomElement(using: &random)!
            let seed = random.next()
            await context.act(seed)
            var findings = await context.findings()
            try #require(findings == [], "step \(step) after act")
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                if random.chance(30) { disk.fail(operation: disk.operationCount, with: .error(.diskFull, 28)) }
                let isTransaction = random.chance(3)
                let transactionSeed = random.next()
                let save = Task {
                    if isTransaction {
                        try await context.transaction { $0.act(transactionSeed) }
                    } else {
                        try await context.save()
                    }
                }
                for _ in 0..<30 where await !context.isSaveUnderWay { await Task.yield() }
                if random.chance(2) {
                    let seed = random.next()
                    if await context.isSaveUnderWay { ReviewOptions.count("in flight") }
                    await context.act(seed)
                    if random.chance(5) { await context.rollback() }
                    let findings = await context.findings()
                    try #require(findings == [], "step \(step) in flight")
                }
                do {
                    try await save.value
                    saves += 1
                    ReviewOptions.count("saves")
                } catch let error as GraphError {
                    ReviewOptions.count("\(error)".prefix(24).description)
                    if case .inconsistent = error { throw error }
                    findings = await context.findings()
                    try #require(findings == [], "step \(step) after a failed save")
                    if random.chance(2) { await context.rollback() } else { await context.refresh() }
                }
            case 4: if random.chance(2) { await context.refresh() }
            case 5: if random.chance(4) { await context.rollback() }
            case 6:
                let seed = random.next()
                do {
                    try await context.transaction { context in
                        context.act(seed)
                        if seed % 2 == 0 { throw CancellationError() }
                    }
                    saves += 1
                } catch let error as GraphError {
                    if case .inconsistent = error { throw error }
                    await context.rollback()
                } catch {}
            default: break
            }
            findings = await context.findings()
            try #require(findings == [], "step \(step)")
        }
        #expect(coordinator.check() == [])
        do { try await coordinator.close() } catch {}
        // A failure that is still to come is met first.
        var opened: Coordinator?
        for _ in 0..<2 where opened == nil {
            do {
                opened = try await Coordinator(
                    schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1))
            } catch GraphError.diskFull {
            } catch { throw error }
        }
        let reopened = try #require(opened)
        #expect(reopened.check() == [])
        let (old, new) = (coordinator.snapshot, reopened.snapshot)
        #expect(old.entities[0].rows.rowNumbers == new.entities[0].rows.rowNumbers)
        for row in old.entities[0].rows.rowNumbers {
            #expect(old.version(Node.self, row) == new.version(Node.self, row))
        }
        for (left, right) in zip(old.adjacencies, new.adjacencies) { #expect(left.isIdentical(to: right)) }
    }
}

extension Context {
    fileprivate func act(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Int.random(in: 1...6, using: &random) { actOnce(&random) }
    }

    private func actOnce(_ random: inout SeededGenerator) {
        let nodes = (try? fetch(Node.self)) ?? []
        func pick() -> Node.Object? { nodes.randomElement(using: &random) }
        func key() -> Int? { random.chance(2) ? nil : Int.random(in: 0..<6, using: &random) }
        switch Int.random(in: 0..<16, using: &random) {
        case 0...2:
            func reference() -> ToOne<Node> { random.chance(3) ? ToOne(pick()?.id) : nil }
            func members() -> ToMany<Node> { random.chance(4) ? ToMany([pick(), pick()].compactMap { $0?.id }) : [] }
            insert(
                Node(
                    key: key(), other: key(), next: reference(), previous: reference(), spouse: reference(),
                    parent: reference(), children: members(), follows: members(), followers: members(),
                    friends: members()))
        case 3: pick()?.delete()
        case 4: pick()?.next = random.chance(4) ? nil : pick()
        case 5: pick()?.previous = random.chance(4) ? nil : pick()
        case 6: pick()?.spouse = random.chance(4) ? nil : pick()
        case 7: pick()?.parent = random.chance(4) ? nil : pick()
        case 8:
            guard let owner = pick() else { return }
            owner.children = RelatedObjects((0..<3).compactMap { _ in pick() })
        case 9:
            guard let owner = pick() else { return }
            owner.friends = RelatedObjects((0..<3).compactMap { _ in pick() })
        case 10:
            guard let owner = pick() else { return }
            owner.followers = RelatedObjects((0..<3).compactMap { _ in pick() })
        case 11:
            guard let owner = pick(), let member = pick() else { return }
            let list = [owner.children, owner.follows, owner.followers, owner.friends].randomElement(using: &random)!
            list.insert(member)
            if !list.isEmpty { list.insert(member, at: Int.random(in: 0..<list.count, using: &random)) }
        case 12:
            guard let owner = pick() else { return }
            let list = [owner.children, owner.follows, owner.followers, owner.friends].randomElement(using: &random)!
            guard let member = list.randomElement(using: &random) else { return }
            list.remove(member)
        case 13: pick()?.key = key()
        case 14: pick()?.other = key()
        default:
            guard let node = pick() else { return }
            node.key = key()
            node.follows.removeAll()
        }
    }

    fileprivate func findings() -> [String] {
        let snapshot = state.flushed
        var findings = snapshot.checkInvariants()
        snapshot.entities[0].rows.forEachRow { row, _, address in
            for toOne in snapshot.schema.entities[0].toOnes {
                guard let mate = toOne.mate else { continue }
                let target = toOne.target(ofRowAt: address)
                guard target != 0, let other = snapshot.entities[0].rows.address(of: target) else { continue }
                let back = snapshot.schema.entities[0].toOnes[mate].target(ofRowAt: other)
                if back != row { findings.append("\(row) refers to \(target), which refers to \(back)") }
            }
            // The object shows what the working state has.
            guard let object = self[Node.ID(row: row)] else {
                findings.append("\(row) has no object")
                return
            }
            let value = address.assumingMemoryBound(to: Node.self).pointee
            if object.value.next != value.next || object.value.previous != value.previous
                || object.value.spouse != value.spouse || object.value.parent != value.parent
                || object.value.key != value.key
            {
                findings.append("\(row) is shown otherwise")
            }
        }
        return findings
    }
}

enum ReviewOptions {
    static let seeds = UInt64(ProcessInfo.processInfo.environment["REVIEW_SEEDS"] ?? "") ?? 150
    static let counts = Mutex<[String: Int]>([:])
    static func count(_ what: String) { counts.withLock { $0[what, default: 0] += 1 } }
}

@Suite(.serialized) struct ReviewCounts {
    @Test func `what the random programs did`() async throws {
        try await Task.sleep(for: .seconds(ReviewOptions.seeds > 150 ? 100 : 1))
        print("REVIEW", ReviewOptions.counts.withLock { $0 })
    }
}
