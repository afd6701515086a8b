/// How long each of many pieces of work took, in buckets of a thirty-second of their power of two: as much memory for a thousand as for
/// a billion (the layout of Tene's HdrHistogram).
struct LatencyHistogram: Sendable {
    private static let (bits, buckets) = (5, 64 << 5)

    private var counts = [Int](repeating: 0, count: buckets)
    private(set) var count = 0
    private(set) var maximum = 0.0

    mutating func add(seconds: Double) {
        counts[Self.bucket(of: UInt64(max(0, seconds) * 1e9))] += 1
        count += 1
        maximum = max(maximum, seconds)
    }

    mutating func add(_ other: LatencyHistogram) {
        for bucket in counts.indices { counts[bucket] += other.counts[bucket] }
        count += other.count
        maximum = max(maximum, other.maximum)
    }

    /// The seconds that a share of the work took at most, at most a thirty-second too high; 0 of none.
    func quantile(_ share: Double) -> Double {
        var left = Int((Double(count) * share).rounded(.up))
        for (bucket, count) in counts.enumerated() {
            left -= count
            if left <= 0 { return min(maximum, Double(Self.limit(of: bucket)) / 1e9) }
        }
        return maximum
    }

    private static func bucket(of nanoseconds: UInt64) -> Int {
        let exponent = max(0, 63 - nanoseconds.leadingZeroBitCount - bits)
        return exponent << bits + Int(nanoseconds >> UInt64(exponent))
    }

    /// The least number of nanoseconds that is in a later bucket.
    private static func limit(of bucket: Int) -> UInt64 {
        let exponent = max(0, bucket >> bits - 1)
        return UInt64(bucket - exponent << bits + 1) << UInt64(exponent)
    }
}
