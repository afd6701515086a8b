#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The place in a sorted result where a page ends, for ``FetchDescriptor/after``: the next page begins behind it, whatever was
/// inserted or deleted before it meanwhile, and also when the object that the page ended with is gone.
///
/// It holds the values that the sort compares, and belongs to the sort that it was made for. As text it fits into an address or a
/// cookie, also in another process; a text that was changed is refused, or leads to some other part of a result.
public struct PageToken: Sendable, Hashable {
    /// The bytes of each criterion, as `RowOrder` appends them.
    let keys: [[UInt8]]
    let row: RowNumber
    /// The checksum of the sort.
    let sort: UInt32
}

extension PageToken: LosslessStringConvertible {
    /// The token as letters, digits, `-` and `_`.
    ///
    /// Complexity: O(length of the values).
    public var description: String {
        var writer = ByteWriter(capacity: 64)
        writer.appendFixed(sort)
        writer.appendVarint(row)
        for key in keys {
            writer.appendVarint(UInt64(key.count))
            writer.append(contentsOf: key)
        }
        return Data(writer.bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The token with this text; nil if the text is no token.
    ///
    /// Complexity: O(length of the text).
    public init?(_ description: String) {
        let text = description.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding) else { return nil }
        let token = data.withUnsafeBytes { bytes -> PageToken? in
            var reader = ByteReader(bytes)
            return try? PageToken(&reader)
        }
        guard let token else { return nil }
        self = token
    }

    private init(_ reader: inout ByteReader) throws(ByteReader.Failure) {
        sort = try reader.readFixed()
        row = try reader.readVarint()
        var keys: [[UInt8]] = []
        while reader.remaining > 0 { keys.append([UInt8](try reader.take(reader.readCount(minimumBytes: 1)))) }
        self.keys = keys
    }
}

extension PageToken: Codable {
    /// Reads the text of ``description``.
    public init(from decoder: any Decoder) throws {
        try self.init(textOf: decoder, as: "page token")
    }

    /// Writes the text of ``description``.
    public func encode(to encoder: any Encoder) throws {
        try encodeText(to: encoder)
    }
}

/// A page of a result, and where the next one begins.
public struct FetchPage<Element> {
    /// The results of the page, in the order of the fetch.
    public let elements: [Element]
    /// Where this page ends, for ``FetchDescriptor/after``; nil if there is no further result.
    public let next: PageToken?
}

extension FetchPage: Sendable where Element: Sendable {}

/// A token's place in the order that it belongs to.
struct PagePosition: Sendable {
    private(set) var order: RowOrder
    let token: PageToken

    /// - Throws: `GraphError.pageTokenMismatch` if the token belongs to another sort.
    init(_ token: PageToken, _ order: RowOrder, _ schema: Schema) throws(GraphError) {
        guard token.sort == order.checksum(schema), token.keys.count == order.criteria.count else {
            throw .pageTokenMismatch(schema.entities[order.entity].name)
        }
        (self.order, self.token) = (order, token)
    }

    mutating func move(to snapshot: Snapshot) { order.move(to: snapshot) }

    /// Whether a row comes behind the page.
    func isBefore(_ row: RowNumber, _ address: UnsafeRawPointer) -> Bool {
        var writer = ByteWriter()
        for (criterion, key) in zip(order.criteria, token.keys) {
            writer.removeAll()
            order.append(criterion, of: address, to: &writer)
            let difference = writer.bytes.withUnsafeBytes { bytes in
                key.withUnsafeBytes { KeyBytes(bytes).compare(KeyBytes($0)) }
            }
            if difference != 0 { return difference > 0 }
        }
        return row > token.row
    }

    /// The number of entries that lie before all rows behind the page, of those that are the first in an order.
    ///
    /// - Parameters:
    ///   - count: how many of the order's first criteria the index has.
    ///   - isWholeOrder: whether entries that are equal in these come in the order of the result.
    func passedCount(_ index: OrderedIndex, in ranks: Range<Int>, leading count: Int, isWholeOrder: Bool) -> Int {
        let isDescending = order.criteria[0].isDescending
        let key = token.keys.prefix(count).flatMap { isDescending ? $0.map { ~$0 } : $0 }
        let equal = key.withUnsafeBytes { index.rank(of: .entry($0))..<index.rank(of: .pastPrefix($0)) }
        var count = isDescending ? ranks.upperBound - equal.upperBound : equal.lowerBound - ranks.lowerBound
        if isWholeOrder {
            var entry = ByteWriter()
            entry.append(contentsOf: key)
            entry.appendBigEndian(token.row)
            count += entry.bytes.withUnsafeBytes { index.rank(of: .pastPrefix($0)) } - equal.lowerBound
        }
        return min(max(count, 0), ranks.count)
    }
}

extension RowOrder {
    /// A checksum of what the sort compares, by name.
    fileprivate func checksum(_ schema: Schema) -> UInt32 {
        func name(_ id: PropertyID) -> String { schema.entities[id.entity].properties[id.property].name }
        var text = schema.entities[entity].name
        for criterion in criteria {
            text += criterion.references.reduce(",") { "\($0)\(name($1.id))." } + name(criterion.id)
            text += "\(criterion.isDescending) \(criterion.ignoresCase) \(criterion.nils.map { $0 == .first } as Bool?)"
        }
        return CRC32C.checksum(Array(text.utf8))
    }

    /// The end of a page, at a row.
    func token(at row: RowNumber, _ address: UnsafeRawPointer, _ schema: Schema) -> PageToken {
        let keys = criteria.map { criterion in
            var writer = ByteWriter()
            append(criterion, of: address, to: &writer)
            return writer.bytes
        }
        return PageToken(keys: keys, row: row, sort: checksum(schema))
    }
}
