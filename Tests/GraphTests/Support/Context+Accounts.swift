import Testing

@testable import Graph

extension Context {
    /// A new account, saved.
    func account(_ value: Account = Account()) async throws -> Account.ID {
        try await transaction { $0.insert(value).id }
    }

    func balance(of id: Account.ID) async -> Int? {
        await perform { $0[id]?.balance }
    }

    /// The conflicts that keep the context from saving.
    func conflictsOfSave() async -> [MergeConflict] {
        do {
            try await save()
            return []
        } catch .conflicts(let conflicts) {
            return Array(conflicts)
        } catch {
            Issue.record(error)
            return []
        }
    }
}
