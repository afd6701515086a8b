import Testing

@testable import Graph

/// R3: keys that order members.
struct OrderKeyTests {
    @Test func `appending and prepending keep keys short`() {
        var (first, last) = (OrderKey.between(nil, nil), OrderKey.between(nil, nil))
        for _ in 0..<10_000 {
            let (before, after) = (OrderKey.between(nil, first), OrderKey.between(last, nil))
            #expect(before < first && after > last)
            (first, last) = (before, after)
        }
        #expect(first.bytes.count == 8 && last.bytes.count == 8)
    }

    @Test(arguments: [true, false])
    func `members that come one after another between two others share few bytes`(isAscending: Bool) {
        var (lower, upper) = (OrderKey.between(nil, nil), OrderKey.between(.between(nil, nil), nil))
        for _ in 0..<100_000 {
            let key = OrderKey.between(lower, upper)
            if isAscending { lower = key } else { upper = key }
        }
        #expect(max(lower.bytes.count, upper.bytes.count) <= 8 + 14 * 4)
    }

    @Test func `members that come between the last two, alternately`() {
        var (lower, upper) = (OrderKey.between(nil, nil), OrderKey.between(.between(nil, nil), nil))
        for step in 0..<2_000 {
            let key = OrderKey.between(lower, upper)
            #expect(lower < key && key < upper && OrderKey(bytes: key.bytes) == key)
            if step % 2 == 0 { lower = key } else { upper = key }
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `between any two neighbours there is room, wherever one goes on`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var keys = [OrderKey.between(nil, nil)]
        for step in 0..<400 {
            let place: Int
            switch seed % 5 {
            case 0: place = Int.random(in: 0...keys.count, using: &random)
            case 1: place = min(1, keys.count)
            case 2: place = keys.count - 1
            case 3: place = keys.count / 2
            default: place = step % 3 == 0 ? 0 : min(step % 7, keys.count)
            }
            let lower = place > 0 ? keys[place - 1] : nil
            let upper = place < keys.count ? keys[place] : nil
            let key = OrderKey.between(lower, upper)
            #expect(lower.map { $0 < key } ?? true && upper.map { key < $0 } ?? true)
            #expect(OrderKey(bytes: key.bytes) == key)
            keys.insert(key, at: place)
        }
        #expect(keys.map(\.bytes.count).max() ?? 0 <= 8 + 4 * (1 + 400 / 19))
    }

    @Test func `at the ends of the numbers fractions go on`() throws {
        let greatest = try #require(OrderKey(bytes: Array(repeating: 0xFF, count: 8)))
        var last = greatest
        for _ in 0..<300 {
            let next = OrderKey.between(last, nil)
            #expect(next > last)
            last = next
        }
        let least = try #require(OrderKey(bytes: [0, 0, 0, 0, 0, 0, 0, 1]))
        var first = least
        for _ in 0..<300 {
            let next = OrderKey.between(nil, first)
            #expect(next < first && OrderKey(bytes: next.bytes) == next)
            first = next
        }
        for number in UInt64(0)...3 {
            let bytes = withUnsafeBytes(of: ((1 << 20) - 1 + number).bigEndian) { Array($0) }
            let key = try #require(OrderKey(bytes: bytes))
            #expect(OrderKey.between(nil, key) < key)
        }
    }

    @Test(.bug(id: "long order keys", "the process ended"))
    func `between keys of any length that a file may have there is room`() throws {
        let bytes = [UInt8](repeating: 128, count: 200_000)
        let lower = try #require(OrderKey(bytes: bytes))
        let upper = try #require(OrderKey(bytes: bytes.dropLast() + [129]))
        let key = OrderKey.between(lower, upper)
        #expect(lower < key && key < upper)
    }

    @Test(arguments: [
        [], [1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0], [9, 0, 0, 0, 0, 0, 0, 1, 5, 1, 1],
    ])
    func `bytes that are no key`(bytes: [UInt8]) {
        #expect(OrderKey(bytes: bytes) == nil)
    }
}

/// The pairs of a list, with and without an order, against a dictionary.
struct LinkTableTests {
    @Test(arguments: [true, false], UInt64(0)..<4)
    func `links come in batches, to tables of many pages`(isOrdered: Bool, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var list = LinkTable()
        var model: [RowNumber: [RowNumber: OrderKey]] = [:]
        for _ in 0..<60 {
            var links: [LinkTable.Link] = []
            // Owners with few members and with many, which fill several pages.
            let owners = RowNumber(1)...RowNumber.random(in: 1...300, using: &random)
            for _ in 0..<Int.random(in: 0...200, using: &random) {
                let (owner, member) = (
                    RowNumber.random(in: owners, using: &random), RowNumber.random(in: 1...900, using: &random)
                )
                guard model[owner]?[member] == nil else { continue }
                let lower = model[owner, default: [:]].values.randomElement(using: &random)
                let upper = model[owner, default: [:]].values.filter { key in lower.map { $0 < key } ?? true }.min()
                let key = OrderKey.between(lower, upper)
                model[owner, default: [:]][member] = key
                links.append(LinkTable.Link(owner: owner, member: member, key: isOrdered ? key : nil))
            }
            list.insert(contentsOf: links)
            for (owner, members) in model where Bool.random(using: &random) {
                guard let member = members.keys.randomElement(using: &random) else { continue }
                let isRemoved = list.remove(member, of: owner)
                #expect(isRemoved)
                model[owner]?[member] = nil
            }
            #expect(list.checkInvariants(isOrdered: isOrdered) == [])
            #expect(list.members.count == model.values.reduce(0) { $0 + $1.count })
            let missed = model.flatMap { owner, members in members.keys.filter { !list.contains($0, of: owner) } }
            #expect(missed.isEmpty)
            for owner in owners {
                let member = RowNumber.random(in: 1...900, using: &random)
                #expect(list.contains(member, of: owner) == (model[owner]?[member] != nil))
            }
        }
    }

