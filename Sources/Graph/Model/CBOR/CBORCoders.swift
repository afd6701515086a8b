import Synchronization

/// A pool of idle encoders and decoders that keep their memory.
///
/// One that is still referenced elsewhere, as by a type that kept its decoder, does not return to the pool.
enum CBORCoders {
    private struct Pool {
        // Nothing else refers to coders in the pool, so that the caller who takes one has it alone.
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

    /// Returns false if one of them cannot be encoded: it counts as changed, and saving it then fails.
    static func haveSameEncoding<Value: Encodable>(_ lhs: Value, _ rhs: Value) -> Bool {
        (try? withEncoding(of: lhs) { left in try withEncoding(of: rhs) { left == $0 } }) ?? false
    }

    /// Decodes a value, and tells whether the type has asked for everything in the bytes.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: UnsafeRawBufferPointer
    ) throws -> (value: Value, isComplete: Bool) {
        var decoding = pool.withLock { Taken($0.decodings.popLast()) }.value ?? CBORDecoding()
        defer {
            if isKnownUniquelyReferenced(&decoding), decoding.isSmall {
                let taken = Taken(decoding)
                pool.withLock { if $0.decodings.count < limit { $0.decodings.append(taken.value) } }
            }
        }
        try decoding.parse(bytes)
        decoding.noteRead(0)
        let value = try CBORDecoder(decoding: decoding, index: 0).decode(type)
        return (value, decoding.isRead)
    }

    /// Carries a coder into or out of the lock. Sendable without the compiler's proof: either the pool or one caller refers to
    /// its contents.
    private struct Taken<Coder>: @unchecked Sendable {
        let value: Coder

        init(_ value: Coder) {
            self.value = value
        }
    }
}
