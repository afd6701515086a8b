/// The values of a computation over a store, from commit to commit: it runs again only when something that it has read is another
/// one, and a value that equals the one before is left out.
///
/// What it reads is noted while it runs, anew each time: rows by identifier, members, ranges of keys of look-ups, and of what its
/// predicates and scans search. So what it reads may depend on what it finds. It must take all of its data from the snapshot that it
/// is given, and must not depend on the number of the newest commit. Like ``ResultUpdates`` it works when it is asked for the
/// next value, and skips what happened meanwhile.
public struct ComputedValues<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    let published: PublishedSnapshot
    let compute: @Sendable (Snapshot) throws -> Value

    /// Begins with the current value.
    public func makeAsyncIterator() -> Iterator { Iterator(published: published, compute: compute) }

    /// Goes from value to value.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let published: PublishedSnapshot
        fileprivate let compute: @Sendable (Snapshot) throws -> Value
        /// What the last run read, and a state in which that is as it was then.
        private var last: (value: Value, reads: ReadSet, state: Snapshot)?
        private var isOver = false

        fileprivate init(published: PublishedSnapshot, compute: @escaping @Sendable (Snapshot) throws -> Value) {
            (self.published, self.compute) = (published, compute)
        }

        /// The current value, then the next other one, once there is one; nil if there will be none, or when the task is
        /// cancelled.
        ///
        /// - Throws: what the computation throws; the sequence is then over.
        ///
        /// Complexity: that of the computation if a commit has changed what it read. For each other commit O(*r* + *c*) for *r*
        /// reads and *c* changed objects of entities and ranges that were searched; members that were read are compared one by one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            while !isOver, !Task.isCancelled {
                if let state = last?.state {
                    guard await published.waitForCommit(after: state.commit, isolation: actor) else { break }
                }
                if let value = try newestValue() { return value }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async throws -> Value? { try await next(isolation: nil) }

        /// The value of the newest state; nil if it is the same.
        mutating func newestValue() throws -> Value? {
            let state = published.value
            if let last, !last.reads.isChanged(from: last.state, to: state) {
                self.last = (last.value, last.reads, state)
                return nil
            }
            let log = ReadLog()
            isOver = true
            let value = try compute(state.read(by: log))
            isOver = false
            defer { last = (value, log.value, state) }
            return last.map { $0.value == value } == true ? nil : value
        }
    }
}
