import Foundation

/// A bug of `Tests/PlantedBugs.txt`; that file says what a bug consists of. `.ci/bugs.swift` is built with this file, too.
struct PlantedBug {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    let name: String
    /// In `Sources/Graph`.
    let file: String
    let before: String
    let after: String
    /// `test` and a filter, or `campaign`, a kind and so many seeds.
    let finder: [String]

    static func list(_ text: String) throws -> [PlantedBug] {
        try text.components(separatedBy: "\n\n").compactMap { part in
            let lines = part.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
            guard !lines.isEmpty else { return nil }
            guard lines.count == 5, zip(lines[2...], ["- ", "+ ", "> "]).allSatisfy({ $0.hasPrefix($1) }) else {
                throw Malformed(description: "this is no bug: \(lines)")
            }
            let texts = lines[2...].map { $0.dropFirst(2).replacingOccurrences(of: "⏎", with: "\n") }
            let finder = texts[2].split(separator: " ").map(String.init)
            guard finder.first == "test" && finder.count == 2 || finder.first == "campaign" && finder.count == 3,
                texts[1].contains("BUG")
            else { throw Malformed(description: "this is no bug: \(lines)") }
            return PlantedBug(name: lines[0], file: lines[1], before: texts[0], after: texts[1], finder: finder)
        }
    }

    /// The source of a file with some of its bugs in it.
    ///
    /// - Parameter condition: is true while a bug is planted.
    static func plant(
        _ bugs: [PlantedBug], in source: String, if condition: (PlantedBug) -> String
    ) throws -> String {
        let places = try bugs.map { (bug: $0, range: try $0.range(in: source)) }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        for (place, next) in zip(places, places.dropFirst()) where place.range.overlaps(next.range) {
            throw Malformed(description: "one place has two bugs: \(place.bug.name); \(next.bug.name)")
        }
        var (result, end) = ("", source.startIndex)
        for (bug, range) in places {
            result += source[end..<range.lowerBound]
            result += bug.after.replacingOccurrences(of: "BUG", with: condition(bug))
            end = range.upperBound
        }
        return result + source[end...]
    }

    private func range(in source: String) throws -> Range<String.Index> {
        let ranges = source.ranges(of: before)
        guard ranges.count == 1 else {
            throw Malformed(description: "\(name): \(file) has \(ranges.count) times: \(before)")
        }
        return ranges[0]
    }
}
