/// What a value has encoded so far.
///
/// Values may write to several of their containers in turn, and never say that a container is complete. So the containers form
/// a tree: nodes in one array, and the bytes of keys and single values in another. `finish` then puts the bytes in order.
///
/// A class without a lock: encoders refer to it, and the types that encode may use them on one thread only, as the library's
/// own encoders demand. Accesses are not checked for overlaps, which would take as long as all the rest: none calls a program's
/// code meanwhile, as the closures that get one of the arrays only encode bytes.
final class CBOREncoding {
    struct Node {
        enum Kind: UInt8 {
            /// Has encoded nothing so far.
            case empty
            case single
            case array
            /// An array whose elements come in the order of their bytes: a set's.
            case set
            /// An array of alternating keys and values in the order of their bytes: a dictionary's.
            case pairs
            case map
        }

        var kind = Kind.empty
        let depth: UInt8
        let parent: UInt32
        /// The next one in the same container; 0 behind the last.
        var next: UInt32 = 0
        /// A container's first and last node, and its number of nodes.
        var first: UInt32 = 0
        var last: UInt32 = 0
        var count: UInt32 = 0
        /// The position in `bytes` of a map node's encoded key.
        let keyStart: UInt32
        let keyEnd: UInt32
        /// The position in `bytes` of a single encoded value.
        var start: UInt32 = 0
        var end: UInt32 = 0
    }

    @exclusivity(unchecked) private(set) var nodes: [Node] = []
    @exclusivity(unchecked) private var bytes: [UInt8] = []
    /// An error of a function that cannot throw.
    @exclusivity(unchecked) private var failure: EncodingError?
    /// The output of `finish`.
    @exclusivity(unchecked) private(set) var output: [UInt8] = []
    /// The nodes of the maps that `finish` is writing.
    @exclusivity(unchecked) private var members: [UInt32] = []

    /// Which types are collections without an order.
    @exclusivity(unchecked) private var types: [(id: ObjectIdentifier, isUnordered: Bool)] = []

    /// The limit of what nodes can refer to, and of what a record can hold.
    static let limitBytes = 1 << 30

    /// Whether it is small enough to keep with its memory.
    var isSmall: Bool { nodes.capacity <= 4_096 && bytes.capacity <= 1 << 16 && output.capacity <= 1 << 16 }

    /// Encodes a value, replacing the previous one.
    func encode<Value: Encodable>(_ value: Value) throws {
        nodes.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        output.removeAll(keepingCapacity: true)
        failure = nil
        nodes.append(Node(depth: 0, parent: 0, keyStart: 0, keyEnd: 0))
        try put(value, at: 0)
        if let failure { throw failure }
        try write(0)
    }

    // MARK: Nodes

    /// A new place for an element of an array.
    func element(of parent: UInt32) -> UInt32 {
        append(to: parent, keyStart: 0, keyEnd: 0)
    }

    /// A new place for a value of a map.
    func member(of parent: UInt32, _ key: String) -> UInt32 {
        let start = position
        bytes.appendText(key)
        return append(to: parent, keyStart: start, keyEnd: position)
    }

    private func append(to parent: UInt32, keyStart: UInt32, keyEnd: UInt32) -> UInt32 {
        let number = UInt32(truncatingIfNeeded: nodes.count)
        let depth = nodes[Int(parent)].depth
        // Beyond 255 the value is refused already, which a later step reports.
        nodes.append(Node(depth: depth == .max ? .max : depth + 1, parent: parent, keyStart: keyStart, keyEnd: keyEnd))
        let last = nodes[Int(parent)].last
        if last == 0 { nodes[Int(parent)].first = number } else { nodes[Int(last)].next = number }
        nodes[Int(parent)].last = number
        nodes[Int(parent)].count += 1
        return number
    }

    private var position: UInt32 { UInt32(truncatingIfNeeded: bytes.count) }

    /// Makes a container of a place, or finds it to be one already.
    func open(_ kind: Node.Kind, at place: UInt32) {
        switch nodes[Int(place)].kind {
        case .empty:
            nodes[Int(place)].kind = kind
            if nodes[Int(place)].depth >= CBOR.maximumDepth { fail(at: place, tooDeep) }
        case kind: return
        default: fail(at: place, "something else was encoded here before")
        }
    }

    private var tooDeep: String { "nested more than \(CBOR.maximumDepth) levels deep" }

    private func fail(at place: UInt32, _ reason: String) {
        failure = failure ?? .invalidValue("", .init(codingPath: path(to: place), debugDescription: reason))
    }

    /// Writes a single value.
    @inline(__always)
    func put(at place: UInt32, _ body: (inout [UInt8]) -> Void) throws {
        guard nodes[Int(place)].kind == .empty, bytes.count < Self.limitBytes, nodes.count < Self.limitBytes else {
            let reason =
                nodes[Int(place)].kind == .empty
                ? "the encoding is larger than a value may be" : "something was encoded here before"
            throw EncodingError.invalidValue("", .init(codingPath: path(to: place), debugDescription: reason))
        }
        let start = position
        body(&bytes)
        nodes[Int(place)].kind = .single
        nodes[Int(place)].start = start
        nodes[Int(place)].end = position
    }

    /// Encodes a value of any type.
    func put<Value: Encodable>(_ value: Value, at place: UInt32) throws {
        if try CBORNaturalForm.encode(value, to: self, at: place) { return }
        guard nodes[Int(place)].depth <= CBOR.maximumDepth, failure == nil else {
            throw failure ?? .invalidValue("", .init(codingPath: path(to: place), debugDescription: tooDeep))
        }
        if isUnordered(Value.self), let value = value as? any CBORUnordered, try value.encode(to: self, at: place) {
            return
        }
        try value.encode(to: CBOREncoder(encoding: self, place: place))
    }

