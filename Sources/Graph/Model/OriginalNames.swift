/// What files call an entity or a property that has another name in the program: `"name"`, or if it was renamed more than once,
/// `["name", "label"]`, in any order. No two things may have the same name or original name.
public struct OriginalNames: Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    let names: [String]

    /// Complexity: O(1).
    public init(stringLiteral name: String) {
        names = [name]
    }

    /// Complexity: O(names).
    public init(arrayLiteral names: String...) {
        self.names = names
    }
}
