/// Moves members and links onto another base.
extension WorkingState {
    /// Applies the members that `later` added to one link table or removed, and the positions that it set.
    mutating func rebaseMembers(_ number: Int, of later: WorkingState, _ replacements: Replacements) {
        let list = schema.linkTables[number]
        guard list.isRecorded(as: number) else { return }
        func current(_ pair: LinkTable.Pair) -> LinkTable.Pair {
            LinkTable.Pair(
                owner: replacements[list.entity]?[pair.owner] ?? pair.owner,
                member: replacements[list.members]?[pair.member] ?? pair.member,
                key: pair.key
            )
        }
        let difference = later.snapshot.linkTables[number].difference(from: later.base.linkTables[number])
        // Of two ordered link tables, the first one determines the links.
        let determinesLinks = list.inverse.map { number <= $0 } ?? false
        if determinesLinks {
            let links = Set(difference.added.map { Link(list: number, owner: $0.owner, member: $0.member) })
            for pair in difference.removed {
                let link = Link(list: number, owner: pair.owner, member: pair.member)
                guard !links.contains(link), !denies(link, in: later), !denies(link.reversed(in: schema), in: later)
                else { continue }
                snapshot.unlink(current(pair).member, from: current(pair).owner, in: number)
            }
        }
        for added in difference.added {
            let pair = current(added)
            if snapshot.linkTables[number].contains(pair.member, of: pair.owner) {
                snapshot.linkTables[number].insert(pair.member, of: pair.owner, key: pair.key)
            } else if determinesLinks, !later.base.linkTables[number].contains(added.member, of: added.owner) {
                // A link that was only moved here, and that others have ended, is not made again.
                makeLink(pair, in: number)
            }
        }
    }

    /// Whether a link is kept only because it denies its owner's delete. A row that was never saved has no such links.
    private func denies(_ link: Link, in later: WorkingState) -> Bool {
        later.denyingLinks.contains(link)
            && base.entities[schema.linkTables[link.list].entity].rows.contains(link.owner)
    }

    /// Makes a link, or notes that an end is missing.
    private mutating func makeLink(_ pair: LinkTable.Pair, in number: Int) {
        let list = schema.linkTables[number]
        let hasOwner = snapshot.entities[list.entity].rows.contains(pair.owner)
        let hasMember = snapshot.entities[list.members].rows.contains(pair.member)
        let link = Link(list: number, owner: pair.owner, member: pair.member)
        if hasOwner, hasMember {
            snapshot.link(pair.member, to: pair.owner, in: number, key: pair.key)
        } else {
            noteMissing(hasMember ? link.reversed(in: schema) : link)
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
    private mutating func noteMissing(_ link: Link) {
        missingMembers[MemberList(link, in: schema), default: []].insert(link.member)
    }
}
