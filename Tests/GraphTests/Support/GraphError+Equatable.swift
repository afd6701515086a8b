@testable public import Graph

/// Errors are compared by what they print. The names are whole, since this file belongs to a package of its own, too (Threads),
/// where a conformance would be retroactive otherwise.
extension Graph.GraphError: Swift.Equatable {
    /// Whether case, object or file, and reason are the same.
    public static func == (lhs: GraphError, rhs: GraphError) -> Bool { lhs.description == rhs.description }
}
