extension Workload {
    /// Every workload, in the order of the report.
    static let all: [Workload] =
        footprintWorkloads + insertWorkloads + commitWorkloads + readWorkloads + traversalWorkloads + linkWorkloads
        + predicateWorkloads + changeWorkloads + conditionWorkloads + contextWorkloads + liveWorkloads
        + readWhileWritingWorkloads
        + packageWorkloads + reopenWorkloads + historyWorkloads + followingWorkloads
        + propertyWorkloads
        + codableWorkloads + exchangeWorkloads + limitWorkloads

    /// The suites and the workloads, for people.
    static func list(_ workloads: [Workload]) -> String {
        let width = (workloads.map(\.name.count) + Suite.allCases.map(\.rawValue.count)).max() ?? 0
        func line(_ name: String, _ text: String) -> String {
            "  \(name)\(String(repeating: " ", count: width - name.count))  \(text)"
        }
        func lines(_ group: Group) -> [String] {
            workloads.filter { $0.group == group }.map { workload in
                let note = workload.note.map { " (\($0))" } ?? ""
                return line(workload.name, "\(workload.summary)\(note), \(workload.unit.name)")
            }
        }
        let suites = Suite.allCases.map { line($0.rawValue, $0.summary) }
        return
            (["suites"] + suites + ["", "workloads, in every suite"] + lines(.store)
            + ["", "raw limits of the machine, in the suites quick and full"] + lines(.limit))
            .joined(separator: "\n")
    }
}