    /// Caches types, since a search for a conformance takes longer than encoding most values.
    private func isUnordered(_ type: any Any.Type) -> Bool {
        let id = ObjectIdentifier(type)
        if let known = types.first(where: { $0.id == id }) { return known.isUnordered }
        if types.count == 32 { types.removeAll() }
        let isUnordered = type is any CBORUnordered.Type
        types.append((id, isUnordered))
        return isUnordered
    }

    /// The keys that lead to a place.
    func path(to place: UInt32) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var place = place
        while place != 0 {
            let node = nodes[Int(place)]
            if nodes[Int(node.parent)].kind == .map {
                var key = bytes[Int(node.keyStart)..<Int(node.keyEnd)]
                key = key.dropFirst([24: 2, 25: 3, 26: 5, 27: 9][(key.first ?? 0) & 0x1F] ?? 1)
                path.append(CBORKey(stringValue: String(decoding: key, as: UTF8.self)))
            } else {
                var index = 0
                var sibling = nodes[Int(node.parent)].first
                while sibling != place, sibling != 0 {
                    sibling = nodes[Int(sibling)].next
                    index += 1
                }
                path.append(CBORKey(intValue: index))
            }
            place = node.parent
        }
        return path.reversed()
    }

    // MARK: Bytes

    private func write(_ place: UInt32) throws {
        let node = nodes[Int(place)]
        switch node.kind {
        case .empty: output.appendHead(.map, 0)
        case .single: output.append(contentsOf: bytes[Int(node.start)..<Int(node.end)])
        case .array:
            output.appendHead(.array, UInt64(node.count))
            try forEachChild(of: node, write)
        case .set: try writeSorted(node, inGroupsOf: 1)
        case .pairs: try writeSorted(node, inGroupsOf: 2)
        case .map: try writeMap(node)
        }
    }

    private func forEachChild(of node: Node, _ body: (UInt32) throws -> Void) rethrows {
        var child = node.first
        while child != 0 {
            try body(child)
            child = nodes[Int(child)].next
        }
    }

    /// Writes elements in the order of their bytes, which is known only after they are written.
    private func writeSorted(_ node: Node, inGroupsOf size: Int) throws {
        output.appendHead(.array, UInt64(node.count))
        let start = output.count
        var groups: [Range<Int>] = []
        var number = 0
        var groupStart = start
        try forEachChild(of: node) { child in
            try write(child)
            number += 1
            guard number % size == 0 else { return }
            groups.append(groupStart - start..<output.count - start)
            groupStart = output.count
        }
        let unsorted = Array(output[start...])
        groups.sort { unsorted[$0].lexicographicallyPrecedes(unsorted[$1]) }
        output.removeSubrange(start...)
        for group in groups { output += unsorted[group] }
    }

    private func writeMap(_ node: Node) throws {
        let start = members.count
        defer { members.removeSubrange(start...) }
        forEachChild(of: node) { members.append($0) }
        sortMembers(from: start)
        var count = 0
        for index in start..<members.count where index + 1 == members.count || !isSameKey(index, index + 1) {
            count += 1
        }
        output.appendHead(.map, UInt64(count))
        for index in start..<members.count {
            // Of several values for one key the last one counts.
            if index + 1 < members.count, isSameKey(index, index + 1) {
                try checkReplaceable(members[index])
                continue
            }
            let member = nodes[Int(members[index])]
            if member.kind == .single, member.start == member.keyEnd {
                output.append(contentsOf: bytes[Int(member.keyStart)..<Int(member.end)])
            } else {
                output.append(contentsOf: bytes[Int(member.keyStart)..<Int(member.keyEnd)])
                try write(members[index])
            }
        }
    }

    /// Replacing a whole container would silently lose it.
    private func checkReplaceable(_ place: UInt32) throws {
        guard nodes[Int(place)].kind == .single else {
            throw EncodingError.invalidValue(
                "", .init(codingPath: path(to: place), debugDescription: "two containers were made for one key"))
        }
    }

    /// By key, equal keys in the order of encoding. Most maps have few, in a fixed order of the program's.
    private func sortMembers(from start: Int) {
        guard members.count - start <= 24 else {
            members[start...].sort { lhs, rhs in
                let order = compareKeys(lhs, rhs)
                return order == 0 ? lhs < rhs : order < 0
            }
            return
        }
        for index in (start + 1)..<max(members.count, start + 1) {
            let member = members[index]
            var place = index
            while place > start, compareKeys(members[place - 1], member) > 0 {
                members[place] = members[place - 1]
                place -= 1
            }
            members[place] = member
        }
    }

    private func isSameKey(_ lhs: Int, _ rhs: Int) -> Bool { compareKeys(members[lhs], members[rhs]) == 0 }

    private func compareKeys(_ lhs: UInt32, _ rhs: UInt32) -> Int {
        let (left, right) = (nodes[Int(lhs)], nodes[Int(rhs)])
        return bytes.withUnsafeBytes { bytes in
            let left = KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[Int(left.keyStart)..<Int(left.keyEnd)]))
            return left.compare(
                KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[Int(right.keyStart)..<Int(right.keyEnd)])))
        }
    }
}

/// A coding key for containers that the encoder or the decoder creates, and for messages.
struct CBORKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }

    static let `super` = CBORKey(stringValue: "super")
}
