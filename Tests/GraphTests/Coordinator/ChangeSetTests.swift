import Testing

@testable import Graph

struct ChangeSetTests {
    @Test func `reading changes keeps no reference to them`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var changes = ChangeSet(schema: schema)
        func note(_ row: RowNumber) {
            withUnsafePointer(to: Person(name: "Ada")) {
                _ = changes[1].detachedBases.set(row, version: .none, copying: $0)
            }
        }
        note(1)
        changes[1].set(1, .updated, baseVersion: .none)
        let before = changes[1].detachedBases.address(of: 1)
        for _ in 0..<10 {
            #expect(changes[1].kind(of: 1) == .updated)
            #expect(changes[0].kind(of: 1) == nil)
            for (_, changes) in changes.entities where changes.hasDeletes { Issue.record("\(changes)") }
        }
        // Nobody else refers to the leaf, so that it is changed where it is.
        note(2)
        #expect(before != nil)
        #expect(changes[1].detachedBases.address(of: 1) == before)
    }
}
