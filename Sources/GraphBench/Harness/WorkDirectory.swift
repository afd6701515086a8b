import Dispatch
import Foundation
import Synchronization

/// The files of a run: removed at its end, and when the run is interrupted.
final class WorkDirectory {
    let path: String
    private let signals: [Int32]
    private let sources: [any DispatchSourceSignal]

    /// Held while the folder is made or removed. After an interruption it is never released: a run that fails because its files
    /// went waits here for the end, and does not end the process before they are gone and with another code.
    private static let removal = Mutex(())

    /// Makes a fresh folder inside `parent`, or where the system keeps temporary files.
    ///
    /// - Parameter heedsSignals: whether an interruption ends the process, and first removes the files.
    convenience init(in parent: String?, heedsSignals: Bool = true) throws {
        let base = parent ?? FileManager.default.temporaryDirectory.path
        // Interruptions are heeded before there is anything to remove.
        let signals = heedsSignals ? Self.heldSignals() : []
        self.init(path: "\(base)/graphbench-\(UUID().uuidString.lowercased())", signals: signals)
        try Self.removal.withLock { _ in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
    }

    private init(path: String, signals: [Int32]) {
        self.path = path
        self.signals = signals
        // A queue of its own has a thread even where the work of a run keeps those of the global queues busy.
        let (queue, registered) = (DispatchQueue(label: "graphbench.signals"), DispatchGroup())
        sources = signals.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            registered.enter()
            source.setRegistrationHandler { registered.leave() }
            source.setEventHandler {
                Self.removal.withLock { _ in
                    FootprintProcess.end()
                    Self.remove(path)
                    ProgressLine().clear()
                    exit(128 + number)
                }
            }
            source.activate()
            return source
        }
        // Another thread registers them. A signal before that would be lost.
        registered.wait()
    }

    deinit {
        for source in sources { source.cancel() }
        for number in signals { signal(number, SIG_DFL) }
    }

    /// The signals that sources see from now on, whose own action would end the process before.
    private static func heldSignals() -> [Int32] {
        // Who prints to a reader that is gone goes on to the end.
        signal(SIGPIPE, SIG_IGN)
        let signals = [SIGINT, SIGTERM]
        for number in signals { signal(number, SIG_IGN) }
        // Where nohup, say, had it ignored, it stays so. As functions the two could not be compared.
        let before = unsafeBitCast(signal(SIGHUP, SIG_IGN), to: Int.self)
        return before == unsafeBitCast(SIG_IGN, to: Int.self) ? signals : signals + [SIGHUP]
    }

    func remove() {
        Self.removal.withLock { _ in Self.remove(path) }
    }

    /// Moves the folder out of the way first: a writer that is still at work finds no place for another file.
    private static func remove(_ path: String) {
        let grave = "\(path)-removed"
        let isMoved = (try? FileManager.default.moveItem(atPath: path, toPath: grave)) != nil
        try? FileManager.default.removeItem(atPath: isMoved ? grave : path)
    }
}
