/// What one commit did to the store; several commits, if the reader of a feed fell behind.
public struct Commit: Sendable {
    /// The commits, in most cases one.
    public let commits: ClosedRange<CommitNumber>
    /// Who made the commit, and where in the program; nil for several.
    public let origin: ChangeOrigin?
    /// The store before and after, and what differs.
    public let difference: SnapshotDifference

    /// The place of the commit in the store's history; of several, that of the last one.
    public var token: HistoryToken { difference.after.token }

    /// The objects of an entity that were inserted, changed or deleted; see ``SnapshotDifference/changes(of:)``.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(of type: E.Type = E.self) -> [Change<E>] {
        difference.changes(of: type)
    }
}

extension Commit: CustomStringConvertible {
    /// The commits, and who made them: `commit 4 by import (App/Library.swift:12)`.
    public var description: String {
        guard commits.lowerBound == commits.upperBound else {
            return "commits \(commits.lowerBound) to \(commits.upperBound)"
        }
        let who = origin?.who ?? ""
        return "commit \(commits.lowerBound)\(who.isEmpty ? "" : " " + who)"
    }
}

/// The commits of a store from the time on at which the program asked for them, each as part of exactly one element, in their
/// order.
///
/// The coordinator's ``Coordinator/commits`` has a commit as soon as its save returns; a context's ``Context/commits`` has it once
/// the context has taken it over, so that its objects show it.
///
/// Elements are made when they are asked for. A reader that falls behind by more than 64 commits gets one element for all of
/// them. The sequence ends when the coordinator is closed or released, and that of a context with the context. Every iteration
/// begins with the first commit after the sequence was made.
public struct Commits: AsyncSequence, Sendable {
    fileprivate let follower: Follower
    /// The state when the sequence was requested. Iterations keep only the follower, so that they release this.
    private let start: Snapshot
    private let isWanted: @Sendable (SnapshotDifference) -> Bool

    /// - Parameters:
    ///   - source: publishes the states and keeps them.
    ///   - isWanted: whether a commit belongs to the sequence.
    init(
        _ published: PublishedSnapshot,
        from source: PublishedSnapshot? = nil,
        where isWanted: @escaping @Sendable (SnapshotDifference) -> Bool = { _ in true }
    ) {
        _ = source?.addFollower()
        follower = Follower(published, source)
        start = published.addFollower()
        self.isWanted = isWanted
    }

    /// Begins with the first commit after the sequence was asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(follower: follower, isWanted: isWanted, last: start)
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let follower: Follower
        fileprivate let isWanted: @Sendable (SnapshotDifference) -> Bool
        fileprivate var last: Snapshot

        /// The next commit, once there is one; nil if there will be none, or when the task is cancelled.
        ///
        /// Complexity: O(1), besides waiting: what a commit has changed is found when it is asked for. With a condition,
        /// O(log *n*) for each commit on the way and *n* objects of the entity.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Commit? {
            let published = follower.published
            while true {
                if Task.isCancelled { return nil }
                if let (snapshot, origin) = published.step(after: last.commit) {
                    let difference = SnapshotDifference(before: last, after: snapshot)
                    last = snapshot
                    guard isWanted(difference) else { continue }
                    let commits = difference.before.commit.next...snapshot.commit
                    return Commit(commits: commits, origin: origin, difference: difference)
                }
                guard await published.waitForCommit(after: last.commit, isolation: actor) else { return nil }
            }
        }

        /// The same from no particular isolation.
        public mutating func next() async -> Commit? {
            await next(isolation: nil)
        }
    }

    /// Makes the source keep states while it exists.
    fileprivate final class Follower: Sendable {
        let published: PublishedSnapshot
        private let source: PublishedSnapshot?

        /// The caller calls `addFollower()`.
        init(_ published: PublishedSnapshot, _ source: PublishedSnapshot?) {
            self.published = published
            self.source = source
        }

        deinit {
            published.removeFollower()
            source?.removeFollower()
        }
    }
}

/// The changes of one object, commit by commit; otherwise as ``Commits``.
public struct ObjectChanges<E: Entity>: AsyncSequence, Sendable {
    let commits: Commits
    let id: PersistentID<E>

    /// Begins with the first commit after the sequence was asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(commits: commits.makeAsyncIterator(), id: id)
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var commits: Commits.Iterator
        fileprivate let id: PersistentID<E>

        /// The change that the next commit which touches the object makes; nil if there will be none, or when the task is
        /// cancelled.
        ///
        /// Complexity: O(log *n*) for each commit on the way and *n* objects of the entity, besides waiting.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change<E>? {
            while let commit = await commits.next(isolation: actor) {
                if let change = commit.difference.change(of: id) { return change }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async -> Change<E>? {
            await next(isolation: nil)
        }
    }
}
