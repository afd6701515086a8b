/// The objects of a context: at most one for each row, and those with unsaved changes kept alive.
///
/// The context's actor owns the registry and everything else refers to it weakly. So the circle of context and objects ends
/// with the actor, by counting references alone: on whatever thread that happens, nothing is touched that code still
/// holding such an object might be using.
///
/// The registry refers to its objects strongly, because making and reading a weak reference costs more than all else that an
/// object takes. What nobody else refers to counts as not there, and goes. Most objects are used for a moment, so that goes in
/// generations (Ungar, *Generation Scavenging*, 1984): an object is looked at again when some more have been made, while it is
/// still in the processor's cache; if it was held then, at the end of the turn of the context; if it was held for longer, at
/// the end of one of the next turns, each of which looks at a few more, or when the number of objects may have doubled. Those
/// with unsaved changes are held until the changes are saved or dropped, and looked at again at the end of the turn that does so.
/// References held elsewhere may end on any thread; that can be seen late, but nobody can take up an object again other than
/// here.
@usableFromInline
final class ObjectRegistry {
    /// Written to, and not yet flushed into the working state.
    private var dirty: [DirtyObject] = []
    private var hasNew = false
    /// Flushed, and not yet saved. Each object is listed once.
    private(set) var kept: [any RegisteredObject] = []
    /// Of the list of kept objects.
    private var generation: UInt64 = 1

    /// An object and where its row is, so that they can be put in order without a look at the objects.
    struct DirtyObject {
        let id: RowID
        let object: any RegisteredObject
    }
    // The exclusivity checks of these are off because they would protect nothing: no access to them runs code that leads back
    // here. Objects that are removed are released when the access is over.

    /// By entity.
    @exclusivity(unchecked) private var tables: [ObjectTable]
    @exclusivity(unchecked) private(set) var count = 0
    @exclusivity(unchecked) private var sweepAt = minimumSweep
    /// The last ones registered, the oldest of them at `oldest` once there are as many as there may be.
    @exclusivity(unchecked) private var newest: [RowID] = []
    @exclusivity(unchecked) private var oldest = 0
    /// Registered since the last turn ended, or the last sweep, and held when they were no longer among the newest.
    @exclusivity(unchecked) private(set) var recent: [RowID] = []
    /// How many objects whose changes were saved or dropped are among the recent ones.
    private var releasedCount = 0
    /// Where the next turn goes on to look.
    private var hand = (entity: 0, place: 0)
    /// Whether objects that nobody holds stay too.
    var retainsAll = false

    private static let minimumSweep = 2_048
    private static let newestCapacity = 1_024
    /// How many places of the tables a turn looks at.
    private static let handSteps = 32
    /// How many objects must be released at once for tables to be made smaller at once, too.
    private static let largeRelease = 4_096

    init(schema: Schema) {
        tables = schema.entities.map { _ in ObjectTable() }
    }

    /// For how many objects there is room.
    var capacity: Int { tables.reduce(0) { $0 + $1.capacity } }

    // MARK: Look-up

    func hasObjects(of entity: Int) -> Bool { tables[entity].count > 0 }

    /// The object of a row, whether anybody holds it or not.
    @usableFromInline
    func object(for id: RowID) -> AnyObject? {
        tables[id.entity][id.row]
    }

    /// The object of a row, if anybody holds it. Otherwise it goes.
    @usableFromInline
    func heldObject(for id: RowID) -> AnyObject? {
        if !retainsAll, tables[id.entity].removeIfUnheld(id.row) != nil {
            count -= 1
            return nil
        }
        return tables[id.entity][id.row]
    }

    @usableFromInline
    func register(_ object: AnyObject, as id: RowID) {
        makeRoom()
        note(id)
        if tables[id.entity].insert(object, as: id.row) { count += 1 }
    }

    /// The object of a row; if there is none, the one that the closure makes. Whether there is room is for the caller to see to.
    @usableFromInline
    func object(for id: RowID, orRegister make: () -> AnyObject) -> AnyObject {
        let (object, isNew) = tables[id.entity].object(for: id.row, orInsert: make)
        if isNew {
            count += 1
            note(id)
        }
        return object
    }

    /// Releases what nobody holds if there is so much that it pays to look.
    @usableFromInline
    func makeRoom() {
        if count >= sweepAt { sweep() }
        // A turn may make the same objects again and again.
        if recent.count >= 2 * sweepAt { endTurn() }
    }

