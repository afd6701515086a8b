/// What a program asks of an import.
struct ImportRequest: Sendable {
    let sources: [RowSource]
    /// nil if each constraint has its own policy.
    let uniqueness: UniquenessPolicy?
    /// nil for one commit.
    let batchSize: Int?
    let ignoresUnknownTargets: Bool
    let origin: ChangeOrigin
    let progress: (@Sendable (ImportProgress) -> Void)?
}
