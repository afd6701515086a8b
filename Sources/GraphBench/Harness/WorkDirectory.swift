import Dispatch
import Foundation
import Synchronization

/// The files of a run: removed at its end, and when the run is interrupted.
final class WorkDirectory {
    let path: String
    private let sources: [any DispatchSourceSignal]

    private static let signals = [SIGINT, SIGTERM]
    /// Held while the files are removed. After an interruption it is never let go: a run that fails because its files went waits
    /// here for the end, and does not end the process before they are gone and with another code.
    private static let removal = Mutex(())

    /// Makes a fresh folder inside `parent`, or where the system keeps temporary files.
    convenience init(in parent: String?) throws {
        let base = parent ?? FileManager.default.temporaryDirectory.path
        // Interruptions are heeded before there is anything to remove.
        self.init(path: "\(base)/graphbench-\(UUID().uuidString.lowercased())")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    private init(path: String) {
        self.path = path
        sources = Self.signals.map { number in
            // The signal's own action would end the process before the source sees it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
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
    }

    deinit {
        for source in sources { source.cancel() }
        for number in Self.signals { signal(number, SIG_DFL) }
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
