import Graph

/// The engine's side of ``Workload/propertyWorkloads``.
enum EngineProperty {
    static let contenders: [String: Workload.Contender] = [
        "property_read": { _ in
            let store = try await EngineStore.inMemory(PeopleData(rows: Workload.Properties.objects))
            let context = Context(store.coordinator)
            return { _ in try await context.readAges(of: store.people) }
        },
        "property_write": { _ in
            let store = try await EngineStore.inMemory(PeopleData(rows: Workload.Properties.objects))
            let context = Context(store.coordinator)
            return { run in try await context.writeAges(of: store.people, run: run) }
        },
    ]

    // Kept apart for the reasons that the native side gives.

    @inline(never)
    fileprivate static func sumOfAges(_ people: [ManagedObject<Person>], onto start: UInt64) -> UInt64 {
        var sum = start
        for person in people { sum &+= UInt64(truncatingIfNeeded: person.age) }
        return sum
    }

    @inline(never)
    fileprivate static func setAges(_ people: [ManagedObject<Person>], to age: Int) {
        for person in people { person.age = age }
    }
}

extension Context {
    /// Reads a property of objects in hand again and again.
    func readAges(of ids: [Person.ID]) throws -> Measurement {
        let people = ids.compactMap { self[$0] }
        var sum: UInt64 = 0
        let stopwatch = Stopwatch()
        for _ in 0..<Workload.Properties.rounds {
            sum = EngineProperty.sumOfAges(people, onto: sum)
        }
        return Measurement(amount: stopwatch.seconds, count: Workload.Properties.accesses, answer: sum)
    }

    /// Writes a property of objects in hand again and again; nothing is saved.
    func writeAges(of ids: [Person.ID], run: Int) throws -> Measurement {
        let people = ids.compactMap { self[$0] }
        let stopwatch = Stopwatch()
        for round in 0..<Workload.Properties.rounds {
            EngineProperty.setAges(people, to: round + run)
        }
        let seconds = stopwatch.seconds
        let answer = EngineProperty.sumOfAges(people, onto: 0)
        return Measurement(amount: seconds, count: Workload.Properties.accesses, answer: answer)
    }
}
