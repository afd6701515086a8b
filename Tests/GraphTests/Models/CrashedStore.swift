@testable import Graph

/// What is left of a store of teams after a crash, and what must come of opening it.
struct CrashedStore {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// What an opening found.
    struct Outcome {
        let number: Int
        /// Whether there was no store.
        let wasCreated: Bool
        /// In the words of a histogram.
        let name: String
    }

    /// The digest after each commit that may be found.
    let digests: [UInt64]

    /// Opens what is left, and asks for the state after one of the commits, none of which that was acknowledged is missing;
    /// saves once more and opens the store again.
    func open(_ medium: Medium, acknowledged: Int) throws -> Outcome {
        let disk = SimulatedDisk(medium)
        var store = try TeamStore(disk, seed: 9)
        let outcome = try check(store, acknowledged: acknowledged, leftovers: disk.names)
        let digest = try store.commitTeam()
        disk.killProcess()
        let again = try TeamStore(disk, seed: 8)
        guard again.number == outcome.number + 1, again.snapshot.digest == digest else {
            throw Failure("commit \(outcome.number + 1), saved after the crash, is not there any more")
        }
        // Equal disks count as one whatever is in leftovers.
        for (name, inode) in medium.names where name.text.contains(".new-") {
            if disk.trace.contains(where: { $0.hasPrefix("read \(inode) ") }) { throw Failure("\(name.text) was read") }
        }
        return outcome
    }

    func check(_ store: TeamStore, acknowledged: Int, leftovers names: [String]) throws -> Outcome {
        let number = store.number
        try check(store.snapshot, acknowledged: acknowledged)
        if store.wasCreated, acknowledged >= 0 { throw Failure("the store was made anew") }
        if let leftover = names.first(where: { $0.contains(".new-") }) { throw Failure("\(leftover) was left over") }
        let kinds = Set(store.diagnostics.map { "\($0.kind)" }).sorted().joined(separator: " and ")
        let surplus = number - acknowledged
        let name = store.wasCreated ? "made anew" : surplus == 0 ? "acknowledged" : "more than acknowledged"
        return Outcome(
            number: number, wasCreated: store.wasCreated, name: kinds.isEmpty ? name : "\(name) with \(kinds)")
    }

    func check(_ snapshot: Snapshot, acknowledged: Int) throws {
        let number = Int(snapshot.commit.number)
        guard number >= acknowledged else {
            throw Failure("commit \(number) is the last one, and \(acknowledged) was acknowledged")
        }
        guard digests.indices.contains(number), snapshot.digest == digests[number] else {
            throw Failure("the state of commit \(number) is not what it was")
        }
        let findings = snapshot.check()
        guard findings.isEmpty else { throw Failure("\(findings)") }
    }

    /// Reads what is left, which changes nothing, and finds nothing that opening does not find.
    func read(_ medium: Medium, found: Int) throws {
        let disk = SimulatedDisk(medium)
        let snapshot: Snapshot
        do throws(GraphError) {
            snapshot = try TeamStore.read(disk)
        } catch {
            if case .unusableFile(_, "there is no file") = error { return }
            throw error
        }
        try check(snapshot, acknowledged: 0)
        guard snapshot.commit.number <= found, disk.medium.fingerprint == medium.fingerprint else {
            throw Failure("reading found commit \(snapshot.commit), and opening \(found)")
        }
    }

    /// Opens what is left with a coordinator, which saves, compacts and saves again.
    ///
    /// - Parameter disk: of the remains.
    /// - Returns: the digest after each commit by now.
    func goOn(_ disk: SimulatedDisk, found: Int) async throws -> [UInt64] {
        let coordinator = try await Coordinator.people(on: disk, seed: 9)
        try check(coordinator.snapshot, acknowledged: found)
        guard Int(coordinator.snapshot.commit.number) == found else {
            throw Failure("a coordinator found commit \(coordinator.snapshot.commit), not \(found)")
        }
        disk.acknowledge(found)
        var digests = Array(self.digests.prefix(found + 1))
        for name in ["before", "after"] {
            try await Context(coordinator).transaction { _ = $0.insert(Team(name: name)) }
            digests.append(coordinator.snapshot.digest)
            disk.acknowledge(digests.count - 1)
            if name == "before" { try await coordinator.compact() }
        }
        try await coordinator.close()
        _ = try? disk.status(StorePath(JournalFixture.path))
        return digests
    }
}
