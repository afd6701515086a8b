/// The stored properties of a type, as the runtime's metadata lists them.
///
/// These functions are beneath the standard library's `Mirror`, which needs an instance where we have only a type. libswiftCore
/// exports them on every platform; no public call returns names and offsets without an instance.
struct StoredProperty {
    let name: String
    let type: Any.Type
    let offset: Int
    /// False for weak and unowned references, whose memory does not hold a value of the type.
    let isStrong: Bool

    /// Whether values of the type lie in rows with their stored properties inside: not classes, whose rows would be references,
    /// nor enumerations, whose cases share their memory.
    static func isStruct(_ type: Any.Type) -> Bool {
        metadataKind(type) == 0x200
    }

    static func all(of type: Any.Type) -> [StoredProperty] {
        (0..<recursiveCount(type)).map { index in
            var field = FieldMetadata()
            let fieldType = recursiveChildMetadata(type, index: index, fieldMetadata: &field)
            defer { field.free?(field.name) }
            return StoredProperty(
                name: unquoted(field.name.map { String(cString: $0) } ?? ""),
                type: fieldType,
                offset: recursiveChildOffset(type, index: index),
                isStrong: field.isStrong
            )
        }
    }

    /// Removes the back-ticks of names that need them even in expressions, and U+00A0 in place of spaces.
    private static func unquoted(_ name: String) -> String {
        guard name.count > 2, name.hasPrefix("`"), name.hasSuffix("`") else { return name }
        return String(name.dropFirst().dropLast()).replacing("\u{A0}", with: " ")
    }
}

/// The runtime fills this in; the layout is that of `_FieldReflectionMetadata` in the standard library.
private struct FieldMetadata {
    var name: UnsafePointer<CChar>?
    var free: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
    var isStrong = false
    var isVariable = false
}

/// `MetadataKind` of the runtime; 0x200 is a struct, as the ABI fixes it.
@_silgen_name("swift_getMetadataKind")
private func metadataKind(_: Any.Type) -> UInt

@_silgen_name("swift_reflectionMirror_recursiveCount")
private func recursiveCount(_: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func recursiveChildMetadata(
    _: Any.Type,
    index: Int,
    fieldMetadata: UnsafeMutablePointer<FieldMetadata>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func recursiveChildOffset(_: Any.Type, index: Int) -> Int
