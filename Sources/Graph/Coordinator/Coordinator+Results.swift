extension Coordinator {
    /// The result of a descriptor, and then how commits change it, with identifiers and values: to be read from anywhere.
    ///
    /// ```swift
    /// for try await update in coordinator.results(FetchDescriptor<Person>(sortBy: [.ascending(\.name)])) {
    ///     print(update.values.map(\.name), update)
    /// }
    /// ```
    ///
    /// The first update is from nothing to the current result. Whoever is slow gets one update for many commits.
    ///
    /// Complexity: O(1). The first update takes a fetch, each other one O(*k* log *n*) for *k* changed objects of the entity and
    /// *n* of the result; see ``ResultUpdates``.
    public nonisolated func results<E: Entity>(_ descriptor: FetchDescriptor<E>) -> ResultUpdates<E> {
        ResultUpdates(.commits(published, ResultDefinition(descriptor)), from: nil)
    }
}
