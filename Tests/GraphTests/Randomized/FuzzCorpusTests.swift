import Foundation
import Testing

@testable import Graph

/// What the fuzzer has found, once more: inputs that lead to other places of the engine than those before them.
struct FuzzCorpusTests {
    @Test(arguments: FuzzTarget.allCases)
    func `each input of the corpus is refused or keeps what it promises`(target: FuzzTarget) async throws {
        let inputs = try FuzzCorpus.inputs(of: target)
        #expect(inputs.count > 20)
        for (number, input) in inputs.enumerated() {
            let findings = await target.findings(input)
            #expect(findings.isEmpty, "\(target), input \(number)")
        }
    }

    @Test(arguments: GoldenStore.allCases)
    func `a script of a file makes a file that says the same`(golden: GoldenStore) throws {
        func snapshot(_ bytes: [UInt8]) throws -> Snapshot {
            let disk = SimulatedDisk()
            disk.setContents(bytes, at: JournalFixture.path)
            let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
            return try opening.read(at: JournalFixture.path, into: try StoreReplay(path: JournalFixture.path)) {
                (replay: inout StoreReplay, entry) throws(GraphError) in try replay.apply(entry)
            }.1.snapshot
        }
        let bytes = try [UInt8](Data(contentsOf: golden.file))
        let script = try RecordScript(of: bytes)
        #expect(RecordScript(reading: script.bytes) == script)
        let (made, original) = (try snapshot(script.file), try snapshot(bytes))
        #expect(made.differences(to: original) == [] && made.commit == original.commit)
        #expect(made.entities.contains { $0.rows.count > 0 } || golden == .libraryEmpty)
    }

    /// As a fuzzer's input leads there, or a test would say that all is well because nothing is read.
    @Test func `the corpus has stores that open`() throws {
        var opened = 0
        for input in try FuzzCorpus.inputs(of: .records) {
            let disk = FuzzedFile(RecordScript(reading: input)).disk()
            let inspection = try? JournalOpening(fileSystem: disk, options: JournalFixture.options()).read(
                at: FuzzedFile.path, into: try StoreReplay(path: FuzzedFile.path)
            ) { (replay: inout StoreReplay, entry) throws(GraphError) in try replay.apply(entry) }
            opened += inspection.map { $0.1.snapshot.commit > .none ? 1 : 0 } ?? 0
        }
        #expect(opened > 10)
    }
}
