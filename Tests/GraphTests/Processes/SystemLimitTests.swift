import Foundation
import Testing

/// What a program meets whose system refuses something, or that was started with less than usual.
@Suite(.serialized) struct SystemLimitTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    private func permissions(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func setPermissions(_ permissions: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    /// Whether the program ignores the signal that the system sends then or not: it goes to the thread that writes, and the
    /// threads of Dispatch block signals.
    @Test(arguments: ["survives-limits", "default"])
    func `a file at its longest refuses saves as a full disk does, and takes them again when there is room`(
        signal: String
    ) async throws {
        let program = try StoreProcess(signal)
        #expect(try await program.run("open \(path)") == "opened 0")
        #expect(try await program.run("save 1") == "saved")
        // A few groups behind the first one, within the zeros ahead.
        #expect(try await program.run("limit bytes 9000") == "limited")
        var saved = 1
        var answer = ""
        repeat {
            answer = try await program.run("save \(saved + 1)")
            if answer == "saved" { saved += 1 }
        } while answer == "saved"
        #expect(answer.hasPrefix("refused diskFull "), "\(answer)")
        #expect(try await program.run("save \(saved + 1)").hasPrefix("refused diskFull "))
        #expect(try await program.run("limit bytes") == "limited")
        #expect(try await program.run("save \(saved + 1)") == "saved")
        program.kill()
        let other = try StoreProcess()
        #expect(try await other.run("open \(path)") == "opened \(saved + 1)")
    }

    @Test func `a program without a descriptor left is told so, and opens the store when it has some`() async throws {
        let program = try StoreProcess()
        // What the language's runtime opens for itself it opens once.
        #expect(try await program.run("open \(folder.file("other"))") == "opened 0")
        #expect(try await program.run("close") == "closed")
        for count in 0..<2 {
            #expect(try await program.run("limit files \(count)") == "limited")
            let answer = try await program.run("open \(path)")
            #expect(
                answer.hasPrefix("refused inputOutput ") && answer.hasSuffix("Too many open files (\(EMFILE))"),
                "\(answer)")
        }
        #expect(try await program.run("limit files") == "limited")
        #expect(try await program.run("open \(path)") == "opened 0")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["other", "other.lock", "store.graph", "store.graph.lock"])
    }

    @Test func `a program without standard streams does not take the store's files for them`() async throws {
        let program = try StoreProcess()
        // What the language's runtime opens for itself it opens once.
        #expect(try await program.run("open \(folder.file("other"))") == "opened 0")
        #expect(try await program.run("save 1") == "saved")
        #expect(try await program.run("close") == "closed")
        #expect(try await program.run("shed") == "shed")
        #expect(try await program.run("streams") == "streams")
        #expect(try await program.run("open \(path)") == "opened 0")
        #expect(try await program.run("save 1") == "saved")
        #expect(try await program.run("streams") == "streams")
    }

    @Test func `a program without streams and descriptors is told so, and opens the store when it has some`()
        async throws
    {
        let program = try StoreProcess()
        // What the language's runtime opens for itself it opens once.
        #expect(try await program.run("open \(folder.file("other"))") == "opened 0")
        #expect(try await program.run("close") == "closed")
        #expect(try await program.run("shed") == "shed")
        // The store's files would get the numbers of the streams, and there are no others.
        for count in 0...3 {
            #expect(try await program.run("limit files \(count)") == "limited")
            let answer = try await program.run("open \(path)")
            #expect(answer.hasPrefix("refused inputOutput ") && answer.contains("(\(EMFILE))"), "\(answer)")
            // But for the lock file, which stays where it was made.
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(names).isSubset(of: ["other", "other.lock", "store.graph.lock"]), "limit \(count)")
        }
        #expect(try await program.run("limit files") == "limited")
        #expect(try await program.run("open \(path)") == "opened 0")
        #expect(try await program.run("streams") == "streams")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["other", "other.lock", "store.graph", "store.graph.lock"])
    }

    @Test func `files are their owner's alone, whatever the program's mask`() async throws {
        let program = try StoreProcess("open-mask")
        #expect(try await program.run("open \(path)") == "opened 0")
        #expect(try permissions(path) == 0o600)
        #expect(try permissions(path + ".lock") == 0o600)
    }

    @Test func `a program that may not write to the folder or the file is told so, and nothing changes`() async throws {
        let owner = try StoreProcess()
        #expect(try await owner.run("open \(path)") == "opened 0")
        #expect(try await owner.run("save 1") == "saved")
        #expect(try await owner.run("close") == "closed")
        let bytes = FileManager.default.contents(atPath: path)
        let program = try StoreProcess("unprivileged")
        // Neither the folder, nor the lock file, nor the file.
        try setPermissions(0o555, folder.path)
        let isOwner = geteuid() != 0
        if isOwner { try setPermissions(0o400, path + ".lock") }
        #expect(try await program.run("open \(path)").hasPrefix("refused permissionDenied "))
        // The lock file, but not the file.
        try setPermissions(isOwner ? 0o600 : 0o666, path + ".lock")
        if isOwner { try setPermissions(0o400, path) }
        #expect(try await program.run("open \(path)").hasPrefix("refused permissionDenied "))
        #expect(try await program.run("open \(folder.path)/new").hasPrefix("refused permissionDenied "))
        #expect(FileManager.default.contents(atPath: path) == bytes)
        try setPermissions(0o755, folder.path)
        try setPermissions(0o600, path)
        try setPermissions(0o600, path + ".lock")
        #expect(try await owner.run("open \(path)") == "opened 1")
    }

    // MARK: While the store is open

    /// A program without root's rights, for which permissions mean nothing otherwise.
    private func openStore() async throws -> StoreProcess {
        try setPermissions(0o777, folder.path)
        let program = try StoreProcess("unprivileged")
        #expect(try await program.run("open \(path)").hasPrefix("opened "))
        return program
    }

    @Test func `a program whose files lose their permissions goes on, and nobody else opens them`()
        async throws
    {
        let first = try await openStore()
        #expect(try await first.run("save 1") == "saved")
        for suffix in ["", ".lock"] { try setPermissions(0, path + suffix) }
        #expect(try await first.run("save 2") == "saved")
        let second = try StoreProcess("unprivileged")
        #expect(try await second.run("open \(path)").hasPrefix("refused permissionDenied "))
        #expect(try await first.run("save 3") == "saved")
        first.kill()
        #expect(try await second.run("open \(path)").hasPrefix("refused permissionDenied "))
        for suffix in ["", ".lock"] { try setPermissions(0o600, path + suffix) }
        #expect(try await second.run("open \(path)") == "opened 3")
        #expect(try await second.run("numbers") == "numbers 1 2 3")
    }

    @Test func `a program that may not look into its folder any more takes no more saves`() async throws {
        let first = try await openStore()
        #expect(try await first.run("save 1") == "saved")
        try setPermissions(0, folder.path)
        #expect(try await first.run("save 2").hasPrefix("refused permissionDenied "))
        #expect(try await first.run("save 3").hasPrefix("refused storeFailed "))
        let second = try StoreProcess("unprivileged")
        #expect(try await second.run("open \(path)").hasPrefix("refused permissionDenied "))
        try setPermissions(0o777, folder.path)
        // It has failed for good, and still has the file.
        #expect(try await first.run("save 4").hasPrefix("refused storeFailed "))
        #expect(try await second.run("open \(path)").hasPrefix("refused alreadyOpen "))
        _ = try await first.run("close")
        #expect(try await second.run("open \(path)") == "opened 1")
        #expect(try await second.run("numbers") == "numbers 1")
    }

    @Test func `a folder that may not be written does for a store that is there, open or not`() async throws {
        let first = try await openStore()
        #expect(try await first.run("save 1") == "saved")
        try setPermissions(0o555, folder.path)
        #expect(try await first.run("save 2") == "saved")
        #expect(try await first.run("close") == "closed")
        #expect(try await first.run("open \(path)") == "opened 2")
        #expect(try await first.run("save 3") == "saved")
        first.kill()
        let second = try StoreProcess("unprivileged")
        #expect(try await second.run("open \(path)") == "opened 3")
        #expect(try await second.run("open \(path)2").hasPrefix("refused permissionDenied "))
        try setPermissions(0o755, folder.path)
    }
}
