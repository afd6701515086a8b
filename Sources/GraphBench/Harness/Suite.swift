/// Which sizes are measured.
enum Suite: String, CaseIterable, Sendable {
    /// What a change is tried with.
    case quick
    /// What targets are about.
    case full
    /// The same work on more and more rows.
    case growth

    /// The numbers of people, smallest first.
    var sizes: [Int] {
        switch self {
        case .quick: [100_000]
        case .full: [1_000_000]
        case .growth: [10_000, 100_000, 1_000_000]
        }
    }

    var summary: String {
        switch self {
        case .quick, .full: "\(Figures.count(sizes[0])) people, the raw limits among it"
        case .growth: "how figures grow over \(sizes.map(Figures.count).joined(separator: "; ")) people"
        }
    }

    /// The raw limits do not depend on the number of people.
    func includes(_ workload: Workload) -> Bool {
        self != .growth || workload.group == .store
    }
}
