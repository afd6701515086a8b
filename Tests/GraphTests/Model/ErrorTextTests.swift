import Foundation
import Testing

@testable import Graph

/// What errors say to who reads them.
struct ErrorTextTests {
    private func refusal(at path: String) async throws -> String {
        do throws(GraphError) {
            let coordinator = try await Coordinator(for: Team.self, Person.self, at: path)
            try await coordinator.close()
            return "opened"
        } catch {
            return error.description
        }
    }

    @Test func `paths that are none`() async throws {
        #expect(try await refusal(at: "") == "the path is empty: name a file")
        #expect(try await refusal(at: "/a\0b").hasSuffix(": not a path: it contains a zero byte"))
        #expect(
            try await refusal(at: "/nowhere/at/all.graph") == "/nowhere/at: this folder does not exist; create it first"
        )
    }

    @Test func `a file that is open says whether in this process or in another`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        let own = try await refusal(at: folder.file())
        #expect(
            own.contains(": already open for writing in this process since ") && own.hasSuffix("; close it there first")
        )
        try await first.close()
        let other = GraphError.alreadyOpen(path: "a", processID: getpid() + 1)
        #expect(other.description == "a: already open for writing in process \(getpid() + 1); close it there first")
        #expect(
            GraphError.alreadyOpen(path: "a", processID: nil).description
                == "a: already open for writing; close it there first")
    }

    @Test func `a full disk speaks of no save where there was none`() async throws {
        let disk = SimulatedDisk()
        disk.failForEver(from: 0, with: .error(.diskFull, 28))
        do throws(GraphError) {
            _ = try await Coordinator.people(on: disk)
        } catch {
            #expect(
                error.description.hasSuffix(
                    ": the disk is full; nothing was changed: try again when there is room"))
        }
    }

    @Test func `the first save after the file was removed speaks of no earlier failure`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try FileManager.default.removeItem(atPath: folder.file())
        for _ in 1...2 {
            do {
                try await coordinator.transaction { _ = $0.insert(Team(name: "red")) }
                Issue.record("saved")
            } catch {
                #expect(
                    "\(error)".hasSuffix(
                        ": the store takes no more saves: somebody removed or moved the file; open it again"))
            }
        }
    }

    @Test func `damage is said once, with what to do`() async throws {
        let disk = SimulatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        for name in ["red", "blue"] { try await coordinator.transaction { _ = $0.insert(Team(name: name)) } }
        try await coordinator.close()
        var bytes = try #require(disk.contents(JournalFixture.path))
        let record = DamagedFile.records(in: bytes)[2]
        bytes[record.range.lowerBound + JournalFormat.frameHeaderBytes] ^= 1
        disk.setContents(bytes, at: JournalFixture.path)
        do throws(GraphError) {
            _ = try await Coordinator.people(on: disk)
            Issue.record("opened")
        } catch {
            let text = error.description
            #expect(text.components(separatedBy: "record 3").count == 2, "\(text)")
            #expect(text.contains("but it was durable"), "\(text)")
            #expect(text.hasSuffix("; the file was not changed: keep it, and restore a copy"), "\(text)")
        }
    }

    @Test func `what the system does not permit is said in words`() {
        for operation in ["resolve", "open", "create", "status", "rename", "unlink", "list", "syncDirectory", "lock"] {
            let text = GraphError.permissionDenied(path: "a", operation: operation).description
            #expect(text.hasPrefix("a: no permission to ") && text.split(separator: " ").count >= 5, "\(text)")
        }
        let later = GraphError.permissionDenied(path: "a", operation: "status").asEarlierFailure(path: "a")
        #expect(
            later.description
                == "a: the store takes no more saves: no permission to look into its folder; open it again")
    }
}