    /// Takes an object among the newest, in the place of the oldest of those.
    private func note(_ id: RowID) {
        guard newest.count == Self.newestCapacity else { return newest.append(id) }
        let old = newest[oldest]
        newest[oldest] = id
        oldest = (oldest + 1) % Self.newestCapacity
        if !retainsAll, let object = tables[old.entity].removeIfUnheld(old.row) {
            count -= 1
            return withExtendedLifetime(object) {}
        }
        recent.append(old)
    }

    /// Releases the objects that only a turn of the context used, and of some that were held for longer.
    func endTurn() {
        guard count > 0 || !recent.isEmpty || !newest.isEmpty else { return }
        defer { forgetRecent() }
        guard !retainsAll else { return }
        // A table is as large as it once had to be. After a turn that made few objects it need not be.
        if recent.isEmpty { tables[hand.entity].shrink() }
        var unheld: [AnyObject] = []
        for ids in [recent, newest] {
            for id in ids {
                if let object = tables[id.entity].removeIfUnheld(id.row) { unheld.append(object) }
            }
        }
        moveHand(&unheld)
        count -= unheld.count
        // Nobody may come by again for long.
        if releasedCount >= Self.largeRelease {
            for entity in tables.indices { tables[entity].shrink() }
        }
    }

    private func forgetRecent() {
        (recent, oldest, releasedCount) = ([], 0, 0)
        newest.removeAll(keepingCapacity: true)
    }

    private func moveHand(_ unheld: inout [AnyObject]) {
        var steps = Self.handSteps
        for _ in tables.indices where steps > 0 {
            unheld += tables[hand.entity].removeUnheld(from: &hand.place, steps: &steps)
            if hand.place == 0 { hand.entity = (hand.entity + 1) % tables.count }
        }
    }

    private func sweep() {
        guard !retainsAll else {
            sweepAt = 2 * count
            return
        }
        removeUnheld()
    }

    /// Releases all objects that nobody holds.
    func removeUnheld() {
        var unheld: [AnyObject] = []
        for entity in tables.indices { unheld += tables[entity].removeUnheld() }
        count -= unheld.count
        sweepAt = max(Self.minimumSweep, 2 * count)
        forgetRecent()
        hand = (0, 0)
    }

    // MARK: Unsaved changes

    func register(dirty object: any RegisteredObject) {
        let id = object.rowID
        if object.flags.contains(.new) { hasNew = true }
        dirty.append(DirtyObject(id: id, object: object))
    }

    /// Gives the dirty objects to the caller, as they lie in the tables, so that writing them fetches each leaf from memory once.
    /// With new ones among them they come in the order in which they became dirty: new ones may have one-to-one related objects among
    /// the others, and are written in the order in which that was said.
    func takeDirty() -> [DirtyObject] {
        var objects: [DirtyObject] = []
        swap(&objects, &dirty)
        if !hasNew, objects.count > 1 {
            objects.sort { $0.id < $1.id }
        }
        hasNew = false
        return objects
    }

    func keep(_ object: any RegisteredObject) {
        guard object.keptGeneration != generation else { return }
        object.keptGeneration = generation
        kept.append(object)
    }

    func keep(_ objects: [any RegisteredObject]) {
        for object in objects { keep(object) }
    }

    /// Releases objects that are as the store has them, if those may be the most: changes are taken back without a save, too.
    ///
    /// - Parameter changeCount: of rows.
    func keepOnly(changeCount: Int, where isChanged: (RowID) -> Bool) {
        guard kept.count > 2 * changeCount + Self.handSteps else { return }
        keep(release().filter { isChanged($0.rowID) })
    }

    /// Forgets the objects kept so far and returns them to the caller.
    func release() -> [any RegisteredObject] {
        generation += 1
        var objects: [any RegisteredObject] = []
        swap(&objects, &kept)
        didRelease(objects.map(\.rowID))
        return objects
    }

    /// Has objects looked at when the turn ends, since nothing but the program may hold them then.
    func didRelease(_ ids: [RowID]) {
        guard !retainsAll else { return }
        recent += ids
        releasedCount += ids.count
    }
}

/// Objects by row number: a hash table with linear probing, in which a removal moves up what was pushed past the gap (Knuth,
/// *The Art of Computer Programming* 3, 6.4, algorithm R).
struct ObjectTable {
    private struct Slot {
        /// 0 where there is no object.
        var row: RowNumber = 0
        var object: AnyObject?
    }

