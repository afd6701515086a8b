/// The methods by which a row has a say when it is saved: `willSave` and `validate`.
extension Method {
    /// Whether it is one of a row, called without arguments.
    var couldBeHook: Bool {
        !isGeneric && !hasParameters && !modifiers.contains { $0.name == "static" }
    }

    /// Whether the compiler takes it for what `Entity` asks for by that name.
    func isHook(in source: SourceText) -> Bool {
        let isMutating = modifiers.contains { $0.name == "mutating" }
        let result = result.map { source[$0].filter { !$0.isWhitespace } }
        let returnsNothing = ["()", "Void", "Swift.Void"].contains(result ?? "()")
        guard returnsNothing, !effects.contains("async") else { return false }
        return name.text == "validate" ? !isMutating : !effects.contains("throws")
    }
}
