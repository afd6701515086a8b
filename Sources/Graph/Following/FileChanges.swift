/// Tells those who read a file beside its writer when to look again: when the system says that something has changed, and at
/// intervals, as it does not see everything, such as on a network's disk.
final class FileChanges: Sendable {
    private let changes = Waitable<UInt64>(0)
    private let watch: (any StoreWatch)?
    private let timer: Task<Void, Never>

    /// Without and with a watch.
    private static let (interval, watchedInterval) = (Duration.milliseconds(10), Duration.seconds(1))

    init(of location: JournalLocation, in fileSystem: any StoreFileSystem) {
        watch = fileSystem.watch(location.lockPath, in: location.directory) { [changes] in changes.change { $0 += 1 } }
        let interval = watch == nil ? Self.interval : Self.watchedInterval
        timer = Task { [changes] in
            while (try? await Task.sleep(for: interval)) != nil { changes.change { $0 += 1 } }
        }
    }

    deinit {
        watch?.cancel()
        timer.cancel()
    }

    /// How often to look again so far.
    var count: UInt64 { changes.withLock { $0 } }

    /// Returns when there were others than these, or when the task is cancelled.
    func wait(after count: UInt64) async {
        await changes.waitForChange(unless: { $0 != count }, isolation: nil)
    }
}
