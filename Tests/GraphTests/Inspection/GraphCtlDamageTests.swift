import Foundation
import Testing

/// What the tool says of files that are damaged or odd.
@MainActor struct GraphCtlDamageTests {
    @Test func `a damaged header is damage to verify, and repaired by compact, which says so`() async throws {
        let folder = try GoldenStore.library.copy()
        try damage(folder.file(), at: 4_100)
        let verification = await graphctl("verify", folder.file())
        #expect(verification.code == 1 && verification.output.contains("the header's second copy is damaged"))
        #expect(await graphctl("stat", folder.file()).output.contains("remark: byte 4096: the header's second copy"))
        for command in ["schema", "dump", "log"] {
            let outcome = await graphctl(command, folder.file())
            #expect(outcome.code == 0 && !outcome.output.contains("damaged"))
            #expect(command == "log" || outcome.errors.contains("the header's second copy is damaged"), "\(outcome)")
        }
        let difference = await graphctl("diff", folder.file(), folder.file())
        #expect(difference.code == 0 && difference.errors.split(separator: "\n").count == 2)
        let compaction = await graphctl("compact", folder.file())
        #expect(
            compaction.code == 0 && compaction.errors.contains("the header's second copy was damaged"), "\(compaction)")
        let again = await graphctl("verify", folder.file())
        #expect(again.code == 0 && again.lines.count == 1)
    }

    @Test func `a lock file of something else is damage to verify, since no program can open the store`() async throws {
        let folder = try GoldenStore.library.copy()
        try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: folder.file() + ".lock"))
        let verification = await graphctl("verify", folder.file())
        #expect(verification.code == 1 && verification.output.contains("not a lock file of Graph"))
        let compaction = await graphctl("compact", folder.file())
        #expect(compaction.code == 1 && compaction.errors.contains("not a lock file of Graph"))
    }

    @Test func `an unfinished write is a remark, and cut off by compact, which says so`() async throws {
        let folder = try GoldenStore.library.copy()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file()))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(repeating: 9, count: 100))
        try handle.close()
        let verification = await graphctl("verify", folder.file())
        #expect(verification.code == 0 && verification.lines.count == 2, "\(verification)")
        let compaction = await graphctl("compact", folder.file())
        #expect(compaction.errors.contains("an unfinished write of 100 bytes was cut off and kept"), "\(compaction)")
        let length = try FileManager.default.attributesOfItem(atPath: folder.file())[.size] as? Int
        #expect(compaction.output.hasSuffix(" \(length ?? 0) bytes now\n"))
    }

    @Test func `a damaged file is told, with the place`() async throws {
        let folder = try GoldenStore.library.copy()
        try damage(folder.file(), at: 9_000)
        for command in ["verify", "stat", "schema", "dump", "compact"] {
            let outcome = await graphctl(command, folder.file())
            #expect(outcome.code == 1 && outcome.output == "")
            #expect(outcome.errors.hasPrefix("graphctl: ") && outcome.errors.contains("damaged at byte "), "\(outcome)")
        }
        #expect(
            await graphctl("verify", folder.file("missing")).errors.hasSuffix(
                "there is no file\n"))
        #expect(await graphctl("diff", folder.file(), folder.file()).code == 1)
        try Data("text".utf8).write(to: URL(fileURLWithPath: folder.file()))
        #expect(await graphctl("stat", folder.file()).errors.contains("not a Graph store"))
    }
}
