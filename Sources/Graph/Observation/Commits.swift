#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// What one commit did to the store; several commits, if the reader of a feed fell behind.
public struct Commit: Sendable {
    /// The commits, in most cases one.
    public let commits: ClosedRange<CommitNumber>
    /// Who made the commit, and where in the program; nil for several. One from the store's file has its author alone.
    public let origin: ChangeOrigin?
    /// When the commit was made, by the clock of the machine that made it; of several, the last one.
    public let time: Date
    /// What differs between two states, or what the commit's record says.
    let changes: any StateChanges

    /// - Parameter time: in nanoseconds since 1970.
    init(_ changes: any StateChanges, origin: ChangeOrigin?, time: UInt64) {
        commits = changes.tokens.before.commit.next...changes.tokens.after.commit
        self.time = Date(timeIntervalSince1970: Double(time) / 1e9)
        (self.changes, self.origin) = (changes, origin)
    }

    /// The number of the commit; of several, the last one's.
    public var number: CommitNumber { commits.upperBound }

    /// The place of the commit in the store's history; of several, that of the last one.
    public var token: HistoryToken { changes.tokens.after }

    /// The store before and after; nil for a commit that ``CommitHistory`` has read from the store's file.
    public var difference: SnapshotDifference? { changes as? SnapshotDifference }

    /// The objects of an entity that were inserted, changed or deleted; see ``SnapshotDifference/changes(of:)``.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(of type: E.Type = E.self) -> [Change<E>] {
        changes.objectChanges(of: type)
    }

    /// The objects of which the commit has changed a property, in the order of their insertion; those that it inserted or deleted are
    /// among them.
    ///
    /// - Parameter property: an attribute or a to-one relationship. Of a to-many one, ask for ``changedOwners(of:)``.
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(in property: PartialKeyPath<E>) -> [Change<E>] {
        changes.objectChanges(in: property)
    }

    /// The objects of all entities that were inserted, changed or deleted: one entity after the other, as the store was opened with
    /// them, and each one's objects in the order of their insertion.
    ///
    /// Complexity: O(changed objects).
    public func allChanges() -> [AnyChange] { changes.allObjectChanges() }

    /// The links that were made and ended, of all relationships that have links of their own: one relationship after the other, ended
    /// links before made ones. Where a member of an ordered relationship stands is in the ``Snapshot`` at the commit's token.
    ///
    /// Complexity: O(changed links).
    public func linkChanges() -> [LinkChange] { changes.linkChanges() }

    func hasChanges<E: Entity>(of type: E.Type) -> Bool { changes.hasChanges(of: type) }

    func hasChanges<E: Entity>(in property: PartialKeyPath<E>) -> Bool { changes.hasChanges(in: property) }

    /// The change of one object; nil if the commit did not change it.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public func change<E>(of id: PersistentID<E>) -> Change<E>? { changes.objectChange(of: id) }

    /// The objects with other members than before, or with the same in another order, in the order of their insertion. A member of
    /// an ordered list that was removed and put back counts as moved.
    ///
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(changed references or links); in ``CommitHistory``, O(changed objects).
    public func changedOwners<E, Target>(
        of keyPath: any KeyPath<E, ToMany<Target>> & Sendable
    ) -> [PersistentID<E>] {
        changes.owners(withChanged: keyPath)
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
                if let step = published.step(after: last.commit) {
                    let difference = SnapshotDifference(before: last, after: step.snapshot)
                    last = step.snapshot
                    guard isWanted(difference) else { continue }
                    return Commit(difference, origin: step.origin, time: step.time)
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
                if let change = commit.change(of: id) { return change }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async -> Change<E>? {
            await next(isolation: nil)
        }
    }
}
