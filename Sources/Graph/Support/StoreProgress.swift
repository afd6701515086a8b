import Synchronization

/// How far a program is with something that takes as long as a store is large: opening, compacting or copying its file, or
/// writing its objects as text.
///
/// ```swift
/// let coordinator = try await Coordinator(for: Photo.self, at: path) { print($0) }  // reading: 42 %
/// ```
public struct StoreProgress: Sendable, Hashable, CustomStringConvertible {
    /// A part of the work.
    public enum Stage: String, Sendable, Hashable {
        /// Reads the records of the file.
        case reading
        /// Builds the indexes and checks what all objects together must fulfil.
        case checking
        /// Makes objects of the program's schema from those of the file's.
        case converting
        /// Writes a new file, or a text.
        case writing
    }

    /// Opening reads and checks. If the schemas differ it begins anew, and then converts, once for each step of a plan, and writes.
    /// Compacting, copying and exporting only write.
    public let stage: Stage
    /// How much of the stage is done, from 0 to 1.
    public let fraction: Double

    /// The stage and a percentage.
    public var description: String { "\(stage.rawValue): \(Int(fraction * 100)) %" }
}

/// Tells a program of its progress, whenever that is another hundredth.
final class ProgressMeter: Sendable {
    private struct State {
        var handlers: [@Sendable (StoreProgress) -> Void]
        var last: (stage: StoreProgress.Stage, hundredths: Int)?
    }

    private let state: Mutex<State>

    init(_ handler: (@Sendable (StoreProgress) -> Void)? = nil) {
        state = Mutex(State(handlers: handler.map { [$0] } ?? []))
    }

    /// Has somebody else told as well, from now on.
    func add(_ handler: @escaping @Sendable (StoreProgress) -> Void) { state.withLock { $0.handlers.append(handler) } }

    var handlerCount: Int { state.withLock { $0.handlers.count } }

    func report(_ stage: StoreProgress.Stage, _ done: UInt64, of total: UInt64) {
        let fraction = done < total ? Double(done) / Double(total) : 1
        let hundredths = Int(fraction * 100)
        let handlers: [@Sendable (StoreProgress) -> Void] = state.withLock { state in
            guard !state.handlers.isEmpty, state.last.map({ $0 != (stage, hundredths) }) ?? true else { return [] }
            state.last = (stage, hundredths)
            return state.handlers
        }
        for handler in handlers { handler(StoreProgress(stage: stage, fraction: fraction)) }
    }
}
