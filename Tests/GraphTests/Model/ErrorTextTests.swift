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
        #expect(try await refusal(at: "/a\0b").hasSuffix(": not a path, since it contains a zero byte: name a file"))
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
                    ": the disk is full, or a quota or the largest size of a file is reached; nothing was changed: make "
                        + "room, and try again"))
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
            #expect(text.hasSuffix(Self.advice), "\(text)")
        }
    }

    private static let advice =
        "; the file was not changed: keep it, and restore a copy, or write what can still be read into a new file with "
        + "graphctl salvage"

    @Test func `damage of both kinds names the tool that salvages`() {
        let errors = [
            GraphError.corrupt(path: "a", offset: 9, sequence: 2, reason: "b"),
            GraphError.invalidRecord(path: "a", offset: 9, sequence: 2, reason: "b"),
        ]
        for error in errors { #expect(error.description.hasSuffix(Self.advice), "\(error)") }
    }

    @Test func `metadata that are too long are no transaction, and there are no smaller steps`() {
        let error = GraphError.metadataTooLarge(key: "a \"b\"", lengthBytes: 70_000, limitBytes: 65_536)
        #expect(
            error.description
                == "with this text for \"a \\\"b\\\"\", metadata would take 70000 bytes, more than the limit of 65536; "
                + "nothing was stored: store a shorter text, or remove keys that are no longer needed")
    }

    @Test func `the system's errors have its words and their numbers`() {
        let full = "No space left on device (\(ENOSPC))"
        #expect(
            GraphError.inputOutput(path: "a", operation: "write", code: ENOSPC).description
                == "a: could not write it: \(full)")
        #expect(
            IOError(operation: .sync, reason: .diskFull, code: ENOSPC).summary == "could not sync it: \(full)")
        let later = GraphError.inputOutput(path: "a", operation: "list", code: EIO).asEarlierFailure(path: "a")
        #expect(
            later.description
                == "a: the store takes no more saves: could not list its folder: Input/output error (\(EIO)); open it again"
        )
        // A transfer without progress has no number.
        #expect(
            GraphError.inputOutput(path: "a", operation: "read", code: 0).description
                == "a: could not read it: no byte was transferred")
        #expect(IOError.words(for: 99_999).hasSuffix("99999)") || IOError.words(for: 99_999) == "error 99999")
    }

    /// Paths are as long as the system allows; everything else is cut.
    @Test func `no error is long, however long what it names is`() {
        let long = String(repeating: "x", count: 100_000)
        let object = AnyPersistentID(PersistentID<Team>(row: 1))
        let errors: [GraphError] = [
            .unknownEntity(long), .notOrdered(long), .toManyNotUpdatable(long), .sumOverflow(long),
            .notEncodable(entity: long, reason: long),
            .metadataTooLarge(key: long, lengthBytes: 1, limitBytes: 1), .rowNumbersUsedUp(entity: long),
            .notAStore(path: long, reason: long), .unsupportedVersion(path: long, found: long, supported: "1"),
            .schemaMismatch(path: long, differences: [long]),
            .corrupt(path: long, offset: 1, sequence: 1, reason: long),
            .invalidRecord(path: long, offset: 1, sequence: 1, reason: long),
            .valueNotReadable(path: long, object: object, property: long, type: long, reason: long),
            .unusableFile(path: long, reason: long), .unusableFile(path: "", reason: long),
            .inputOutput(path: long, operation: "read", code: 5), .diskFull(path: long), .closed(path: long),
            .migrationStepFailed(path: long, from: long, to: long, reason: long),
            .outcomeUnknown(path: long, commit: nil, reason: long), .storeFailed(path: long, reason: long),
            .inconsistent([long]), .readOnly(path: long), .alreadyOpen(path: long, processID: 1),
            .directoryMissing(path: long), .permissionDenied(path: long, operation: "open"),
        ]
        for error in errors { #expect(error.description.utf8.count < 4_096 + 2_500, "\("\(error)".prefix(300))") }
    }

    @Test func `files that cannot be stores say what to do`() async throws {
        let folder = try TemporaryFolder()
        #expect(try await refusal(at: folder.path) == "\(folder.path): this is a folder: name a file")
        #expect(
            try await refusal(at: "/dev/null") == "/dev/null: this is a device, FIFO or socket: name a regular file")
        try Data().write(to: URL(fileURLWithPath: folder.file("empty")))
        #expect(
            try await refusal(at: folder.file("empty")).hasSuffix(
                ": not a Graph store: the file is empty; the file was not changed: check the path"))
        let inconsistent = GraphError.inconsistent(["a"]).description
        #expect(inconsistent.contains("a bug in Graph; nothing was saved: 1 finding"))
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

    struct Appointment: Codable, Equatable, Sendable {
        var dates: [Date?] = []
        var title = ""
        var replies: [Appointment] = []
    }

    @Entity struct Visit {
        var number = 0
        var appointment: Appointment? = Appointment()
    }

    @Test(arguments: [Double.nan, -.nan, .infinity, 1e300, 5])
    func `values of own types are printed whatever dates they hold`(seconds: Double) async throws {
        let store = try await Coordinator(for: Visit.self)
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let id = try await store.transaction { $0.insert(Visit()).id }
        let context = Context(store)
        try await context.transaction { context in
            context[id]?.appointment = Appointment(dates: [nil, date], title: "dentist")
        }
        try await store.transaction { $0[id]?.appointment = Appointment(dates: [date, date]) }
        await context.perform { $0[id]?.appointment = Appointment(dates: [date], title: "dentist") }
        // The testing library prints the parts of an error by itself, and Foundation would stop it.
        var (text, properties) = ("", [String]())
        do throws(GraphError) {
            try await context.save()
        } catch {
            text = error.description
            if case .conflicts(let conflicts) = error {
                properties = conflicts.flatMap { $0.differences.map(\.property) }
            }
        }
        #expect(text.contains(seconds == 5 ? "2001" : "Appointment(dates: [nil, "), "\(text)")
        #expect(seconds == 5 || text.contains("title: \"dentist\""), "\(text)")
        #expect(properties == ["appointment"])
        let shown = await context.perform { context in context[id].map { "\($0)" } ?? "" }
        #expect(shown.contains("dentist"), "\(shown)")
    }

    @Test func `a date is found however deep it is, and large values take no longer than printing them`() {
        func text(_ value: Appointment) -> String {
            let operations = AttributeCodec<Appointment>.codable().operations
            return withUnsafePointer(to: value) { operations.describe($0) }
        }
        var nested = Appointment(dates: [Date(timeIntervalSinceReferenceDate: .nan)], title: "dentist")
        for _ in 0..<40 { nested = Appointment(replies: [nested]) }
        #expect(text(nested).contains("Appointment(dates: [nan s since 2001], title: \"dentist\", replies: [])"))
        let date = Date(timeIntervalSinceReferenceDate: 0)
        #expect(text(Appointment(dates: [date])).contains("2001-01-01"))
        let many = text(Appointment(dates: Array(repeating: date, count: 20_000)))
        #expect(
            many.hasPrefix("Appointment(dates: [2001-01-01 ") && many.hasSuffix(" …], …)") && many.utf8.count < 5_000)
    }
}
