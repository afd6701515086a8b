extension Coordinator {
    /// The result of a descriptor, and then how commits change it, with identifiers and values: to be read from anywhere.
    ///
    /// ```swift
    /// for try await update in coordinator.results(FetchDescriptor<Person>(sortBy: [.ascending(\.name)])) {
    ///     print(update.values.map(\.name), update)
    /// }
    /// ```
    ///
    /// The first update is from nothing to the current result. A slow reader gets one update for many commits.
    ///
    /// Complexity: O(1). The first update takes a fetch, each other one O(*k* log *n*) for *k* changed objects of the entity and
    /// *n* of the result; see ``ResultUpdates``.
    public nonisolated func results<E: Entity>(_ descriptor: FetchDescriptor<E>) -> ResultUpdates<E> {
        ResultUpdates(.commits(published, ResultDefinition(descriptor)), from: nil)
    }

    /// What a computation over the store comes to, and each time that commits make it another value: to be read from anywhere.
    ///
    /// ```swift
    /// for try await count in coordinator.values({ try $0.fetchCount(Person.self, where: #Predicate { $0.age >= 18 }) }) {
    ///     print("\(count) adults")
    /// }
    /// ```
    ///
    /// - Parameter compute: takes everything from the snapshot; see ``ComputedValues``.
    ///
    /// Complexity: O(1).
    public nonisolated func values<Value: Equatable & Sendable>(
        _ compute: @escaping @Sendable (Snapshot) throws -> Value
    ) -> ComputedValues<Value> {
        ComputedValues(published: published, compute: compute)
    }
}
