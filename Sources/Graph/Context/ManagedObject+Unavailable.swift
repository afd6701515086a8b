// What programs try with objects and what cannot be, so that the compiler says what to write instead.

/// Unavailable: an object belongs to its context.
@available(
    *, unavailable, message: "an object stays in its context: pass its 'id', or its 'value', which is a plain struct"
)
extension ManagedObject: @unchecked Sendable {}

extension ManagedObject {
    /// Unavailable: objects come from a context.
    @available(
        *, unavailable,
        message: "an object comes from a context: insert a value there, as in context.insert(Person(name: \"Ada\"))"
    )
    public convenience init(_ values: Any...) { fatalError() }

    /// Unavailable: objects come from a context.
    @available(
        *, unavailable,
        message: "an object comes from a context: insert a value there, as in context.insert(Person(name: \"Ada\"))"
    )
    public convenience init(context: Context) { fatalError() }
}
