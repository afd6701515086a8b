import Synchronization

/// Encoders and decoders that are at rest, with the memory that they have.
///
/// One that somebody still refers to, a type that kept the decoder it was given, say, does not come back: it is left to whoever has it.
enum CBORCoders {
    private struct Pool {
        // In the pool nobody else refers to them, so that whoever takes one out has it alone.
        var encodings: [CBOREncoding] = []
        var decodings: [CBORDecoding] = []
    }

    private static let pool = Mutex(Pool())
    private static let limit = 4

    /// Passes the bytes of a value to the body.
    static func withEncoding<Value: Encodable, Result>(
        of value: Value,
        _ body: ([UInt8]) throws -> Result
    ) throws -> Result {
        var encoding = pool.withLock { Taken($0.encodings.popLast()) }.value ?? CBOREncoding()
        defer {
            if isKnownUniquelyReferenced(&encoding), encoding.isSmall {
                let taken = Taken(encoding)
                pool.withLock { if $0.encodings.count < limit { $0.encodings.append(taken.value) } }
            }
        }
        try encoding.encode(value)
        return try body(encoding.output)
    }

    /// False if one of them cannot be encoded: it is taken for a change, and saving it fails then.
    static func haveSameEncoding<Value: Encodable>(_ lhs: Value, _ rhs: Value) -> Bool {
        (try? withEncoding(of: lhs) { left in try withEncoding(of: rhs) { left == $0 } }) ?? false
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        var decoding = pool.withLock { Taken($0.decodings.popLast()) }.value ?? CBORDecoding()
        defer {
            if isKnownUniquelyReferenced(&decoding), decoding.isSmall {
                let taken = Taken(decoding)
                pool.withLock { if $0.decodings.count < limit { $0.decodings.append(taken.value) } }
            }
        }
        try decoding.parse(bytes)
        return try CBORDecoder(decoding: decoding, index: 0).decode(type)
    }

    /// Carries a coder out of the lock or into it. Sendable without the compiler's proof: exactly one of the pool and a caller
    /// refers to what is in it.
    private struct Taken<Coder>: @unchecked Sendable {
        let value: Coder

        init(_ value: Coder) {
            self.value = value
        }
    }
}
