/// The members of each owner: one side of a many-to-many relationship, or the order of a one-to-many relationship.
///
/// `members` has an entry for each link: the owner, the member, and the member's key if there is an order. `sequence` then has
/// the same links by owner, key and member, with a zero to end the key; without an order it is empty, and members come in the
/// order of their row numbers. Members are thus always listed by entries that end with their row numbers.
///
/// Invariants: a link occurs once; `sequence` has exactly the links and keys that `members` has.
struct LinkTable: Sendable {
    private(set) var members = OrderedIndex()
    private(set) var sequence = OrderedIndex()

    func contains(_ member: RowNumber, of owner: RowNumber) -> Bool {
        Self.withEntry(owner, member) { entry in
            sequence.isEmpty ? members.contains(entry) : members.firstRow(withPrefix: entry) != nil
        }
    }

    /// An owner's members, in the order of their row numbers.
    func memberRows(of owner: RowNumber) -> [RowNumber] {
        var rows: [RowNumber] = []
        withUnsafeBytes(of: owner.bigEndian) { prefix in
            _ = members.forEachEntry(in: .prefix(prefix)) { entry in
                rows.append(Link.member(entry))
                return true
            }
        }
        return rows
    }

    /// An owner's members, in their order if there is one.
    func memberRowsInOrder(of owner: RowNumber) -> [RowNumber] {
        sequence.isEmpty ? memberRows(of: owner) : keys(of: owner).map(\.member)
    }

    /// The key of a member in an order.
    func key(of member: RowNumber, of owner: RowNumber) -> OrderKey? {
        Self.withEntry(owner, member) { prefix in
            var key: OrderKey?
            members.forEachEntry(in: .prefix(prefix)) { entry in
                key = OrderKey(bytes: entry.dropFirst(prefix.count))
                return false
            }
            return key
        }
    }

    /// The greatest key among an owner's members.
    func lastKey(of owner: RowNumber) -> OrderKey? {
        var key: OrderKey?
        withUnsafeBytes(of: owner.bigEndian) { prefix in
            _ = sequence.forEachEntry(in: .prefix(prefix), descending: true) { entry in
                key = Self.key(inSequence: entry)
                return false
            }
        }
        return key
    }

    /// The key of the member at `offset` in the order; nil if there are not that many members.
    func key(at offset: Int, of owner: RowNumber) -> OrderKey? {
        withUnsafeBytes(of: owner.bigEndian) { prefix in
            let rank = sequence.rank(of: .entry(prefix)) + offset
            guard rank < sequence.rank(of: .pastPrefix(prefix)) else { return nil }
            return sequence.withEntry(at: rank) { Self.key(inSequence: $0) }
        }
    }

    /// A member's position in the order; nil if it is no member.
    func offset(of member: RowNumber, of owner: RowNumber) -> Int? {
        key(of: member, of: owner).map { key in
            let first = withUnsafeBytes(of: owner.bigEndian) { sequence.rank(of: .entry($0)) }
            return Self.sequenceEntry(owner, member, key).withUnsafeBytes { sequence.rank(of: .entry($0)) } - first
        }
    }

    /// The keys of an owner's members in their order.
    func keys(of owner: RowNumber) -> [(key: OrderKey, member: RowNumber)] {
        var keys: [(OrderKey, RowNumber)] = []
        withUnsafeBytes(of: owner.bigEndian) { prefix in
            _ = sequence.forEachEntry(in: .prefix(prefix)) { entry in
                if let key = Self.key(inSequence: entry) { keys.append((key, KeyBytes(entry).row)) }
                return true
            }
        }
        return keys
    }

    /// The last owner that has members.
    var lastOwner: RowNumber? {
        members.isEmpty ? nil : members.withEntry(at: members.count - 1) { Link($0).owner }
    }

    // MARK: Changing

    /// Bounds the memory for links in flight.
    static var mostAtOnce: Int { 16_384 }

    /// Adds links that are not there, each of which has a key if there is an order. They take some 100 bytes each meanwhile.
    mutating func insert(contentsOf links: [Link]) {
        var (members, sequence) = (IndexEntries(), IndexEntries())
        members.reserve(count: links.count, length: 24)
        for link in links {
            members.append { Self.appendMember(link.owner, link.member, link.key, to: &$0) }
            guard let key = link.key else { continue }
            sequence.append { Self.appendPlace(link.owner, link.member, key, to: &$0) }
        }
        members.insert(into: &self.members, nil)
        sequence.insert(into: &self.sequence, nil)
    }

    /// Adds a member, or changes its key. Returns false if it is a member with that key already.
    @discardableResult
    mutating func insert(_ member: RowNumber, of owner: RowNumber, key: OrderKey?) -> Bool {
        guard let key else { return Self.withEntry(owner, member) { members.insert($0) } }
        if let old = self.key(of: member, of: owner) {
            guard old != key else { return false }
            remove(member, of: owner)
        }
        members.insert(Self.memberEntry(owner, member, key))
        sequence.insert(Self.sequenceEntry(owner, member, key))
        return true
    }

    /// Returns false if there is no such link.
    @discardableResult
    mutating func remove(_ member: RowNumber, of owner: RowNumber) -> Bool {
        guard !sequence.isEmpty, let key = key(of: member, of: owner) else {
            return Self.withEntry(owner, member) { members.remove($0) }
        }
        sequence.remove(Self.sequenceEntry(owner, member, key))
        return members.remove(Self.memberEntry(owner, member, key))
    }

