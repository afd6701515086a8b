/// What a store says about WordNet after it was loaded, closed and opened again.
struct WordNetStoreReport: Sendable {
    let figures: WordNetFigures
    let loadSeconds: Double
    let reopenSeconds: Double
    /// How long it took to find the figures in the reopened store.
    let querySeconds: Double
}
