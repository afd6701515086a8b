extension Coordinator {
    /// An identifier as text that names the same object wherever it is read: `graph://<store>/Person/p26`, with the store's
    /// UUID. The UUID of a store in memory lasts as long as its coordinator.
    ///
    /// Complexity: O(length of the entity's name).
    public nonisolated func uri(for id: AnyPersistentID) -> String {
        "graph://\(storeID)/\(id.entityName.percentEncoded)/p\(id.row)"
    }

    /// The same for an identifier with its type.
    ///
    /// Complexity: O(length of the entity's name).
    public nonisolated func uri<E>(for id: PersistentID<E>) -> String {
        uri(for: AnyPersistentID(id))
    }

    /// The identifier that `uri(for:)` wrote; nil if the text is no such URI, or if it names another store or an entity that
    /// the store does not have. An entity's original names count as its name does. Ask a context whether the object exists.
    ///
    /// Complexity: O(length of the text and of the entities' names).
    public nonisolated func id(forURI uri: String) -> AnyPersistentID? {
        let prefix = "graph://\(storeID)/"
        guard uri.hasPrefix(prefix) else { return nil }
        let parts = uri.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].first == "p", let row = RowNumber(parts[1].dropFirst()),
            row > 0, "p\(row)" == parts[1],
            let entity = snapshot.schema.entities.first(where: { entity in
                entity.knownNames.contains { $0.percentEncoded == parts[0] }
            })
        else { return nil }
        return AnyPersistentID(entityName: entity.name, row: row)
    }
}

extension String {
    /// With every byte escaped that is not unreserved in URIs (RFC 3986, 2.3).
    fileprivate var percentEncoded: String {
        utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
