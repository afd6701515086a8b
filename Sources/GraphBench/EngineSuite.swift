/// What the engine under test contributes: its side of the workloads, the WordNet check, and the random updates.
struct EngineSuite: Sendable {
    /// Loads parsed files into a store at a path, reopens it and returns what the store says about them.
    typealias WordNetCheck = @Sendable (WordNetFiles, _ path: String, ProgressLine) async throws -> WordNetStoreReport

    /// Makes a store with people at a path, updates them at random and returns what became of the file.
    typealias UpdatesRun = @Sendable (FileHistory, _ path: String, ProgressLine) async throws -> FileHistory

    /// Works on a store for some time and returns what was seen; tells of each second, with the commits before it.
    typealias SoakRun =
        @Sendable (SoakSetting, _ show: @Sendable (SoakReport.Sample, Int) -> Void) async throws -> SoakReport

    /// By the name of the workload, except those that measure memory.
    var contenders: [String: Workload.Contender] = [:]
    /// What makes the stores whose memory is measured, by the name of the workload.
    var footprints: [String: FootprintProcess.Load] = [:]
    var wordNet: WordNetCheck?
    var updates: UpdatesRun?
    var soak: SoakRun?

    /// The workloads with the engine's side filled in.
    ///
    /// - Precondition: every contender has a workload of its name.
    func joined(to workloads: [Workload]) -> [Workload] {
        var contenders = contenders
        for name in footprints.keys { contenders[name] = FootprintProcess.contender(.engine, name) }
        let names = Set(workloads.map(\.name))
        let strangers = contenders.keys.filter { !names.contains($0) }
        precondition(strangers.isEmpty, "no workloads for \(strangers.sorted())")
        return workloads.map { workload in
            var workload = workload
            workload.engine = contenders[workload.name]
            return workload
        }
    }
}
