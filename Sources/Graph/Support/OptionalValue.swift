/// Optionals, for code that has a value of any type.
protocol OptionalValue: SendableMetatype {
    static var wrappedType: any Any.Type { get }
    /// - Parameter address: of an initialized value of the type.
    static func isNil(at address: UnsafeRawPointer) -> Bool
    /// nil, as a value of the type.
    static var null: Any { get }
}

extension Optional: OptionalValue {
    static var wrappedType: any Any.Type { Wrapped.self }

    static func isNil(at address: UnsafeRawPointer) -> Bool {
        if case .none = address.assumingMemoryBound(to: Self.self).pointee { true } else { false }
    }

    static var null: Any { Self.none as Any }
}