    @Test(arguments: [true, false], UInt64(0)..<4)
    func `pairs come and go`(isOrdered: Bool, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var list = LinkTable()
        var before = list
        var model: [RowNumber: [RowNumber: OrderKey]] = [:]
        var modelBefore = model
        for step in 0..<2_000 {
            let (owner, member) = (
                RowNumber.random(in: 1...5, using: &random), RowNumber.random(in: 1...8, using: &random)
            )
            let known = model[owner, default: [:]]
            if Bool.random(using: &random) {
                let other = known.values.randomElement(using: &random)
                let upper = known.values.filter { key in other.map { $0 < key } ?? true }.min()
                let key = OrderKey.between(other, upper)
                let isChange = known[member] == nil || isOrdered
                #expect(list.insert(member, of: owner, key: isOrdered ? key : nil) == isChange)
                if isChange { model[owner, default: [:]][member] = key }
            } else {
                #expect(list.remove(member, of: owner) == (known[member] != nil))
                model[owner]?[member] = nil
            }
            if step % 50 == 0 { (before, modelBefore) = (list, model) }
            let members = model[owner, default: [:]]
            #expect(list.memberRows(of: owner) == members.keys.sorted())
            #expect(list.contains(member, of: owner) == (members[member] != nil))
            guard isOrdered else { continue }
            let sorted = members.sorted { $0.value < $1.value }
            #expect(list.keys(of: owner).map(\.member) == sorted.map(\.key))
            #expect(list.lastKey(of: owner) == sorted.last?.value && list.key(of: member, of: owner) == members[member])
            for offset in 0...sorted.count {
                #expect(list.key(at: offset, of: owner) == (offset < sorted.count ? sorted[offset].value : nil))
            }
            #expect(list.checkInvariants(isOrdered: true) == [])
        }
        #expect(list.checkInvariants(isOrdered: isOrdered) == [])
        let difference = list.difference(from: before)
        #expect(Set(difference.added) == Self.links(model, isOrdered).subtracting(Self.links(modelBefore, isOrdered)))
        #expect(Set(difference.removed) == Self.links(modelBefore, isOrdered).subtracting(Self.links(model, isOrdered)))
        #expect(list.isIdentical(to: before) == (difference.added.isEmpty && difference.removed.isEmpty))
    }

    private static func links(_ model: [RowNumber: [RowNumber: OrderKey]], _ isOrdered: Bool) -> Set<LinkTable.Link> {
        Set(
            model.flatMap { owner, members in
                members.map { LinkTable.Link(owner: owner, member: $0.key, key: isOrdered ? $0.value : nil) }
            })
    }
}
