import Dispatch

/// Entries in any order, on their way into an index.
///
/// They are sorted by the eight bytes that follow what all of them begin with, as numbers in a table of their own; the bytes
/// themselves are looked at only where these are the same (Graefe, *Implementing Sorting in Database Systems*, ACM Computing
/// Surveys 38 (2006): poor man's normalized keys). The tree is then built from left to right, with full pages.
struct IndexEntries {
    private struct Place {
        let start: Int
        let count: Int
        var head: UInt64 = 0
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []

    mutating func append(_ entry: [UInt8]) {
        places.append(Place(start: bytes.count, count: entry.count))
        bytes += entry
    }

    /// The index of them all, and the rows whose key another one before them has.
    ///
    /// - Precondition: each entry has a row number at its end, and none comes twice.
    consuming func index() -> (index: OrderedIndex, repeating: [RowNumber]) {
        var (places, builder) = (places, OrderedIndex.Builder())
        var repeating: [RowNumber] = []
        bytes.withUnsafeBytes { bytes in
            func entry(_ place: Place) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.start + place.count])
            }
            func precedes(_ lhs: Place, _ rhs: Place) -> Bool {
                lhs.head != rhs.head ? lhs.head < rhs.head : IndexKey(entry(lhs)).compare(IndexKey(entry(rhs))) < 0
            }
            let shared = places.reduce(places.first?.count ?? 0) { shared, place in
                zip(entry(places[0]).prefix(shared), entry(place)).prefix { $0 == $1 }.count
            }
            for number in places.indices {
                places[number].head = Self.head(of: entry(places[number]).dropFirst(shared))
            }
            places.sort(by: precedes)
            var last: IndexKey?
            for place in places {
                let key = IndexKey(entry(place))
                if let last, last.count == key.count, last.hasPrefix(key.prefix(key.count - 8)) {
                    repeating.append(key.row)
                }
                builder.append(key.buffer)
                last = key
            }
        }
        return (builder.finish(), repeating)
    }

    /// Up to eight bytes as a number of the same order; what is shorter comes first or is the same.
    private static func head(of bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
        if bytes.count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
        return (0..<8).reduce(0) { head, place in
            head << 8 | UInt64(place < bytes.count ? bytes[bytes.startIndex + place] : 0)
        }
    }
}

extension Snapshot {
    /// Builds all indexes from the rows, several at once. Gives the rows of which each may have a unique value that another one
    /// has, too; nil is the same as nothing here.
    mutating func buildIndexes() -> [RowPlace] {
        let numbers = schema.entities.enumerated().flatMap { entity, description in
            description.indexes.indices.map { (entity: entity, index: $0) }
        }
        let (schema, entities) = (schema, entities)
        typealias Result = (index: OrderedIndex, repeating: [RowNumber])
        // Each iteration has an element of its own, and all are over when they are read.
        nonisolated(unsafe) let results = UnsafeMutableBufferPointer<Result>.allocate(capacity: numbers.count)
        defer { results.deallocate() }
        DispatchQueue.concurrentPerform(iterations: numbers.count) { position in
            let (entity, number) = numbers[position]
            let description = schema.entities[entity].indexes[number]
            var (entries, entry) = (IndexEntries(), ByteWriter(capacity: 64))
            entities[entity].rows.forEachRow { row, _, address in
                if description.makeEntry(for: row, at: address, in: &entry) { entries.append(entry.bytes) }
            }
            results.initializeElement(at: position, to: entries.index())
        }
        var suspects: [RowPlace] = []
        for (position, (entity, number)) in numbers.enumerated() {
            let result = results.moveElement(from: position)
            self.entities[entity].indexes[number] = result.index
            guard schema.entities[entity].indexes[number].uniqueness != nil else { continue }
            suspects += result.repeating.map { RowPlace(entity: entity, row: $0) }
        }
        return suspects
    }
}
