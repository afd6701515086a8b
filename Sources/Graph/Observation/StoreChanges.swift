/// What a commit has made of the store; several commits, if whoever follows them came late.
public struct StoreChange: Sendable {
    /// The commits, in most cases one.
    public let commits: ClosedRange<CommitNumber>
    /// Who made the commit, and where in the program; nil for several.
    public let origin: ChangeOrigin?
    /// The states before and after.
    public let state: StateChange

    /// The objects of an entity that were inserted, changed or deleted; see `StateChange`.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(of type: E.Type = E.self) -> [ObjectChange<E>] {
        state.changes(of: type)
    }
}

extension StoreChange: CustomStringConvertible {
    /// The commits, and who made them: `commit 4 by import (App/Library.swift:12)`.
    public var description: String {
        guard commits.lowerBound == commits.upperBound else {
            return "commits \(commits.lowerBound) to \(commits.upperBound)"
        }
        let who = origin?.who ?? ""
        return "commit \(commits.lowerBound)\(who.isEmpty ? "" : " " + who)"
    }
}

/// The commits of a store, from the time on at which it was asked for: each one is part of exactly one element, in their order.
///
/// The coordinator's ``Coordinator/commits`` has a commit as soon as it is durable; a context's ``Context/commits`` has it once
/// the context has taken it over, so that its objects show it.
///
/// Elements are there when they are asked for. Whoever falls behind by more than 64 commits gets one element for all of them.
/// The sequence ends when the coordinator is closed or released, and that of a context with the context. Each iteration is one
/// of its own.
public struct StoreChanges: AsyncSequence, Sendable {
    fileprivate let follower: Follower
    /// The state at the time when the sequence was asked for. Iterations refer to the follower alone, to let go of it.
    private let start: Snapshot

    /// - Parameter source: where the states come from; they are kept there, too.
    init(_ published: PublishedSnapshot, from source: PublishedSnapshot? = nil) {
        _ = source?.addFollower()
        follower = Follower(published, source)
        start = published.addFollower()
    }

    /// Begins with the first commit after the sequence was asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(follower: follower, last: start)
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let follower: Follower
        fileprivate var last: Snapshot

        /// The next commit, once there is one; nil if there will be none, or when the task is cancelled.
        ///
        /// Complexity: O(1), besides waiting: what a commit has changed is found when it is asked for.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> StoreChange? {
            let published = follower.published
            while true {
                if Task.isCancelled { return nil }
                if let (snapshot, origin) = published.step(after: last.commit) {
                    defer { last = snapshot }
                    return StoreChange(
                        commits: last.commit.next...snapshot.commit,
                        origin: origin,
                        state: StateChange(before: last, after: snapshot)
                    )
                }
                guard await published.waitForCommit(after: last.commit, isolation: actor) else { return nil }
            }
        }

        /// The same from no particular isolation.
        public mutating func next() async -> StoreChange? {
            await next(isolation: nil)
        }
    }

    /// Has states kept while somebody may still ask for them.
    fileprivate final class Follower: Sendable {
        let published: PublishedSnapshot
        private let source: PublishedSnapshot?

        /// To be followed by `addFollower()`.
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

/// The commits that touch an entity's rows; otherwise as `StoreChanges`. Members and links are in other rows, or in none: a
/// commit that changes nothing else is not among these.
public struct EntityChanges<E: Entity>: AsyncSequence, Sendable {
    let commits: StoreChanges

    /// What became of the entity's objects, by commits.
    public struct Element: Sendable {
        /// The commits, in most cases one.
        public let commits: ClosedRange<CommitNumber>
        /// Who made the commit, and where in the program; nil for several.
        public let origin: ChangeOrigin?
        /// At least one, in the order of the objects' insertion.
        public let changes: [ObjectChange<E>]
        /// The states before and after, for what else has changed.
        public let state: StateChange
    }

    /// Begins with the first commit after the sequence was asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(commits: commits.makeAsyncIterator())
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var commits: StoreChanges.Iterator

        /// The next commit that touches the entity; nil if there will be none, or when the task is cancelled.
        ///
        /// Complexity: O(changed objects of the entity), besides waiting.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while let commit = await commits.next(isolation: actor) {
                let changes = commit.changes(of: E.self)
                guard changes.isEmpty else {
                    return Element(
                        commits: commit.commits,
                        origin: commit.origin,
                        changes: changes,
                        state: commit.state
                    )
                }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }
    }
}

/// The commits that touch one object; otherwise as `StoreChanges`.
public struct ObjectChanges<E: Entity>: AsyncSequence, Sendable {
    let commits: StoreChanges
    let id: PersistentID<E>

    /// Begins with the first commit after the sequence was asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(commits: commits.makeAsyncIterator(), id: id)
    }

    /// Goes from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var commits: StoreChanges.Iterator
        fileprivate let id: PersistentID<E>

        /// What the next commit that touches the object makes of it; nil if there will be none, or when the task is cancelled.
        ///
        /// Complexity: O(log *n*) for each commit on the way and *n* objects of the entity, besides waiting.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ObjectChange<E>? {
            while let commit = await commits.next(isolation: actor) {
                if let change = commit.state.change(of: id) { return change }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async -> ObjectChange<E>? {
            await next(isolation: nil)
        }
    }
}
