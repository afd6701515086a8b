import Dispatch
import Foundation

/// The files of a run: removed at its end, and when the run is interrupted.
final class WorkDirectory {
    let path: String
    private let sources: [any DispatchSourceSignal]

    /// Makes a fresh folder inside `parent`, or where the system keeps temporary files.
    convenience init(in parent: String?) throws {
        let base = parent ?? FileManager.default.temporaryDirectory.path
        let path = "\(base)/graphbench-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        self.init(path: path)
    }

    private init(path: String) {
        self.path = path
        sources = [SIGINT, SIGTERM].map { number in
            // The signal's own action would end the process before the source sees it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                Self.remove(path)
                ProgressLine().clear()
                exit(128 + number)
            }
            source.activate()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }

    func remove() {
        Self.remove(path)
    }

    /// Twice, because a writer that is still at work may add a file behind the first removal.
    private static func remove(_ path: String) {
        for _ in 0..<2 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
