extension FileHistory {
    /// The figures with their targets, and a line for each compaction.
    var report: String {
        ([summary] + (compactions.isEmpty ? ["no compaction"] : [table])).joined(separator: "\n\n")
    }

    var verdicts: [Target.Verdict] {
        [
            largestBytes <= sizeLimitBytes ? .met : .missed,
            largestDiskBytes <= diskLimitBytes ? .met : .missed,
            compactions.isEmpty ? .unknown : longestPause <= Self.pauseSeconds ? .met : .missed,
        ]
    }

    private var summary: String {
        let perUpdate = writtenBytes.map { Figures.bytes(Double($0) / Double(max(1, updates))) } ?? "–"
        let names = verdicts.map(\.rawValue)
        func factor(_ bytes: Int) -> String {
            "\(Figures.bytes(Double(bytes))), \(Figures.factor(Double(bytes) / Double(max(1, baseBytes))))"
        }
        return TextTable.text(
            head: ["figure", "", "target", ""],
            rows: [
                ["updates", "\(Figures.count(updates)) in \(Figures.seconds(seconds))", "–", ""],
                [
                    "a fresh file, before and after",
                    "\(Figures.bytes(Double(freshBytes))), \(Figures.bytes(Double(finalBytes)))", "–", "",
                ],
                ["the largest file", factor(largestBytes), "≤ \(factor(sizeLimitBytes))", names[0]],
                ["the most on disk", factor(largestDiskBytes), "≤ \(factor(diskLimitBytes))", names[1]],
                ["records of an update", Figures.bytes(Double(changedBytes) / Double(max(1, updates))), "–", ""],
                ["written for an update", perUpdate, "–", ""],
                ["written for a byte of a record", amplification.map(Figures.factor) ?? "–", "–", ""],
                ["compactions", Figures.count(compactions.count), "–", ""],
                [
                    "the longest pause", Figures.seconds(longestPause),
                    "≤ \(Figures.secondsLimit(Self.pauseSeconds))", names[2],
                ],
                ["the slowest commit outside of compactions", Figures.seconds(slowestCommit(during: nil)), "–", ""],
            ])
    }

    private var table: String {
        TextTable.text(
            head: [
                "compaction", "at", "took", "pause", "seal", "rename", "slowest sync", "slowest commit", "old file",
                "new file", "copied",
            ],
            rows: compactions.enumerated().map { number, compaction in
                [
                    "\(number + 1)", Figures.seconds(compaction.begin),
                    Figures.seconds(compaction.end - compaction.begin), Figures.seconds(compaction.pauseSeconds),
                    Figures.seconds(compaction.sealSeconds), Figures.seconds(compaction.renameSeconds),
                    Figures.seconds(compaction.syncSeconds), Figures.seconds(slowestCommit(during: compaction)),
                    Figures.bytes(Double(compaction.oldBytes)), Figures.bytes(Double(compaction.newBytes)),
                    Figures.bytes(Double(compaction.copiedBytes)),
                ]
            })
    }
}
