/// Makes a state keep all rules, by giving up as little as it can: what refers to lost objects is cleared, and objects go that
/// cannot be without them.
///
/// Each step takes a row, a link or a reference away, or completes a one-to-one relationship of which one end is known. What a
/// step may have broken is checked after it.
///
/// Complexity: O(*n* log *n*) for *n* rows and links.
struct SalvageRepair {
    private(set) var snapshot: Snapshot
    private(set) var report: SalvageReport
    /// The commits that wrote rows last, where that matters; the others were written before these.
    private let writers: [RowID: UInt64]
    private var scratch = EntryScratch()
    private var queue: [RowID] = []

    private var schema: Schema { snapshot.schema }

    /// - Parameter snapshot: any rows and recorded links. Indexes and other link tables do not matter.
    init(_ snapshot: Snapshot, writers: [RowID: UInt64], _ report: SalvageReport) {
        (self.snapshot, self.writers, self.report) = (snapshot, writers, report)
        for number in schema.linkTables.indices { joinLinks(of: number) }
        _ = self.snapshot.buildIndexes()
        // One-to-one relationships are completed before anything goes because it needs one.
        forEachRow { repair, id in repair.checkReferences(of: id) }
        queue = []
        forEachRow { repair, id in repair.check(id) }
    }

    private mutating func forEachRow(_ body: (inout SalvageRepair, RowID) -> Void) {
        for entity in schema.entities.indices {
            let rows = snapshot.entities[entity].rows
            rows.forEachRow { row, _, _ in body(&self, RowID(entity: entity, row: row)) }
        }
    }

    /// Checks a row, and all rows that this has changed or was about.
    private mutating func check(_ id: RowID) {
        queue.append(id)
        while let next = queue.popLast() {
            checkReferences(of: next)
            checkUniqueness(of: next)
            checkCounts(of: next)
        }
    }

    // MARK: Links

    /// Drops links without two ends and places without a reference, and gives each link its other direction.
    private mutating func joinLinks(of number: Int) {
        let (list, members) = (schema.linkTables[number], snapshot.linkTables[number].members)
        members.forEachEntry { entry in
            let pair = LinkTable.Pair(entry)
            let member = snapshot.entities[list.members].rows.address(of: pair.member)
            if let toOne = list.toOne {
                let reference = schema.entities[list.members].toOnes[toOne]
                if member.map({ reference.target(ofRowAt: $0) }) != pair.owner {
                    snapshot.linkTables[number].remove(pair.member, of: pair.owner)
                }
            } else if member == nil || !snapshot.entities[list.entity].rows.contains(pair.owner) {
                snapshot.linkTables[number].remove(pair.member, of: pair.owner)
                let name = schema.name(of: list).shortened()
                report.note(.objects, "\(name): the link of \(pair.owner) to \(pair.member) is dropped: an end is lost")
            } else if let inverse = list.inverse,
                !snapshot.linkTables[inverse].contains(pair.owner, of: pair.member)
            {
                let key = snapshot.newKey(nil, of: pair.member, in: inverse)
                snapshot.linkTables[inverse].insert(pair.owner, of: pair.member, key: key)
                if schema.linkTables[inverse].isRecorded(as: inverse), inverse != number {
                    notePlace(of: pair.owner, in: pair.member, inverse)
                }
            }
            return true
        }
    }

    private mutating func notePlace(of member: RowNumber, in owner: RowNumber, _ table: Int) {
        let name = schema.name(of: schema.linkTables[table]).shortened()
        report.note(.objects, "\(name): the place of \(member) in \(owner) is lost; it comes last")
    }

    // MARK: References

    private mutating func checkReferences(of id: RowID) {
        for toOne in schema.entities[id.entity].toOnes {
            guard let target = snapshot.address(of: id).map({ toOne.target(ofRowAt: $0) }) else { return }
            guard target != 0 else { continue }
            let other = RowID(entity: toOne.target, row: target)
            guard snapshot.contains(other) else {
                clear(toOne, of: id, "\(schema.name(of: other)) is lost")
                continue
            }
            if let inverse = toOne.inverseToOne, let back = snapshot.target(of: target, through: inverse),
                back != id.row
            {
                if back == 0 {
                    write(id.row, to: schema.toOne(inverse), of: other)
                    let name = name(of: schema.toOne(inverse), other)
                    report.note(.objects, "\(name) is \(id.row) again, as the other end says")
                } else {
                    clear(toOne, of: id, "\(schema.name(of: other)) has another object there")
                }
                continue
            }
            if let order = toOne.order, !snapshot.linkTables[order].contains(id.row, of: target) {
                let key = snapshot.newKey(nil, of: target, in: order)
                snapshot.linkTables[order].insert(id.row, of: target, key: key)
                notePlace(of: id.row, in: target, order)
            }
        }
    }

    private mutating func clear(_ toOne: ToOneDescription, of id: RowID, _ reason: String) {
        guard let target = snapshot.address(of: id).map({ toOne.target(ofRowAt: $0) }) else { return }
        if let order = toOne.order { snapshot.linkTables[order].remove(id.row, of: target) }
        write(0, to: toOne, of: id)
        queue.append(RowID(entity: toOne.target, row: target))
        // An object that needs it goes, which is said then.
        if !toOne.isRequired { report.note(.objects, "\(name(of: toOne, id)) is cleared: \(reason)") }
    }

