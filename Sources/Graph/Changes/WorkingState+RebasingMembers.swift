/// Moves members and links onto another base.
extension WorkingState {
    /// Applies the members that `later` added to one link table or removed, and the positions that it set.
    mutating func rebaseMembers(_ number: Int, of later: WorkingState, _ replacements: Replacements) {
        let table = schema.linkTables[number]
        guard table.isRecorded(as: number) else { return }
        func current(_ link: LinkTable.Link) -> LinkTable.Link {
            LinkTable.Link(
                owner: replacements[table.entity]?[link.owner] ?? link.owner,
                member: replacements[table.members]?[link.member] ?? link.member,
                key: link.key
            )
        }
        let difference = later.snapshot.linkTables[number].difference(from: later.base.linkTables[number])
        // Of two ordered link tables, the first one determines the links.
        let determinesLinks = table.inverse.map { number <= $0 } ?? false
        if determinesLinks {
            let links = Set(difference.added.map { LinkID(table: number, owner: $0.owner, member: $0.member) })
            for removed in difference.removed {
                let link = LinkID(table: number, owner: removed.owner, member: removed.member)
                guard !links.contains(link), !denies(link, in: later), !denies(link.reversed(in: schema), in: later)
                else { continue }
                snapshot.unlink(current(removed).member, from: current(removed).owner, in: number)
            }
        }
        for added in difference.added {
            let link = current(added)
            if snapshot.linkTables[number].contains(link.member, of: link.owner) {
                snapshot.linkTables[number].insert(link.member, of: link.owner, key: link.key)
            } else if determinesLinks, !later.base.linkTables[number].contains(added.member, of: added.owner) {
                // A link that was only moved here, and that others have ended, is not made again.
                makeLink(link, in: number)
            }
        }
    }

    /// Whether a link is kept only because it denies its owner's delete. A row that was never saved has no such links.
    private func denies(_ link: LinkID, in later: WorkingState) -> Bool {
        later.denyingLinks.contains(link)
            && base.entities[schema.linkTables[link.table].entity].rows.contains(link.owner)
    }

    /// Makes a link, or notes that an end is missing.
    private mutating func makeLink(_ link: LinkTable.Link, in number: Int) {
        let table = schema.linkTables[number]
        let hasOwner = snapshot.entities[table.entity].rows.contains(link.owner)
        let hasMember = snapshot.entities[table.members].rows.contains(link.member)
        let id = LinkID(table: number, owner: link.owner, member: link.member)
        if hasOwner, hasMember {
            snapshot.link(link.member, to: link.owner, in: number, key: link.key)
        } else {
            noteMissing(hasMember ? id.reversed(in: schema) : id)
        }
    }

    /// Makes the links whose ends both exist by now, because a row came back, or one arrived that a to-many value named.
    mutating func linkMissingMembers() {
        guard !missingMembers.isEmpty else { return }
        for (list, members) in sortedMissingMembers
        where snapshot.entities[list.entity].rows.contains(list.owner) {
            guard let relationship = schema.entities[list.entity].toManys.first(where: { $0.property == list.property })
            else { continue }
            let found = members.filter { snapshot.entities[relationship.source].rows.contains($0) }
            guard !found.isEmpty else { continue }
            let rest = members.subtracting(found)
            missingMembers[list] = rest.isEmpty ? nil : rest
            for member in found.sorted() { insertMember(member, of: list.owner, through: relationship) }
        }
    }

    /// Notes a link whose member is missing.
    private mutating func noteMissing(_ link: LinkID) {
        missingMembers[MemberList(link, in: schema), default: []].insert(link.member)
    }
}
