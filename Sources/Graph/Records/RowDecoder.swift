/// Calls the properties of an entity without counting references to them, which takes as long as decoding.
///
/// The schema of the replay holds the properties, and is the same while a record is applied.
struct RowDecoder {
    private let properties: [Unmanaged<Property>]

    init(_ properties: [Property]) {
        self.properties = properties.map(Unmanaged.passUnretained)
    }

    var count: Int { properties.count }

    @inline(__always)
    func decode(_ number: Int, _ reader: inout ByteReader, into address: UnsafeMutableRawPointer) throws {
        try properties[number]._withUnsafeGuaranteedRef { property in
            try property.operations.decode(&reader, address + property.offset)
        }
    }
}

extension Property {
    /// Replaces the value at the address by one that is read, or throws and leaves it as it is.
    func decode(_ reader: inout ByteReader, replacing address: UnsafeMutableRawPointer) throws {
        try withDecodedValue(&reader) { operations.assign(address, $0) }
    }

    /// Reads a value and forgets it.
    func skip(_ reader: inout ByteReader) throws {
        try withDecodedValue(&reader) { _ in }
    }

    private func withDecodedValue(_ reader: inout ByteReader, _ body: (UnsafeMutableRawPointer) -> Void) throws {
        try withUnsafeTemporaryAllocation(byteCount: max(sizeBytes, 1), alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let value = memory.baseAddress.unsafelyUnwrapped
            try operations.decode(&reader, value)
            body(value)
            operations.deinitialize(value)
        }
    }
}
