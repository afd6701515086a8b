@testable import Graph

/// Errors are compared by what they print: case, object or file, and reason.
extension GraphError: Equatable {
    static func == (lhs: GraphError, rhs: GraphError) -> Bool { lhs.description == rhs.description }
}