    private(set) var count = 0
    /// A power of two of them, at most three quarters taken; none to begin with.
    private var slots: [Slot] = []
    private var shift = 64

    var capacity: Int { slots.count }

    subscript(row: RowNumber) -> AnyObject? {
        guard !slots.isEmpty else { return nil }
        let place = place(of: row)
        return slots[place].object
    }

    /// True if the row had no object. Otherwise the new one takes the place of the old one.
    mutating func insert(_ object: AnyObject, as row: RowNumber) -> Bool {
        makeRoom()
        let place = place(of: row)
        let isNew = slots[place].row == 0
        slots[place] = Slot(row: row, object: object)
        if isNew { count += 1 }
        return isNew
    }

    /// The object of a row; if there is none, the one that the closure makes.
    mutating func object(for row: RowNumber, orInsert make: () -> AnyObject) -> (object: AnyObject, isNew: Bool) {
        makeRoom()
        let place = place(of: row)
        if let object = slots[place].object { return (object, false) }
        let object = make()
        slots[place] = Slot(row: row, object: object)
        count += 1
        return (object, true)
    }

    private mutating func makeRoom() {
        if 4 * (count + 1) > 3 * slots.count { resize(to: max(16, 2 * slots.count)) }
    }

    /// Removes the object of a row if nobody else refers to it, and returns it to the caller to release.
    mutating func removeIfUnheld(_ row: RowNumber) -> AnyObject? {
        guard !slots.isEmpty else { return nil }
        let place = place(of: row)
        guard slots[place].row != 0, isKnownUniquelyReferenced(&slots[place].object) else { return nil }
        defer { remove(at: place) }
        return slots[place].object
    }

    /// Removes all objects that nobody else refers to, and returns them to the caller to release.
    mutating func removeUnheld() -> [AnyObject] {
        var unheld: [AnyObject] = []
        for place in slots.indices where slots[place].row != 0 && isKnownUniquelyReferenced(&slots[place].object) {
            if let object = slots[place].object { unheld.append(object) }
            slots[place] = Slot()
        }
        count -= unheld.count
        fit()
        return unheld
    }

    /// Takes less memory if there are far fewer objects than there once were.
    mutating func shrink() {
        if 16 * count < slots.count { fit() }
    }

    private mutating func fit() {
        var capacity = 16
        while 4 * count > capacity { capacity *= 2 }
        resize(to: count == 0 ? 0 : capacity)
    }

    /// The same for some places, from `place` on, where it then goes on; 0 after the last one. Each place counts as a step.
    mutating func removeUnheld(from place: inout Int, steps: inout Int) -> [AnyObject] {
        var unheld: [AnyObject] = []
        while place < slots.count, steps > 0 {
            if slots[place].row != 0, isKnownUniquelyReferenced(&slots[place].object) {
                if let object = slots[place].object { unheld.append(object) }
                // Another one may come here.
                remove(at: place)
            } else {
                place += 1
            }
            steps -= 1
        }
        if place >= slots.count { place = 0 }
        return unheld
    }

    /// Where a row is, or would be.
    private func place(of row: RowNumber) -> Int {
        let mask = slots.count &- 1
        var place = home(of: row)
        while slots[place].row != row, slots[place].row != 0 { place = (place &+ 1) & mask }
        return place
    }

    /// Fibonacci hashing: neighbouring rows come far apart.
    private func home(of row: RowNumber) -> Int {
        Int(truncatingIfNeeded: (row &* 0x9E37_79B9_7F4A_7C15) >> UInt64(shift))
    }

    private mutating func remove(at gap: Int) {
        let mask = slots.count - 1
        var (gap, place) = (gap, gap)
        count -= 1
        slots[gap] = Slot()
        while true {
            place = (place + 1) & mask
            guard slots[place].row != 0 else { return }
            // An entry whose home lies behind the gap, seen from where it is, has to stay.
            let distance = (place - home(of: slots[place].row)) & mask
            if distance >= (place - gap) & mask {
                slots.swapAt(gap, place)
                gap = place
            }
        }
    }

    private mutating func resize(to capacity: Int) {
        var old = Array(repeating: Slot(), count: capacity)
        swap(&old, &slots)
        shift = 64 - capacity.trailingZeroBitCount
        // Swapping moves the references, where copying would count each of them, in memory that is seldom at hand.
        for index in old.indices where old[index].row != 0 { swap(&slots[place(of: old[index].row)], &old[index]) }
    }
}
