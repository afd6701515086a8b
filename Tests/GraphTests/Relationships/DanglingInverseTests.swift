import Testing

@testable import Graph

/// R12: one to one, a reference that leads nowhere yet and the object that it is to lead to.
struct DanglingInverseTests {
    @Test(.bug(id: "half a pair", "a commit had one end of a one-to-one relationship without the other"))
    func `R12 a reference to what a transaction is about to insert has its other end, whatever gives way`() async throws
    {
        let coordinator = try await Coordinator(for: Record.self, Sheet.self, Line.self, Tab.self, Seal.self)
        let record = try await coordinator.transaction { $0.insert(Record(key: "a")).id }
        for policy in [
            MergePolicy.error, .rollback, .overwrite, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump,
        ] {
            let context = Context(coordinator)
            try? await context.transaction(mergePolicy: policy) { inner in
                let tab = inner.insert(Tab(text: "a"))
                tab.record = inner[record]
                let id = tab.id
                await context.perform { outer in
                    outer[record]?.label = ToOne(id)
                }
            }
            #expect(coordinator.check() == [], "\(policy)")
            try await coordinator.transaction { $0[record]?.label = nil }
        }
    }
}