    private mutating func write(_ target: RowNumber, to toOne: ToOneDescription, of id: RowID) {
        change(id) { row in (row + toOne.offset).storeBytes(of: target, as: RowNumber.self) }
    }

    private mutating func change(_ id: RowID, _ body: (UnsafeMutableRawPointer) -> Void) {
        guard let address = snapshot.address(of: id), let version = snapshot.version(of: id) else { return }
        schema.entities[id.entity].layout.withCopy(of: address) { copy in
            body(copy)
            let next = RowVersion(min(version.number + 1, RowCounters.maximum))
            _ = snapshot.set(id, version: next, copying: copy, scratch: &scratch)
        }
        queue.append(id)
    }

    private func name(of toOne: ToOneDescription, _ id: RowID) -> String {
        "\(schema.name(of: id)).\(schema.entities[id.entity].properties[toOne.property].name.shortened())"
    }

    // MARK: Rules

    /// Of two rows with one value the one that was written later keeps it, or the one with the lower number.
    private mutating func checkUniqueness(of id: RowID) {
        for (number, index) in schema.entities[id.entity].indexes.enumerated() where index.uniqueness != nil {
            while let address = snapshot.address(of: id),
                let row = snapshot.rowsSharingKey(of: id, at: address, index: number, limit: 1).first
            {
                let other = RowID(entity: id.entity, row: row)
                let (own, others) = (writers[id] ?? 0, writers[other] ?? 0)
                let loser = own == others ? max(id, other) : own < others ? id : other
                giveUp(index, of: loser, to: loser == id ? other : id)
            }
        }
    }

    private mutating func giveUp(_ index: IndexDescription, of id: RowID, to other: RowID) {
        let description = schema.entities[id.entity]
        let what = "\(schema.name(of: other)) has the same \(description.name(of: index).shortened())"
        let optional = index.parts.lazy.map { description.properties[$0.property] }.first {
            $0.operations.kind.hasPrefix("optional(")
        }
        guard let optional else { return remove(id, what) }
        change(id) { row in
            withUnsafeTemporaryAllocation(byteCount: max(optional.sizeBytes, 1), alignment: optional.alignment) {
                memory in
                // There is at least one byte, so the memory has an address.
                let null = memory.baseAddress.unsafelyUnwrapped
                [UInt8(0)].withUnsafeBytes { bytes in
                    var reader = ByteReader(bytes)
                    guard (try? optional.operations.decode(&reader, null)) != nil else { return }
                    optional.operations.assign(row + optional.offset, null)
                    optional.operations.deinitialize(null)
                }
            }
        }
        report.note(.objects, "\(schema.name(of: id)).\(optional.name.shortened()) is cleared: \(what)")
    }

    private mutating func checkCounts(of id: RowID) {
        let description = schema.entities[id.entity]
        guard description.hasCounts, let address = snapshot.address(of: id) else { return }
        for toOne in description.toOnes where toOne.isRequired && toOne.target(ofRowAt: address) == 0 {
            let name = description.properties[toOne.property].name.shortened()
            return remove(id, "it cannot be without its \(name), which is lost")
        }
        for toMany in description.toManys where !toMany.counts.isAny {
            let count = snapshot.memberCount(of: id.row, through: toMany)
            let name = description.properties[toMany.property].name.shortened()
            guard count >= toMany.counts.minimum else {
                return remove(id, "\(count) of its \(name) are left, and there must be \(toMany.counts.minimum)")
            }
            guard let maximum = toMany.counts.maximum, count > maximum else { continue }
            for member in snapshot.members(of: id.row, through: toMany).dropFirst(maximum) {
                detach(member, from: id, toMany, "there must be at most \(maximum) \(name)")
            }
        }
    }

    private mutating func detach(
        _ member: RowNumber, from id: RowID, _ toMany: ToManyDescription, _ reason: String
    ) {
        let other = RowID(entity: toMany.source, row: member)
        if let toOne = toMany.toOne {
            clear(schema.entities[toMany.source].toOnes[toOne], of: other, reason)
        } else if let table = toMany.linkTable, snapshot.unlink(member, from: id.row, in: table) {
            queue += [id, other]
            let link = "\(schema.name(of: id)): its link to \(schema.name(of: other))"
            report.note(.objects, "\(link) is dropped: \(reason)")
        }
    }

    private mutating func remove(_ id: RowID, _ reason: String) {
        guard let address = snapshot.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target != 0 else { continue }
            queue.append(RowID(entity: toOne.target, row: target))
            if let order = toOne.order { snapshot.linkTables[order].remove(id.row, of: target) }
        }
        for reference in schema.entities[id.entity].references {
            queue += snapshot.referrers(to: id.row, through: reference).map { RowID(entity: reference.entity, row: $0) }
        }
        for number in schema.entities[id.entity].linkLists {
            for member in snapshot.linkTables[number].memberRows(of: id.row) {
                snapshot.unlink(member, from: id.row, in: number)
                queue.append(RowID(entity: schema.linkTables[number].members, row: member))
            }
        }
        snapshot.remove(id, scratch: &scratch)
        report.note(.objects, "\(schema.name(of: id)) is dropped: \(reason)")
    }
}
