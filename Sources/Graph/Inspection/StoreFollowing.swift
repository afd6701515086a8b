/// The commits of a file as they become durable, while a program writes it.
package struct StoreFollowing: AsyncSequence, Sendable {
    package enum Element: Sendable {
        case commit(StoreLog.Commit)
        /// Commits of which the file has only what they have led to: it was compacted, or converted, before they could be read.
        case missed(ClosedRange<UInt64>)
    }

    private let file: FollowedFile
    private let hasDetails: Bool

    /// Reads a file up to its newest durable commit, as ``StoreInspection`` does.
    ///
    /// - Parameter hasDetails: whether commits have the objects and links that they changed.
    ///
    /// Complexity: O(file).
    package init(_ path: String, hasDetails: Bool = false) async throws(GraphError) {
        file = try await Journal.onExecutor { () throws(GraphError) in
            try FollowedFile(path, schema: nil, fileSystem: PosixFileSystem(), options: JournalOptions())
        }
        self.hasDetails = hasDetails
    }

    /// The last commit before those that follow.
    package var firstCommit: UInt64 { file.snapshot.commit.number }

    /// Begins with the first commit after the sequence was made. It has an element for each commit from then on, however slowly
    /// these are taken.
    ///
    /// Its `next()` throws why the file cannot be followed any more.
    package func makeAsyncIterator() -> AsyncThrowingStream<Element, any Error>.Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Element.self)
        let hasDetails = hasDetails
        let follower = FileFollower(
            file,
            show: { steps in
                for step in steps { continuation.yield(Self.element(step, hasDetails)) }
            },
            didEnd: { continuation.finish(throwing: $0) })
        let location = file.location
        let task = Task { await follower.run(location, PosixFileSystem()) }
        continuation.onTermination = { _ in task.cancel() }
        return stream.makeAsyncIterator()
    }

    private static func element(_ step: FollowedFile.Step, _ hasDetails: Bool) -> Element {
        guard let head = step.head else {
            return .missed(step.before.commit.next.number...step.after.commit.number)
        }
        return .commit(
            StoreLog.Commit(
                head, step.after.difference(from: step.before), bytes: step.bytes, hasDetails: hasDetails))
    }
}
