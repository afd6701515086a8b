extension MigrationStep {
    /// A step that runs a closure.
    ///
    /// The new version's objects have the identifiers and versions of the old ones, and all values and links that follow from
    /// the two schemas, as if there were no plan. A property of which nothing says what it is has its default, or is zero, empty
    /// or nil; if its type has nothing like that, opening throws `.migrationFailed`. Unique values and counts are checked
    /// after the last step.
    ///
    /// - Parameters:
    ///   - body: gets the store as it was, with the old version's types, and a context of the new one, which is saved when it
    ///     returns. If it throws, opening the store throws `.migrationStepFailed`.
    ///
    /// Complexity: O(*n* log *n*) for *n* objects and links, and that of the closure.
    public static func custom(
        from source: any SchemaVersion.Type,
        to target: any SchemaVersion.Type,
        _ body: @escaping @Sendable (_ old: Snapshot, _ new: isolated Context) throws -> Void
    ) -> MigrationStep {
        MigrationStep(source: source, target: target) { old, coordinator in
            let context = Context(coordinator)
            try await context.perform { context in try body(old, context) }
            try await context.save()
        }
    }
}
