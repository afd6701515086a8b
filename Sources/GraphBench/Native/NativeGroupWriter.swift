/// Objects that many tasks change, with one synchronisation for all changes that wait at the same time.
actor NativeGroupWriter {
    private let peer: NativePeer
    private let file: JournalFile
    private var changed: [PersonRow] = []
    private var waiting: [CheckedContinuation<Void, any Error>] = []
    private var isWriting = false

    /// The file has an actor of its own, so that changes gather while it waits for the medium.
    private actor JournalFile {
        private let journal: NativeJournal

        init(path: String) throws {
            journal = try NativeJournal(creating: path)
        }

        func commit(_ rows: [PersonRow]) throws {
            for row in rows { journal.append(row) }
            try journal.commit()
        }
    }

    init(path: String, loaded data: PeopleData) throws {
        peer = NativePeer(loaded: data)
        file = try JournalFile(path: path)
    }

    /// Returns when the change is on the medium.
    func commitBalance(_ balance: Double, id: Int) async throws {
        guard let person = peer.people[id] else { preconditionFailure("no person \(id)") }
        person.balance = balance
        let row = person.value
        if !isWriting {
            isWriting = true
            Task { await writeUntilIdle() }
        }
        try await withCheckedThrowingContinuation { continuation in
            changed.append(row)
            waiting.append(continuation)
        }
    }

    func balances(of ids: [Int]) -> UInt64 {
        peer.balances(of: ids)
    }

    private func writeUntilIdle() async {
        while !changed.isEmpty {
            let rows = changed
            let group = waiting
            changed = []
            waiting = []
            do {
                try await file.commit(rows)
                for continuation in group { continuation.resume() }
            } catch {
                for continuation in group { continuation.resume(throwing: error) }
            }
        }
        isWriting = false
    }
}
