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

/// How many optionals a type has around each other.
func optionalDepth(of type: any Any.Type) -> Int {
    (type as? any OptionalValue.Type).map { optionalDepth(of: $0.wrappedType) + 1 } ?? 0
}
