import Foundation
import Testing

/// Two programs and what may happen to a store's files while one of them has it open.
@Suite(.serialized) struct InterferenceTests {
    /// Whatever happens, one program at most writes to a file, and what was answered with success is in it.
    @Test(arguments: Interference.all, [false, true])
    func `one program at a time writes, and nothing that it was told to be saved is lost`(
        _ interference: Interference, firstIsKilled: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let place = Interference.Place(folder: folder.path)
        try place.makeFolder("s")
        let (first, second, third) = (try StoreProcess(), try StoreProcess(), try StoreProcess())
        #expect(try await second.run("open \(place.path("s/other.graph"))") == "opened 0")
        #expect(try await second.run("save 50") == "saved")
        #expect(try await second.run("close") == "closed")

        #expect(try await first.run("open \(place.path("s/store.graph"))") == "opened 0")
        for number in 1...2 { #expect(try await first.run("save \(number)") == "saved") }
        try interference.happens(place)

        let opened = try await second.run("open \(place.path(interference.secondOpens))")
        var expected = [1, 2]
        switch interference.second {
        case .alreadyOpen: #expect(opened.hasPrefix("refused alreadyOpen "), "\(opened)")
        case .unusable:
            #expect(["refused unusableFile ", "refused directoryMissing "].contains { opened.hasPrefix($0) })
        case .opens(let count):
            #expect(opened == "opened \(count)")
            #expect(try await second.run("save 100") == "saved")
            expected.append(100)
        }
        for number in 3...4 {
            let answer = try await first.run("save \(number)")
            if interference.firstSaves {
                #expect(answer == "saved")
                expected.append(number)
            } else {
                #expect(answer.hasPrefix("refused storeFailed "), "\(answer)")
                // Said once, and not again in each later error.
                #expect(answer.components(separatedBy: "somebody").count == 2, "\(answer)")
                #expect(answer.components(separatedBy: "takes no more saves").count == 2, "\(answer)")
            }
        }
        // The second program goes on while the first fails.
        if case .opens = interference.second {
            #expect(try await second.run("save 101") == "saved")
            expected.append(101)
            #expect(try await second.run("close") == "closed")
        }
        if firstIsKilled { first.kill() } else { _ = try await first.run("close") }
        try interference.isPutRight(place)

        switch interference.remains {
        case .nothing: return
        case .damaged(let errors):
            for program in [second, third] {
                let answer = try await program.run("open \(place.path("s/store.graph"))")
                #expect(errors.contains { answer.hasPrefix("refused \($0) ") }, "\(answer)")
            }
            return
        case .others(let name):
            expected = [100, 101]
            #expect(try await third.run("open \(place.path(name))") == "opened 2")
        case .everything(let name):
            #expect(try await third.run("open \(place.path(name))") == "opened \(expected.count)")
        }
        #expect(
            try await third.run("numbers") == (["numbers"] + expected.sorted().map(String.init)).joined(separator: " "))
        #expect(try await third.run("save 200") == "saved")
        #expect(try await third.run("close") == "closed")
    }

    @Test func `two stores that change their names under two programs take no more saves, and lose none`() async throws
    {
        let folder = try TemporaryFolder()
        let place = Interference.Place(folder: folder.path)
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(place.path("a"))") == "opened 0")
        #expect(try await second.run("open \(place.path("b"))") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        #expect(try await second.run("save 2") == "saved")
        try place.move("a", "c")
        try place.move("b", "a")
        try place.move("c", "b")
        for program in [first, second] { #expect(try await program.run("save 3").hasPrefix("refused storeFailed ")) }
        for program in [first, second] { program.kill() }
        let third = try StoreProcess()
        for (name, number) in [("a", 2), ("b", 1)] {
            #expect(try await third.run("open \(place.path(name))") == "opened 1")
            #expect(try await third.run("numbers") == "numbers \(number)")
            #expect(try await third.run("close") == "closed")
        }
    }

    @Test func `a copy of a file that is open is a store of its own`() async throws {
        let folder = try TemporaryFolder()
        let place = Interference.Place(folder: folder.path)
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(place.path("a"))") == "opened 0")
        for number in 1...2 { #expect(try await first.run("save \(number)") == "saved") }
        try place.copy("a", "b")
        #expect(try await second.run("open \(place.path("b"))") == "opened 2")
        #expect(try await first.run("save 3") == "saved")
        #expect(try await second.run("save 10") == "saved")
        for program in [first, second] { program.kill() }
        let third = try StoreProcess()
        for (name, numbers) in [("a", "1 2 3"), ("b", "1 2 10")] {
            #expect(try await third.run("open \(place.path(name))") == "opened 3")
            #expect(try await third.run("numbers") == "numbers \(numbers)")
            #expect(try await third.run("close") == "closed")
        }
    }

    @Test func `an open file that goes with its folder takes no more saves, and a new one may be made`()
        async throws
    {
        let folder = try TemporaryFolder()
        let place = Interference.Place(folder: folder.path)
        try place.makeFolder("s")
        let (first, second) = (try StoreProcess(), try StoreProcess())
        #expect(try await first.run("open \(place.path("s/a"))") == "opened 0")
        #expect(try await first.run("save 1") == "saved")
        try place.remove("s")
        #expect(try await first.run("save 2").hasPrefix("refused storeFailed "))
        #expect(try await second.run("open \(place.path("s/a"))").hasPrefix("refused directoryMissing "))
        try place.makeFolder("s")
        #expect(try await second.run("open \(place.path("s/a"))") == "opened 0")
        #expect(try await second.run("save 10") == "saved")
        #expect(try await first.run("save 3").hasPrefix("refused storeFailed "))
        #expect(try await second.run("save 11") == "saved")
    }
}
