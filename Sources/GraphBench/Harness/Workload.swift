/// One row of the report: a piece of work that up to three contenders do on the same data.
struct Workload: Sendable {
    /// What the figures are: smaller is better for both.
    enum Unit: Sendable {
        case seconds(per: String)
        case bytes(per: String)
        /// Rows that were looked at.
        case rows(per: String)

        var name: String {
            switch self {
            case .seconds(let per), .bytes(let per): "per \(per)"
            case .rows(let per): "rows per \(per)"
            }
        }

        /// What is counted, and per what, for programs.
        var line: String {
            switch self {
            case .seconds: "seconds \(name)"
            case .bytes: "bytes \(name)"
            case .rows: name
            }
        }

        /// The word for the side with the smaller figure.
        var praise: String {
            switch self {
            case .seconds: "fast"
            case .bytes: "small"
            case .rows: "few"
            }
        }

        /// A figure as people read it.
        func text(_ figure: Double) -> String {
            switch self {
            case .seconds: Figures.seconds(figure)
            case .bytes: Figures.bytes(figure)
            case .rows: Figures.rows(figure)
            }
        }
    }

    enum Group: Sendable {
        /// What a store does.
        case store
        /// What the machine can do at best, which only the native side measures.
        case limit
    }

    /// Runs the work once; the argument counts the runs from 0, which is the warm-up.
    typealias Trial = (_ run: Int) async throws -> Measurement

    /// Gets ready, which is not timed, and returns what is.
    typealias Contender = @Sendable (Setting) async throws -> Trial

    let name: String
    let summary: String
    /// Where sides differ in what they do: nobody should read the figures without it.
    let note: String?
    let unit: Unit
    let targets: [Target]
    let group: Group
    /// How much the figure may grow with the number of people, where no peer says it.
    let growthLimit: Double?
    let baseline: Baseline
    /// Whether the store stays as it is, so that a run may be made of many passes.
    let isReading: Bool
    var engine: Contender?
    let sqlite: Contender?
    /// What ``baseline`` says.
    let native: Contender?

    init(
        _ name: String, _ summary: String, note: String? = nil, unit: Unit, targets: [Target], group: Group = .store,
        growthLimit: Double? = nil, baseline: Baseline = .native, isReading: Bool = false, sqlite: Contender?,
        native: Contender?
    ) {
        self.name = name
        self.summary = summary
        self.note = note
        self.unit = unit
        self.targets = targets
        self.group = group
        self.growthLimit = growthLimit
        self.baseline = baseline
        self.isReading = isReading
        self.sqlite = sqlite
        self.native = native
    }

    /// Whether a side is somebody else than Graph, to compare with.
    func isPeer(_ side: Side) -> Bool {
        switch side {
        case .engine: false
        case .sqlite: true
        case .native: baseline == .native
        }
    }

    func contender(for side: Side) -> Contender? {
        switch side {
        case .engine: engine
        case .sqlite: sqlite
        case .native: native
        }
    }
}
