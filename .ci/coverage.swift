// Prints how much of the engine the tests have run, folder by folder, from the file that `swift test --enable-code-coverage` writes.
// Fails if it is less than is asked of what reads and writes files.
//
// A region is a piece of code that runs as a whole: what is behind `??`, in a branch or in a closure is one of its own.

import Foundation

struct Coverage: Decodable {
    struct Export: Decodable { let files: [File] }
    struct Counts: Decodable {
        var count = 0
        var covered = 0

        var percent: Double { count == 0 ? 100 : 100 * Double(covered) / Double(count) }

        mutating func add(_ other: Counts) {
            count += other.count
            covered += other.covered
        }
    }
    struct Summary: Decodable {
        let regions: Counts
        let lines: Counts
    }
    struct File: Decodable {
        let filename: String
        let summary: Summary
    }

    let data: [Export]
}

/// Journal, recovery and decoders, as regions in hundreds.
let required = (folders: ["Journal", "Records"], percent: 95.0)

let path = CommandLine.arguments[1]
let coverage = try JSONDecoder().decode(Coverage.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
var (regions, lines) = ([String: Coverage.Counts](), [String: Coverage.Counts]())
var files: [(name: String, regions: Coverage.Counts)] = []
for file in coverage.data.flatMap(\.files) {
    guard let sources = file.filename.range(of: "/Sources/Graph/") else { continue }
    let name = String(file.filename[sources.upperBound...])
    let folder = String(name.prefix { $0 != "/" })
    regions[folder, default: .init()].add(file.summary.regions)
    lines[folder, default: .init()].add(file.summary.lines)
    files.append((name, file.summary.regions))
}

func text(_ percent: Double) -> String { String(format: "%5.1f %%", percent) }

print("folder             regions      lines")
for folder in regions.keys.sorted() {
    let counts = (regions[folder] ?? .init(), lines[folder] ?? .init())
    let name = folder.padding(toLength: 16, withPad: " ", startingAt: 0)
    print(name, text(counts.0.percent), "  ", text(counts.1.percent))
}
print("\nThe files of which least has run:")
for file in files.sorted(by: { $0.regions.percent < $1.regions.percent }).prefix(20) {
    print(text(file.regions.percent), file.name)
}
var counts = Coverage.Counts()
for folder in required.folders { counts.add(regions[folder] ?? .init()) }
print("\n\(required.folders.joined(separator: " and ")) together: \(text(counts.percent)) of \(counts.count) regions")
exit(counts.count > 0 && counts.percent >= required.percent ? 0 : 1)
