import Testing

@testable import Graph

/// What can be had of files that are damaged anywhere: the new file is sound, each object in it is as it once was, and no object is
/// lost whose records are all there, but for those that the report names.
struct SalvageSweepTests {
    /// A file with a checkpoint and commits behind it.
    private func file(seed: UInt64, length: Int = 45) async throws -> SalvagedFile {
        for seed in (seed * 1_000)... {
            let file = try await SalvagedFile.random(seed: seed, length: length)
            let commits = file.records.count { $0.kind == 2 }
            if file.records.contains(where: { $0.kind == 3 }), commits > 4, file.last.entities[0].rows.count > 1 {
                return file
            }
        }
        throw CancellationError()
    }

    /// Returns whether something could be had; without a schema nothing can.
    @discardableResult
    private func check(_ file: SalvagedFile, _ damaged: [UInt8], at place: Range<Int>, _ what: String) async throws
        -> Bool
    {
        let outcome: SalvagedFile.Outcome
        do {
            outcome = try await SalvagedFile.salvage(damaged)
        } catch let error as GraphError {
            let isSchemaLost = file.records.allSatisfy { $0.kind != 1 || $0.range.overlaps(place) }
            #expect(isSchemaLost, "\(what): \(error)")
            return false
        }
        let mistakes = file.mistakes(in: outcome, damagedAt: place)
        #expect(mistakes == [], "\(what): \(outcome.salvage.losses)")
        return true
    }

    @Test(arguments: UInt64(1)...3) func `a bit that flips anywhere costs only what is there`(seed: UInt64) async throws
    {
        let file = try await file(seed: seed)
        var random = SeededGenerator(seed: seed)
        var salvaged = 0
        for start in stride(from: 0, to: file.bytes.count, by: 24)
        where (start > 8_100 || start % 1_000 == 0) && Sweep.tries(start / 24) {
            let place = min(start + random.number(below: 24), file.bytes.count - 1)
            var damaged = file.bytes
            damaged[place] ^= 1 << UInt8(random.number(below: 8))
            if try await check(file, damaged, at: place..<(place + 1), "byte \(place)") { salvaged += 1 }
        }
        #expect(salvaged > Sweep.least(60))
    }

    @Test func `no object mixes the values of two moments, whichever commit is lost`() async throws {
        let file = try await SalvagedFile.make { store in
            let ids = try await store.transaction { context in
                (0..<4).map { context.insert(Person(name: "\($0)")).id }
            }
            for number in 1...40 {
                try await store.transaction { context in
                    let person = context[ids[number % 4]]
                    switch number / 4 % 3 {
                    case 0: person?.name = "n\(number)"
                    case 1: person?.age = number
                    default: person?.email = "e\(number)"
                    }
                }
            }
        }
        for number in UInt64(1)...40 {
            let index = try #require(file.states.firstIndex { $0.commit.number == number })
            try await check(
                file, try file.damaged(commit: number), at: file.records[index].range, "without commit \(number)")
        }
    }

    @Test func `zeros, lost bytes and bytes that came in cost only what is there`() async throws {
        for seed in UInt64(4)...6 {
            let file = try await file(seed: seed)
            var random = SeededGenerator(seed: seed)
            for round in 0..<120 where Sweep.tries(round) {
                let start = 8_192 + random.number(below: file.bytes.count - 8_192)
                let end = min(
                    file.bytes.count, start + 1 + random.number(below: [8, 64, 600, 4_096][random.number(below: 4)]))
                var (zeroed, shorter, longer) = (file.bytes, file.bytes, file.bytes)
                for index in start..<end { zeroed[index] = 0 }
                shorter.removeSubrange(start..<end)
                longer.insert(
                    contentsOf: (start..<end).map { _ in UInt8(truncatingIfNeeded: random.next()) }, at: start)
                try await check(file, zeroed, at: start..<end, "zeros in \(start..<end)")
                try await check(file, shorter, at: start..<end, "without \(start..<end)")
                try await check(file, longer, at: start..<(start + 1), "\(end - start) more at \(start)")
            }
        }
    }

    @Test func `of a file that is cut anywhere all is had that was before`() async throws {
        let file = try await file(seed: 7)
        for length in stride(from: 0, to: file.bytes.count, by: 61) where Sweep.tries(length / 61) {
            let isThere = try await check(
                file, Array(file.bytes[..<length]), at: length..<file.bytes.count, "cut at \(length)")
            #expect(isThere == (length >= file.records[0].range.upperBound - 7))
        }
    }

    @Test func `of a file that is cut behind any record the report says that something is missing, or may be`()
        async throws
    {
        let file = try await file(seed: 7)
        let seal = try #require(file.records.firstIndex { $0.kind == 6 })
        for (number, record) in file.records.enumerated().dropLast() {
            let salvage = try await SalvagedFile.salvage(Array(file.bytes[..<record.range.upperBound])).salvage
            let isRemarked = salvage.remarks.contains { $0.contains("nobody can know whether there were more") }
            #expect(salvage.losses.isEmpty == (number >= seal), "cut behind record \(number + 1)")
            // A file that was made and never written to ends like that, and one that was closed there.
            #expect(isRemarked == (number > seal && record.kind != 5), "cut behind record \(number + 1)")
        }
        let whole = try await SalvagedFile.salvage(file.bytes).salvage
        #expect(whole.losses == [] && whole.remarks == [])
    }

    @Test func `several damages at once, headers included, cost no more than each of them`() async throws {
        for seed in UInt64(8)...10 {
            let file = try await file(seed: seed)
            var random = SeededGenerator(seed: seed)
            for round in 0..<60 where Sweep.tries(round) {
                var damaged = file.bytes
                // The first two records say what the others are.
                let commits = file.records.indices.dropFirst(2)
                var kept = commits.filter { _ in random.chance(2) }
                if kept.isEmpty { kept = [commits.lowerBound] }
                for index in commits where !kept.contains(index) {
                    damaged[file.records[index].range.lowerBound + 20] ^= 16
                }
                for copy in [0, 4_096] where random.chance(2) { damaged[copy + random.number(below: 4_096)] ^= 1 }
                let outcome = try await SalvagedFile.salvage(damaged)
                #expect(outcome.snapshot.check() == [])
                // Nothing is said of what the damage touched.
                let mistakes = file.mistakes(in: outcome, damagedAt: 8_192..<file.bytes.count)
                #expect(mistakes == [], "\(outcome.salvage.losses)")
            }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
