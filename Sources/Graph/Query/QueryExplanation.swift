/// How a fetch finds its objects: which index it uses, how many rows it expects and how many it looks at.
public struct QueryExplanation: Sendable, CustomStringConvertible {
    /// What the fetch looks at, and in which order.
    public let plan: String
    /// The number of rows that indexes propose; that of all objects without one.
    public let expectedCount: Int
    /// The number of rows that the fetch looked at.
    public let visitedCount: Int
    /// The number of results.
    public let resultCount: Int

    /// The plan and the numbers, on one line.
    public var description: String {
        "\(plan); expected \(expectedCount), looked at \(visitedCount), found \(resultCount)"
    }
}

extension Snapshot {
    /// Runs a fetch and tells how it found its objects.
    ///
    /// ```swift
    /// print(try snapshot.explain(FetchDescriptor<Person>(predicate: #Predicate { $0.age == 30 })))
    /// // 3 rows by the index of Person.age; expected 3, looked at 3, found 3
    /// ```
    ///
    /// - Throws: what ``fetchValues(_:)`` throws.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    public func explain<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> QueryExplanation {
        let plan = try QueryPlan(descriptor, in: self)
        var found = 0
        try plan.forEachRow { _ in found += 1 }
        return QueryExplanation(
            plan: plan.explanation, expectedCount: plan.expectedCount, visitedCount: plan.visitedCount,
            resultCount: found)
    }
}
