import Testing

@testable import Graph

struct CommittedMismatchTests {
    @Test func `R14 a save through a property of the program's own leaves a store that can be opened`() async throws {
        let disk = SimulatedDisk()
        func open() async throws -> Coordinator {
            try await Coordinator(
                Schema([EntityDescription(Student.self), EntityDescription(Course.self), EntityDescription(Locker.self),
                    EntityDescription(Lecture.self), EntityDescription(Paper.self), EntityDescription(Hall.self)]),
                path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(seed: 1))
        }
        let coordinator = try await open()
        try await Context(coordinator).transaction { context in
            let ada = context.insert(Student(name: "Ada"))
            let locker = context.insert(Locker(number: 1))
            ada.lockerID = locker.id
            _ = try context.fetch(Student.self)
            locker.number = 7
            _ = ada.locker?.id
        }
        #expect(coordinator.check() == [])
        try await coordinator.close()
        let reopened = try await open()
        #expect(reopened.check() == [])
    }
}