    /// Removes links from an order, as far as they are there.
    mutating func remove(contentsOf links: [(owner: RowNumber, member: RowNumber)]) {
        var (members, sequence) = (IndexEntries(), IndexEntries())
        for (owner, member) in links {
            guard let key = key(of: member, of: owner) else { continue }
            members.append { Self.appendMember(owner, member, key, to: &$0) }
            sequence.append { Self.appendPlace(owner, member, key, to: &$0) }
        }
        members.remove(from: &self.members)
        sequence.remove(from: &self.sequence)
    }

    // MARK: Entries

    /// A link, and its key if there is an order.
    struct Link: Sendable, Hashable {
        let owner: RowNumber
        let member: RowNumber
        let key: OrderKey?

        init(owner: RowNumber, member: RowNumber, key: OrderKey? = nil) {
            self.owner = owner
            self.member = member
            self.key = key
        }

        /// - Parameter entry: an entry of `members`.
        init(_ entry: UnsafeRawBufferPointer) {
            owner = RowNumber(bigEndian: entry.loadUnaligned(as: RowNumber.self))
            member = Self.member(entry)
            key = entry.count > 16 ? OrderKey(bytes: entry.dropFirst(16)) : nil
        }

        /// The link of the other direction, without a key.
        var reversed: Link { Link(owner: member, member: owner) }

        fileprivate static func member(_ entry: UnsafeRawBufferPointer) -> RowNumber {
            RowNumber(bigEndian: entry.loadUnaligned(fromByteOffset: 8, as: RowNumber.self))
        }
    }

    /// The links that only one of two states has, in order; a link whose key changed is in both.
    struct Difference {
        var removed: [Link] = []
        var added: [Link] = []

        var isEmpty: Bool { removed.isEmpty && added.isEmpty }
    }

    func difference(from other: LinkTable) -> Difference {
        var difference = Difference()
        members.forEachDifference(from: other.members) { entry, isInsertion in
            if isInsertion { difference.added.append(Link(entry)) } else { difference.removed.append(Link(entry)) }
            return true
        }
        return difference
    }

    func isIdentical(to other: LinkTable) -> Bool {
        members.forEachDifference(from: other.members) { _, _ in false }
    }

    /// Passes the entry of a link without an order to the body.
    private static func withEntry<Result>(
        _ owner: RowNumber,
        _ member: RowNumber,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeBytes(of: (owner.bigEndian, member.bigEndian), body)
    }

    private static func memberEntry(_ owner: RowNumber, _ member: RowNumber, _ key: OrderKey) -> [UInt8] {
        var entry = ByteWriter(capacity: key.bytes.count + 16)
        appendMember(owner, member, key, to: &entry)
        return entry.bytes
    }

    private static func appendMember(
        _ owner: RowNumber, _ member: RowNumber, _ key: OrderKey?, to writer: inout ByteWriter
    ) {
        writer.appendBigEndian(owner)
        writer.appendBigEndian(member)
        if let key { writer.append(contentsOf: key.bytes) }
    }

    private static func sequenceEntry(_ owner: RowNumber, _ member: RowNumber, _ key: OrderKey) -> [UInt8] {
        var entry = ByteWriter(capacity: key.bytes.count + 17)
        appendPlace(owner, member, key, to: &entry)
        return entry.bytes
    }

    /// Appends an entry of `sequence`.
    private static func appendPlace(
        _ owner: RowNumber, _ member: RowNumber, _ key: OrderKey, to writer: inout ByteWriter
    ) {
        writer.appendBigEndian(owner)
        writer.append(contentsOf: key.bytes)
        writer.append(0)
        writer.appendBigEndian(member)
    }

    private static func key(inSequence entry: UnsafeRawBufferPointer) -> OrderKey? {
        OrderKey(bytes: entry.dropFirst(8).dropLast(9))
    }

    // MARK: Verification

    /// Checks the structures, and that `sequence` agrees with `members`; returns the violations.
    func checkInvariants(isOrdered: Bool) -> [String] {
        var failures: [String] = []
        for (name, index) in [("members", members), ("sequence", sequence)] {
            do {
                try index.checkInvariants()
            } catch {
                failures.append("\(name): \(error)")
            }
        }
        var last: Link?
        members.forEachEntry { entry in
            guard entry.count >= 16 else {
                failures.append("an entry of \(entry.count) bytes")
                return true
            }
            let link = Link(entry)
            if let last, last.owner == link.owner, last.member == link.member {
                failures.append("row \(link.owner) has member \(link.member) twice")
            }
            last = link
            if isOrdered {
                if let key = link.key {
                    if !sequence.contains(Self.sequenceEntry(link.owner, link.member, key)) {
                        failures.append("member \(link.member) of row \(link.owner) is missing in the sequence")
                    }
                } else {
                    failures.append("member \(link.member) of row \(link.owner) has no place")
                }
            } else if entry.count > 16 {
                failures.append("member \(link.member) of row \(link.owner) has a place")
            }
            return true
        }
        if sequence.count != (isOrdered ? members.count : 0) {
            failures.append("\(sequence.count) entries in the sequence for \(members.count) members")
        }
        return failures
    }
}
