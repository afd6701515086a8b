import Foundation
import Testing

@testable import Graph

/// Disks that are too small, may not be written, or come and go under a program.
@Suite(.serialized, .enabled(if: MountedFolder.isPermitted, "the system mounts nothing for this process"))
struct SmallDiskTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    /// Takes all the room that is left.
    private func fill() throws -> FileHandle {
        let path = folder.file("filling")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(file.fileDescriptor, page, page.count) == page.count {}
        return file
    }

    private func expect(_ numbers: [Int], _ program: StoreProcess, _ comment: String) async throws {
        let opened = try await program.run("open \(path)")
        #expect(opened == "opened \(numbers.count)", "\(comment): \(opened)")
        let expected = (["numbers"] + numbers.map(String.init)).joined(separator: " ")
        #expect(try await program.run("numbers") == expected, "\(comment)")
    }

    /// Saves small and large until nothing more goes in, and gives what did.
    private func saveUntilFull(_ program: StoreProcess) async throws -> [Int] {
        var (saved, refusals) = ([Int](), 0)
        for number in 1... {
            let answer = try await program.run("save \(number) \([10, 700, 5_000, 40_000][number % 4])")
            if answer == "saved" {
                saved.append(number)
                refusals = 0
            } else {
                #expect(answer.hasPrefix("refused diskFull "), "\(answer)")
                refusals += 1
            }
            if refusals == 4 { break }
        }
        return saved
    }

    @Test(arguments: Array(stride(from: 8, to: 128, by: 4)) + Array(stride(from: 128, through: 1_024, by: 44)))
    func `a disk that fills up in the midst of commits keeps what it took, and takes more when there is room`(
        kilobytes: Int
    ) async throws {
        let disk = try MountedFolder(bytes: kilobytes * 1_024, at: folder.path)
        let (first, second) = (try StoreProcess(), try StoreProcess())
        var saved: [Int] = []
        let opened = try await first.run("open \(path)")
        if opened == "opened 0" {
            saved = try await saveUntilFull(first)
        } else {
            // Too small for a store at all: there is none afterwards.
            #expect(opened.hasPrefix("refused diskFull "), "\(opened)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        let isKilled = kilobytes % 8 == 0
        if isKilled {
            first.kill()
        } else if opened == "opened 0" {
            // The record that ends the file may find no room; what was saved needs none.
            let answer = try await first.run("close")
            #expect(answer == "closed" || answer.hasPrefix("refused diskFull "), "\(answer)")
        }
        // Nothing that opens a file needs room that is not there.
        if opened == "opened 0" {
            try await expect(saved, second, "\(kilobytes) KB, full")
            // Of what was refused nothing is left that would have to be kept.
            #expect(
                try !FileManager.default.contentsOfDirectory(atPath: folder.path).contains { $0.contains(".torn-") })
            #expect(try await second.run("save 1000 200000").hasPrefix("refused diskFull ") || kilobytes > 200)
        }
        try disk.resize(bytes: 4_194_304)
        if opened != "opened 0" { try await expect([], second, "\(kilobytes) KB, larger") }
        #expect(try await second.run("save 2000 200000") == "saved")
        second.kill()
        let third = try StoreProcess()
        let last = try await third.run("open \(path)")
        #expect(last.hasPrefix("opened "))
        let numbers = try await third.run("numbers").split(separator: " ").compactMap { Int($0) }
        #expect(numbers.filter { $0 != 1_000 } == saved + [2_000], "\(kilobytes) KB")
        #expect(try await third.run("close") == "closed")
        try disk.unmount()
    }

    /// By pages, from no room at all to more than a compaction takes.
    @Test(.timeLimit(.minutes(30)))
    func `a disk without room for a compaction keeps the file and takes saves, at two hundred sizes`() async throws {
        let disk = try MountedFolder(bytes: 32 << 20, at: folder.path)
        // History would take more with each size.
        func open() async throws -> Coordinator {
            try await Coordinator(for: Person.self, Team.self, at: path, compaction: .manual, retention: .none)
        }
        var store = try await open()
        var names = (0..<220).map { "\($0) " + String(repeating: "n", count: 3_000) }
        let ids: [Person.ID] = try await Context(store).transaction { [names] context in
            context.insert(contentsOf: names.map { Person(name: $0) })
        }
        func save(_ number: Int, _ name: String) async throws {
            try await Context(store).transaction { context in
                try context.object(for: ids[number]).name = name
            }
            names[number] = name
        }
        var (refused, compacted) = (0, 0)
        for pages in 0..<200 where Sweep.tries(pages) || pages == 199 {
            try disk.resize(bytes: 32 << 20)
            // What no longer counts.
            for number in 0..<4 { try await save((pages + number) % 220, "\(pages) " + names[number].dropFirst(4)) }
            let system = try FileManager.default.attributesOfFileSystem(forPath: folder.path)
            let size = try #require(system[.systemSize] as? NSNumber).intValue
            let free = try #require(system[.systemFreeSize] as? NSNumber).intValue
            try disk.resize(bytes: size - free + pages * 4_096)
            do throws(GraphError) {
                try await store.compact()
                compacted += 1
            } catch {
                guard case .diskFull = error else { throw error }
                refused += 1
            }
            do {
                try await save(219, "after \(pages)")
            } catch GraphError.diskFull {}
            #expect(ids.map { store.snapshot.value(for: $0)?.name } == names, "\(pages) pages")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            #expect(files == ["store.graph", "store.graph.lock"], "\(pages) pages")
            guard pages % 7 == 3 else { continue }
            try disk.resize(bytes: 32 << 20)
            try await store.close()
            store = try await open()
            #expect(ids.map { store.snapshot.value(for: $0)?.name } == names, "\(pages) pages, opened again")
            #expect(store.check() == [] && store.diagnostics.isEmpty)
        }
        #expect(
            refused >= Sweep.least(100) && compacted >= max(Sweep.least(10), 1), "\(refused) refused, \(compacted) done"
        )
        try disk.resize(bytes: 32 << 20)
        try await store.close()
        try disk.unmount()
    }

    @Test func `a store that finds no room to be made can be made later`() async throws {
        let disk = try MountedFolder(bytes: 65_536, at: folder.path)
        let filling = try fill()
        let program = try StoreProcess()
        for _ in 0..<2 { #expect(try await program.run("open \(path)").hasPrefix("refused diskFull ")) }
        #expect(!FileManager.default.fileExists(atPath: path))
        try filling.truncate(atOffset: 0)
        #expect(try await program.run("open \(path)") == "opened 0")
        #expect(try await program.run("save 1") == "saved")
        #expect(try await program.run("close") == "closed")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["filling", "store.graph", "store.graph.lock"])
        try filling.close()
        try disk.unmount()
    }

    @Test func `without room to keep an unfinished write the store is not opened, and not touched`() async throws {
        let disk = try MountedFolder(bytes: 1_048_576, at: folder.path)
        let first = try StoreProcess()
        #expect(try await first.run("open \(path)") == "opened 0")
        for number in 1...3 { #expect(try await first.run("save \(number)") == "saved") }
        first.kill()
        // What an unfinished write leaves, behind the last record.
        var bytes = try #require(FileManager.default.contents(atPath: path))
        let end = (try #require(bytes.lastIndex { $0 != 0 }) / 8 + 1) * 8
        for index in end..<(end + 9_000) { bytes[index] = 0x55 }
        try bytes.write(to: URL(fileURLWithPath: path))
        let filling = try fill()
        let second = try StoreProcess()
        for _ in 0..<2 { #expect(try await second.run("open \(path)").hasPrefix("refused diskFull ")) }
        #expect(FileManager.default.contents(atPath: path) == bytes)
        try filling.truncate(atOffset: 0)
        try filling.close()
        try await expect([1, 2, 3], second, "with room")
        #expect(try await second.run("close") == "closed")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains { $0.hasPrefix("store.graph.torn-") })
        try disk.unmount()
    }

    @Test func `a disk that may not be written is said so, and the store opens when it may`() async throws {
        let disk = try MountedFolder(bytes: 1_048_576, at: folder.path)
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        // The system itself does not let a disk become read only while a file is open for writing.
        #expect(throws: MountedFolder.Refused.self) { try disk.setReadOnly(true) }
        #expect(try await first.run("save 2") == "saved")
        #expect(try await first.run("close") == "closed")
        try disk.setReadOnly(true)
        let bytes = FileManager.default.contents(atPath: path)
        #expect(try await second.run("open \(path)").hasPrefix("refused permissionDenied "))
        #expect(try await second.run("open \(path)2").hasPrefix("refused permissionDenied "))
        #expect(FileManager.default.contents(atPath: path) == bytes)
        try disk.setReadOnly(false)
        try await expect([1, 2], second, "may be written again")
        #expect(try await second.run("save 3") == "saved")
        #expect(try await second.run("close") == "closed")
        try disk.unmount()
    }

    @Test func `a disk mounted over the folder ends the program's saves, and hides what it saved`()
        async throws
    {
        let (first, second, third) = (try StoreProcess(), try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(path)") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        let disk = try MountedFolder(bytes: 1_048_576, at: folder.path)
        // A store of its own, on the other disk.
        #expect(try await second.run("open \(path)") == "opened 0")
        #expect(try await second.run("save 10") == "saved")
        for number in 2...3 { #expect(try await first.run("save \(number)").hasPrefix("refused storeFailed ")) }
        #expect(try await second.run("save 11") == "saved")
        #expect(try await second.run("close") == "closed")
        try disk.unmount()
        #expect(try await third.run("open \(path)").hasPrefix("refused alreadyOpen "))
        // It has failed for good, though its names lead to its files again.
        #expect(try await first.run("save 4").hasPrefix("refused storeFailed "))
        _ = try await first.run("close")
        try await expect([1], third, "the other disk is gone")
    }

    @Test func `a folder mounted twice has one store, and a name that is unmounted ends saves`()
        async throws
    {
        let files = FileManager.default
        for name in ["s", "t"] {
            try files.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        let other = try MountedFolder(folder.file("s"), at: folder.file("t"))
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(folder.path)/t/store") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        for name in ["s", "t"] {
            #expect(try await second.run("open \(folder.path)/\(name)/store").hasPrefix("refused alreadyOpen "))
        }
        try other.unmount()
        for number in 2...3 { #expect(try await first.run("save \(number)").hasPrefix("refused storeFailed ")) }
        #expect(try await second.run("open \(folder.path)/s/store").hasPrefix("refused alreadyOpen "))
        first.kill()
        #expect(try await second.run("open \(folder.path)/s/store") == "opened 1")
    }
}
