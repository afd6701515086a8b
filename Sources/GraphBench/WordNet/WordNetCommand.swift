import Foundation

/// `GraphBench wordnet`: a real graph, through a store and back.
struct WordNetCommand {
    let source: String
    let options: Options
    let check: EngineSuite.WordNetCheck?

    /// Where the store stays, if it does; until it is complete it is in a folder that an interruption removes.
    private var kept: String? { options.directory.map { "\($0)/wordnet.graph" } }

    /// - Returns: 1 when a figure differs from what is known, 2 when the store would take the place of another.
    func run() async throws -> Int32 {
        if let kept, FileManager.default.fileExists(atPath: kept) {
            GraphBench.complain("\(kept) exists and is left as it is; remove it or choose another folder")
            return 2
        }
        let progress = ProgressLine()
        progress.show("reading \(source)")
        let parsing = Stopwatch()
        let files = try WordNetFiles(directory: source)
        let parsed = parsing.seconds
        let fromFiles = WordNetFigures(files)
        progress.clear()
        print("\(source): read in \(Figures.seconds(parsed))")
        guard let check else {
            return compare("the files", fromFiles)
        }
        let wrongFiles = compare("the files", fromFiles)

        let directory = try WorkDirectory(in: options.directory)
        defer { directory.remove() }
        let path = "\(directory.path)/wordnet.graph"
        let report = try await check(files, path, progress)
        progress.clear()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        print("\nloaded in \(Figures.seconds(report.loadSeconds)), \(Figures.bytes(size?.doubleValue ?? 0)) on disk")
        print("reopened in \(Figures.seconds(report.reopenSeconds)), asked in \(Figures.seconds(report.querySeconds))")
        if let memory = Platform.residentBytes { print("\(Figures.bytes(Double(memory))) resident") }
        let wrongStore = compare("the reopened store", report.figures)
        if let kept {
            try FileManager.default.moveItem(atPath: path, toPath: kept)
            print("\nthe store is \(kept)")
        }
        return max(wrongFiles, wrongStore)
    }

    /// Prints every figure, and loudly those that differ.
    private func compare(_ origin: String, _ figures: WordNetFigures) -> Int32 {
        print("\nfrom \(origin):")
        var wrong = 0
        for (figure, known) in zip(figures.named, WordNetFigures.known.named) {
            let isRight = figure.value == known.value
            if !isRight { wrong += 1 }
            let note = isRight ? "" : "  WRONG: \(Figures.count(known.value)) are known"
            print("  \(Figures.count(figure.value)) \(figure.name)\(note)")
        }
        if wrong == 0 { return 0 }
        GraphBench.complain("\(wrong) FIGURES OF WORDNET DIFFER, from \(origin)")
        return 1
    }
}
