import Foundation
import Testing

@testable import Graph

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// Files with holes, on the disk of the computer that runs the tests.
struct SparseFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.graph")
    }

    private func open() throws(GraphError) -> [StoreDiagnostic] {
        try JournalFixture.open(PosixFileSystem(), at: path).opened.diagnostics
    }

    /// Creates a closed store with one commit, and returns where its records end.
    private func create() throws -> UInt64 {
        var writer = try JournalFixture.open(PosixFileSystem(), at: path).opened.writer
        try writer.write([JournalFixture.commit(1)])
        try writer.close([1])
        return writer.end
    }

    /// Makes the file so long, with a hole at its end; false if the file system has no room for that.
    private func extend(to lengthBytes: UInt64) throws -> Bool {
        let file = try PosixFileSystem().open(path)
        do {
            try file.truncate(to: lengthBytes)
        } catch {
            return false
        }
        return try file.status().lengthBytes == lengthBytes
    }

    private func lengthBytes(_ name: String) throws -> UInt64 {
        try PosixFileSystem().status(folder.file(name)).lengthBytes
    }

    /// What the file takes of the disk.
    private func allocatedBytes(_ name: String) -> Int {
        var information = stat()
        #expect(stat(folder.file(name), &information) == 0)
        return Int(information.st_blocks) * 512
    }

    @Test func `a hole that no writer leaves is refused at its beginning, however long it is`() throws {
        let end = try create()
        for lengthBytes in [end + JournalFormat.unfinishedLimitBytes + 1, 4 << 30, 100 << 30] {
            guard try extend(to: lengthBytes) else { continue }
            do throws(GraphError) {
                _ = try open()
                Issue.record("\(lengthBytes) opened")
            } catch {
                guard case .corrupt(_, end, 5, let reason) = error else { throw error }
                #expect(reason.contains("\(lengthBytes - end) bytes") && reason.contains("cut a copy off here"))
            }
            #expect(try self.lengthBytes("a.graph") == lengthBytes && allocatedBytes("a.graph") < 1 << 20)
        }
        // What the error says to do.
        #expect(try extend(to: end))
        #expect(try open() == [])
    }

    @Test func `as long a hole as a writer may leave is passed over and cut off without filling it`() throws {
        let end = try create()
        guard try extend(to: end + JournalFormat.unfinishedLimitBytes) else { return }
        #expect(try open() == [])
        #expect(try lengthBytes("a.graph") == end)
    }

    @Test func `what is kept of an unfinished write with a hole has one too`() throws {
        let end = try create()
        let length: UInt64 = 400 << 20
        guard try extend(to: length) else { return }
        let file = try PosixFileSystem().open(path)
        for offset in [end + 5_000, 200 << 20, length - 1] { try file.writeFully([7], at: offset) }
        guard allocatedBytes("a.graph") < 1 << 20 else { return }
        #expect(try open().map(\.kind) == [.unfinishedWrite])
        #expect(try lengthBytes("a.graph") == end)
        #expect(try lengthBytes("a.graph.torn-5") == length - end)
        #expect(allocatedBytes("a.graph.torn-5") < 1 << 20)
        let copy = try PosixFileSystem().open(folder.file("a.graph.torn-5"))
        var bytes = [UInt8](repeating: 0, count: 3)
        for (index, offset) in [end + 5_000, 200 << 20, length - 1].enumerated() {
            let byte = bytes.withUnsafeMutableBufferPointer { buffer in
                try? copy.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[index...index]),
                    at: offset - end)
            }
            #expect(byte == 1)
        }
        #expect(bytes == [7, 7, 7])
    }
}
