/// Many objects, visited in random order.
final class LimitObjects {
    /// As large as a row of a few properties.
    private final class Object {
        let payload: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

        init(_ number: UInt64) {
            payload = (number, 0, 0, 0, 0, 0)
        }
    }

    /// Each is retained once, which `deinit` undoes.
    private let objects: [Unmanaged<Object>]

    init() {
        var random = SplitMix64(seed: 0x7265_7461_696E)
        objects = (0..<Workload.Limits.objects).map { Unmanaged.passRetained(Object(UInt64($0))) }
            .shuffled(using: &random)
    }

    deinit {
        for object in objects { object.release() }
    }

    var count: UInt64 { UInt64(objects.count) }

    /// Visits other objects in each run than in the run before, as far as there are more.
    func retainAndRelease(run: Int) {
        let start = run * Workload.Limits.retains
        for position in start..<start + Workload.Limits.retains {
            let object = objects[position % objects.count]
            Self.retain(object)
            Self.release(object)
        }
    }

    // Calls that are not inlined keep the optimiser from pairing the two.

    @inline(never)
    private static func retain(_ object: Unmanaged<Object>) {
        _ = object.retain()
    }

    @inline(never)
    private static func release(_ object: Unmanaged<Object>) {
        object.release()
    }
}
