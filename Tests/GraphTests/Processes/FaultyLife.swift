import Foundation
import Testing

/// The `ShortLife` of a program to which the system says no, and what another program finds afterwards.
struct FaultyLife {
    /// Which calls fail, and how.
    struct Fault: CustomStringConvertible {
        var call: String
        var fault: String
        var first = Int.max
        var last = Int.max
        var step = 1

        /// The library counts the calls, and lets none fail.
        static func none(_ call: String) -> Fault { Fault(call: call, fault: "EIO") }

        static func once(_ call: String, _ fault: String, _ number: Int) -> Fault {
            Fault(call: call, fault: fault, first: number, last: number)
        }

        static func forEver(_ call: String, _ fault: String, from number: Int) -> Fault {
            Fault(call: call, fault: fault, first: number)
        }

        var description: String {
            let numbers = last == first ? "call \(first)" : step == 1 ? "from call \(first) on" : "every \(step). call"
            return "\(fault) of \(call), \(numbers)"
        }
    }

    /// What it was told, line by line; see `ShortLife`.
    private(set) var lines: [String] = []
    private(set) var callCount = 0
    private(set) var failedCount = 0
    /// The file of the first call that failed: `store.graph`, `store.graph.lock`, `store.graph.new`, `folder` and the like.
    private(set) var failedFile = ""
    /// The saves that another program has found in the store, and in the copy: nil if there is none, or it does not open.
    private(set) var saves: [Int]?
    private(set) var copiedSaves: [Int]?
    private(set) var findings: [String] = []

    static let allSaves = Array(1...11)

    var refusals: [Substring] { lines.filter { $0.hasPrefix("refused ") }.map { $0.dropFirst("refused ".count) } }
    var confirmedSaves: [Int] {
        lines.filter { $0.hasPrefix("saved ") }.compactMap { Int($0.dropFirst("saved ".count)) }
    }

    /// Saves that may be there, and need not be.
    private var doubtfulSaves: [Int] {
        refusals.map { $0.split(separator: " ") }.filter { $0[1] == "outcomeUnknown" }.compactMap { Int($0[0]) }
    }

    /// - Parameter reader: a program to which the system does not say no. The other one still runs when it opens the store, so that
    ///   a lock that was not given back shows.
    init(_ fault: Fault, reader: StoreProcess) async throws {
        let folder = try TemporaryFolder()
        let program = try StoreProcess(preloading: try SystemFaults.library.get().path)
        let numbers = "\(fault.first) \(fault.last) \(fault.step)"
        guard try await program.run("fault \(folder.path) \(fault.call) \(fault.fault) \(numbers)") == "armed" else {
            throw SystemFaults.NotBuilt(description: "the library is not loaded, or does not know: \(fault)")
        }
        try program.send("live \(folder.path)")
        repeat {
            // A program that hangs is one that does not answer.
            guard let line = try? await program.answer(milliseconds: 120_000) else {
                findings.append("it has stopped, or hangs, behind: \(lines.last ?? "")")
                return
            }
            lines.append(line)
        } while !lines[lines.count - 1].hasPrefix("calls ")
        let words = lines.removeLast().split(separator: " ", omittingEmptySubsequences: false)
        (callCount, failedCount) = (Int(words[1]) ?? 0, Int(words[3]) ?? 0)
        failedFile = Self.kind(of: words[4], in: folder)
        saves = await Self.saves(at: folder.file(), reader)
        copiedSaves = await Self.saves(at: folder.file("copy.graph"), reader)
        look(into: folder)
    }

    private static func saves(at path: String, _ reader: StoreProcess) async -> [Int]? {
        guard FileManager.default.fileExists(atPath: path), let answer = try? await reader.run("saves \(path)"),
            answer.hasPrefix("saves")
        else { return nil }
        return answer.split(separator: " ").compactMap { Int($0) }
    }

    /// A file's name without numbers.
    private static func kind(of path: Substring, in folder: TemporaryFolder) -> String {
        let name = path.dropFirst(folder.path.count + 1).split(separator: " ").first.map(String.init) ?? "folder"
        return name.replacing(/(\.new|\.torn|\.schema)-[0-9a-f]+$/) { $0.1 }
    }

    private mutating func look(into folder: TemporaryFolder) {
        let (confirmed, found) = (Set(confirmedSaves), Set(saves ?? []))
        let (lost, invented) = (confirmed.subtracting(found), found.subtracting(confirmed).subtracting(doubtfulSaves))
        if !lost.isEmpty { findings.append("confirmed and not there, or only in part: \(lost.sorted())") }
        if !invented.isEmpty { findings.append("refused, and there: \(invented.sorted())") }
        // The store was never made, or it is whole.
        if saves == nil, FileManager.default.fileExists(atPath: folder.file()) { findings.append("it does not open") }
        let copied = lines.contains("did copy")
        if copied != (copiedSaves != nil) { findings.append("the copy is there although it failed, or the other way") }
        if copied, !Set(copiedSaves ?? []).isSuperset(of: confirmed.filter { $0 <= 7 }) {
            findings.append("the copy lacks saves: \(copiedSaves ?? [])")
        }
        for refusal in refusals {
            let words = refusal.split(separator: " ", maxSplits: 2)
            if !Self.cases.contains(String(words[1])) || refusal.count > 1_000 {
                findings.append("an error that says nothing: \(refusal.prefix(1_000))")
            }
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.wholeMatch(of: Self.expectedNames) == nil { findings.append("\(name) is left") }
    }

    /// What a system that fails may come to.
    private static let cases: Set = ["inputOutput", "diskFull", "permissionDenied", "outcomeUnknown", "storeFailed"]
    /// Unfinished files go when the store is opened the next time. Those of a copy whose removal fails, too, stay beside it.
    private static nonisolated(unsafe) let expectedNames =
        /(store|copy)\.graph(\.lock)?|store\.graph\.(torn-\d+|schema-\d+)/
}
