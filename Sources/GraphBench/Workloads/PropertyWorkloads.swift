extension Workload {
    /// How often a run walks through how many objects: few enough to stay in the cache.
    enum Properties {
        static let objects = 100
        static let rounds = 20_000
        static var accesses: Int { objects * rounds }
    }

    static let propertyWorkloads: [Workload] = [
        Workload(
            "property_read", "a property of an object in the cache", unit: .seconds(per: "access"),
            targets: [.within(2.5, .native)], sqlite: nil,
            native: { setting in
                let peer = NativePeer(loaded: PeopleData(rows: Properties.objects))
                let people = (0..<Properties.objects).compactMap { peer.people[$0] }
                return timed(count: Properties.accesses) {
                    return (0..<Properties.rounds).reduce(0) { sum, _ in sumOfAges(people, onto: sum) }
                }
            }),
        Workload(
            "property_write", "the same written", unit: .seconds(per: "access"), targets: [.within(5, .native)],
            sqlite: nil,
            native: { setting in
                let peer = NativePeer(loaded: PeopleData(rows: Properties.objects))
                let people = (0..<Properties.objects).compactMap { peer.people[$0] }
                return { run in
                    let stopwatch = Stopwatch()
                    for round in 0..<Properties.rounds { setAges(people, to: round + run) }
                    let seconds = stopwatch.seconds
                    return Measurement(
                        amount: seconds, count: Properties.accesses, answer: sumOfAges(people, onto: 0))
                }
            }),
    ]

    // Calls that are not inlined keep the rounds apart, and a sum that each round takes from the one before keeps the
    // optimiser from doing one round for all.

    @inline(never)
    private static func sumOfAges(_ people: [NativePerson], onto start: UInt64) -> UInt64 {
        var sum = start
        for person in people { sum &+= UInt64(truncatingIfNeeded: person.age) }
        return sum
    }

    @inline(never)
    private static func setAges(_ people: [NativePerson], to age: Int) {
        for person in people { person.age = age }
    }
}
