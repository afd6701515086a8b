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

    /// Drops links without two ends and positions without a reference, and gives each link its other direction.
    private mutating func joinLinks(of number: Int) {
        let (table, members) = (schema.linkTables[number], snapshot.linkTables[number].members)
        members.forEachEntry { entry in
            let link = LinkTable.Link(entry)
            switch snapshot.missingEnd(of: link, in: number) ?? snapshot.disagreement(about: link, in: number) {
            case nil: break
            case .oneDirection: completeLink(link, in: number)
            case .missingEnd, .positionOrReference:
                snapshot.linkTables[number].remove(link.member, of: link.owner)
                // What becomes of a reference is said where it is checked.
                guard table.toOne == nil else { break }
                let name = schema.name(of: table).shortened()
                report.note(
                    .objects, "\(name): the link of \(link.owner) to \(link.member) is dropped: an end is lost")
            }
            return true
        }
    }

    private mutating func completeLink(_ link: LinkTable.Link, in number: Int) {
        guard let inverse = schema.linkTables[number].inverse else { return }
        let key = snapshot.newKey(nil, of: link.member, in: inverse)
        snapshot.linkTables[inverse].insert(link.owner, of: link.member, key: key)
        if schema.linkTables[inverse].isRecorded(as: inverse), inverse != number {
            notePosition(of: link.owner, in: link.member, inverse)
        }
    }

    private mutating func notePosition(of member: RowNumber, in owner: RowNumber, _ table: Int) {
        let name = schema.name(of: schema.linkTables[table]).shortened()
        report.note(.objects, "\(name): the place of \(member) in \(owner) is lost; it comes last")
    }

    // MARK: References

    private mutating func checkReferences(of id: RowID) {
        for toOne in schema.entities[id.entity].toOnes {
            guard let target = snapshot.address(of: id).map({ toOne.target(ofRowAt: $0) }) else { return }
            let other = RowID(entity: toOne.target, row: target)
            switch snapshot.violation(ofReferenceFrom: id.row, to: target, toOne) {
            case nil: checkPosition(of: id.row, in: target, toOne)
            case .missingTarget: clear(toOne, of: id, "\(schema.name(of: other)) is lost")
            case .otherInverse(0): refer(from: other, backTo: id.row, toOne)
            case .otherInverse: clear(toOne, of: id, "\(schema.name(of: other)) has another object there")
            }
        }
    }

    private mutating func refer(from other: RowID, backTo row: RowNumber, _ toOne: ToOneDescription) {
        guard let inverse = toOne.inverseToOne.map({ schema.toOne($0) }) else { return }
        write(row, to: inverse, of: other)
        report.note(.objects, "\(name(of: inverse, other)) is \(row) again, as the other end says")
    }

    /// Gives a row that refers to a target its position there.
    private mutating func checkPosition(of row: RowNumber, in target: RowNumber, _ toOne: ToOneDescription) {
        guard target != 0, let order = toOne.order,
            snapshot.disagreement(about: LinkTable.Link(owner: target, member: row), in: order) != nil
        else { return }
        snapshot.linkTables[order].insert(row, of: target, key: snapshot.newKey(nil, of: target, in: order))
        notePosition(of: row, in: target, order)
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

    // MARK: Uniqueness and counts

    /// Of two rows with one value the one that was written later keeps it, or the one with the lower number.
    private mutating func checkUniqueness(of id: RowID) {
        while let shared = snapshot.sharedKeys(of: id, limit: 1).first, let row = shared.others.first {
            let other = RowID(entity: id.entity, row: row)
            let (own, others) = (writers[id] ?? 0, writers[other] ?? 0)
            let loser = own == others ? max(id, other) : own < others ? id : other
            giveUp(shared.index, of: loser, to: loser == id ? other : id)
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
        let properties = schema.entities[id.entity].properties
        for violation in snapshot.countViolations(of: id) {
            let name = properties[violation.property].name.shortened()
            switch violation {
            case .missing:
                return remove(id, "it cannot be without its \(name), which is lost")
            case .tooFew(let toMany, let count):
                return remove(id, "\(count) of its \(name) are left, and there must be \(toMany.counts.minimum)")
            case .tooMany(let toMany, let count):
                let maximum = toMany.counts.maximum ?? count
                for member in snapshot.members(of: id.row, through: toMany).dropFirst(maximum) {
                    detach(member, from: id, toMany, "there must be at most \(maximum) \(name)")
                }
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
        for number in schema.entities[id.entity].linkTables {
            for member in snapshot.linkTables[number].memberRows(of: id.row) {
                snapshot.unlink(member, from: id.row, in: number)
                queue.append(RowID(entity: schema.linkTables[number].members, row: member))
            }
        }
        snapshot.remove(id, scratch: &scratch)
        report.note(.objects, "\(schema.name(of: id)) is dropped: \(reason)")
    }
}
