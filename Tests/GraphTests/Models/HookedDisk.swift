@testable import Graph

/// A simulated disk on which something happens between a program's calls.
final class HookedDisk: InterposedDisk {
    let disk: SimulatedDisk
    private let afterLookingForLock: @Sendable (SimulatedDisk) throws(IOError) -> Void
    private let afterOpening: @Sendable (SimulatedDisk, StorePath) -> Void
    private let beforeRenaming: @Sendable (SimulatedDisk, StorePath) -> Void
    private let beforeWriting: @Sendable (SimulatedDisk) -> Void
    private let beforeReading: @Sendable (SimulatedDisk) -> Void

    init(
        _ disk: SimulatedDisk = SimulatedDisk(),
        afterLookingForLock: @escaping @Sendable (SimulatedDisk) throws(IOError) -> Void = { _ in },
        afterOpening: @escaping @Sendable (SimulatedDisk, StorePath) -> Void = { _, _ in },
        beforeRenaming: @escaping @Sendable (SimulatedDisk, StorePath) -> Void = { _, _ in },
        beforeWriting: @escaping @Sendable (SimulatedDisk) -> Void = { _ in },
        beforeReading: @escaping @Sendable (SimulatedDisk) -> Void = { _ in }
    ) {
        (self.disk, self.afterLookingForLock, self.afterOpening) = (disk, afterLookingForLock, afterOpening)
        (self.beforeRenaming, self.beforeWriting) = (beforeRenaming, beforeWriting)
        self.beforeReading = beforeReading
    }

    func openForReading(_ path: StorePath) throws(IOError) -> any StoreFile {
        guard path.text.hasSuffix(".lock") else { return interposed(try disk.openForReading(path)) }
        let file: Result<any StoreFile, IOError>
        do throws(IOError) { file = .success(try disk.openForReading(path)) } catch { file = .failure(error) }
        try afterLookingForLock(disk)
        return try file.get()
    }

    func didOpen(_ path: StorePath) { afterOpening(disk, path) }
    func willRename(_ path: StorePath, to newPath: StorePath) { beforeRenaming(disk, newPath) }
    func willWrite() throws(IOError) { beforeWriting(disk) }
    func willRead() { beforeReading(disk) }
}
