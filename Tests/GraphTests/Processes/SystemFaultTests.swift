import Foundation
import Testing

/// Programs whose calls to the real system fail: each call that the engine makes, in each way that makes sense, once or from then
/// on.
@Suite(.serialized, .enabled(if: SystemFaults.isSupported)) struct SystemFaultTests {
    /// Two at a time: most of it is waiting for the disk.
    private func lives<Number: Sendable>(
        _ faults: [(fault: FaultyLife.Fault, number: Number)],
        _ body: @escaping @Sendable (FaultyLife, FaultyLife.Fault, Number) -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            for remainder in 0..<2 {
                let part = faults.enumerated().filter { $0.offset % 2 == remainder }.map(\.element)
                group.addTask {
                    let reader = try StoreProcess()
                    for (fault, number) in part {
                        let life = try await FaultyLife(fault, reader: reader)
                        #expect(life.findings.isEmpty, "\(fault): \(life.findings); \(life.lines)")
                        body(life, fault, number)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `interrupted calls and calls that do a part of their work are of no consequence`() async throws {
        let interrupted = ["pwrite", "pread", "ftruncate", "open", "flock", "statx", "lstat"].map {
            FaultyLife.Fault(call: $0, fault: "EINTR", first: 1, step: 2)
        }
        let partial = ["pwrite", "pread"].map { FaultyLife.Fault.forEver($0, "short", from: 1) }
        // Where the kernel or the file system lacks a call, another one takes its place.
        let missing = ["renameat2", "statx"].map { FaultyLife.Fault.forEver($0, "ENOSYS", from: 1) }
        try await lives((interrupted + partial + missing).map { ($0, 0) }) { life, fault, _ in
            #expect(life.failedCount > 0 && life.refusals.isEmpty, "\(fault): \(life.lines)")
            #expect(life.saves == FaultyLife.allSaves, "\(fault)")
        }
    }

    @Test func `no error of a sync or a renaming is passed over`() async throws {
        let reader = try StoreProcess()
        var faults: [(FaultyLife.Fault, Int)] = []
        for call in ["fdatasync", "fsync", "renameat2", "rename"] {
            let count = try await FaultyLife(.none(call), reader: reader).callCount
            let numbers = (1...max(count, 1)).filter { count < 4 || Sweep.tries($0, of: 3) }
            faults += numbers.map { (.once(call, "EIO", $0), 0) }
        }
        try await lives(faults) { life, fault, _ in
            // What the lock file says is of use, and not needed.
            #expect(
                life.failedCount == 0 || !life.refusals.isEmpty || life.failedFile.hasSuffix(".lock"),
                "\(fault), of \(life.failedFile): \(life.lines)")
        }
    }

    @Test func `whatever call fails, once or from then on, what was confirmed is there, and what was refused is not`()
        async throws
    {
        let reader = try StoreProcess()
        var (faults, number): ([(FaultyLife.Fault, Bool)], Int) = ([], 0)
        for (call, kinds) in SystemFaults.faults {
            let count = try await FaultyLife(.none(call), reader: reader).callCount
            #expect(count > 0, "\(call) is not called")
            for kind in kinds {
                for call in (1...max(count, 1)).flatMap({
                    [FaultyLife.Fault.once(call, kind, $0), .forEver(call, kind, from: $0)]
                }) {
                    number += 1
                    if Sweep.tries(number, of: 59) { faults.append((call, call.first == call.last)) }
                }
            }
        }
        try await lives(faults) { life, fault, isOnce in
            let isSilent = life.failedCount > 0 && life.refusals.isEmpty
            let isNoFinding = !isSilent || Self.hasNoConsequences(fault, in: life.failedFile, isOnce)
            #expect(isNoFinding, "\(fault), of \(life.failedFile)")
        }
        if Sweep.isWhole { #expect(faults.count > 3_500) }
    }

    /// Whether a program need not be told of a failure.
    private static func hasNoConsequences(_ fault: FaultyLife.Fault, in file: String, _ isOnce: Bool) -> Bool {
        if ["short", "ENOSYS"].contains(fault.fault) || fault.fault == "EINTR" && isOnce { return true }
        switch fault.call {
        // What is left over goes at the next opening, and what is read once more than needed need not be.
        case "close", "lseek", "opendir", "readdir", "unlink": return true
        // A copy goes without the history of a file that cannot be read, and old copies of torn tails may stay.
        case "open", "pread", "lstat", "statx": return file != "folder" && file != "store.graph.new"
        // Zeros ahead need not be there, and what the lock file says is of use, and not needed.
        case "pwrite":
            let isDiskFull = ["ENOSPC", "ENOSPC-late", "EDQUOT", "EFBIG"].contains(fault.fault)
            return file.hasSuffix(".lock") || file == "store.graph" && isDiskFull
        case "fdatasync": return file.hasSuffix(".lock")
        // It has happened, and a look at the names shows that.
        case "rename": return fault.fault == "EIO-late"
        default: return false
        }
    }
}
