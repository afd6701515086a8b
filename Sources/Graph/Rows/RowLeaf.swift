/// Thirty-two consecutive rows of one entity, in one allocation.
///
/// Tail layout: 32 versions of 8 bytes, then 32 rows of the layout's stride. A place's version and row are initialized if its
/// occupancy bit is set. The versions are apart from the rows so that a scan reads rows alone.
///
/// A leaf is changed only while uniquely referenced; `RowTable` ensures that.
@usableFromInline
final class RowLeaf: ManagedBuffer<RowLeaf.Header, UInt64> {
    @usableFromInline
    struct Header {
        let layout: RowLayout
        var occupancy: UInt32
    }

    static let capacity = 32

    static func make(_ layout: RowLayout) -> RowLeaf {
        let words = capacity + (capacity * layout.stride + 7) / 8
        let buffer = create(minimumCapacity: words) { _ in Header(layout: layout, occupancy: 0) }
        return unsafeDowncast(buffer, to: RowLeaf.self)
    }

    deinit {
        let (occupancy, layout, values) = (occupancy, header.layout, values)
        RowLeaf.forEachRun(of: occupancy) { layout.destroy(values + $0 * layout.stride, $1) }
    }

    /// A copy that shares only what the rows themselves refer to.
    func copy() -> RowLeaf {
        let layout = header.layout
        let copy = RowLeaf.make(layout)
        copy.occupancy = occupancy
        copy.versions.update(from: versions, count: RowLeaf.capacity)
        let (source, target) = (values, copy.values)
        RowLeaf.forEachRun(of: occupancy) {
            layout.copy(target + $0 * layout.stride, source + $0 * layout.stride, $1)
        }
        return copy
    }

    // MARK: Reaching rows

    /// Bit *n* is set where row *n* of the leaf exists.
    ///
    /// By its address: the compiler would have each access to a property of the class check that no other one is under way,
    /// which takes longer than the access. None is, since a leaf changes only while uniquely referenced.
    var occupancy: UInt32 {
        get { withUnsafeMutablePointerToHeader { $0.pointee.occupancy } }
        set { withUnsafeMutablePointerToHeader { $0.pointee.occupancy = newValue } }
    }

    func hasRow(at place: Int) -> Bool { occupancy & (1 << UInt32(place)) != 0 }

    /// The row at a place that has one. A debug build stops if it has none, and so for `version(at:)`.
    ///
    /// - Parameter layout: the leaf's own, which the table has at hand.
    func row(at place: Int, _ layout: RowLayout) -> UnsafeMutableRawPointer {
        assert(hasRow(at: place) && layout === header.layout, "place \(place) of a leaf has no row")
        return values + place &* layout.stride
    }

    func version(at place: Int) -> RowVersion {
        assert(hasRow(at: place), "place \(place) of a leaf has no row")
        return RowVersion(versions[place])
    }

    /// Uninitialised memory for a row. A debug build stops if the place has a row, which would never be destroyed.
    func freePlace(_ place: Int, _ layout: RowLayout) -> UnsafeMutableRawPointer {
        assert(!hasRow(at: place) && layout === header.layout, "place \(place) of a leaf has a row")
        return values + place &* layout.stride
    }

    /// The versions of all places, also those without a row. Valid while the leaf is; the same holds for `values`.
    var versions: UnsafeMutablePointer<UInt64> {
        withUnsafeMutablePointerToElements { $0 }
    }

    /// Where the row of place 0 is, or would be.
    var values: UnsafeMutableRawPointer {
        withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0 + RowLeaf.capacity) }
    }

    /// Calls the body with start and length of each run of set bits, in ascending order.
    static func forEachRun(of occupancy: UInt32, _ body: (Int, Int) -> Void) {
        var rest = UInt64(occupancy)
        var place = 0
        while rest != 0 {
            let gap = rest.trailingZeroBitCount
            rest >>= UInt64(gap)
            place += gap
            let length = (~rest).trailingZeroBitCount
            body(place, length)
            rest >>= UInt64(length)
            place += length
        }
    }
}

/// A leaf that is being filled, and in no table yet.
///
/// Sendable without the compiler's proof: one thread makes and fills it, and nothing refers to it any more when that has handed it
/// on to another one.
struct LooseLeaf: @unchecked Sendable {
    let number: UInt64
    private(set) var count = 0
    let leaf: RowLeaf
    private let layout: RowLayout

    init(_ number: UInt64, _ layout: RowLayout) {
        (self.number, self.layout, leaf) = (number, layout, RowLeaf.make(layout))
    }

    /// Uninitialized memory for the row at a place, which must be free.
    func freePlace(_ place: Int) -> UnsafeMutableRawPointer { leaf.freePlace(place, layout) }

    /// Uninitialized memory for the row at place 0; the others follow at the layout's stride.
    var values: UnsafeMutableRawPointer { leaf.values }

    /// Adds rows whose memory is initialized by now.
    ///
    /// - Parameter versions: in the order of the places.
    mutating func add(_ places: UInt32, versions: [UInt64]) {
        var number = 0
        places.forEachBit { place in
            leaf.versions[place] = versions[number]
            number += 1
        }
        leaf.occupancy |= places
        count += number
    }

    /// Adds a row whose memory is initialized by now.
    mutating func add(_ place: Int, version: RowVersion) {
        leaf.versions[place] = version.number
        leaf.occupancy |= 1 << UInt32(place)
        count += 1
    }
}

extension RowLeaf {
    /// Moves all rows of another leaf here. Returns false, and moves none, if one of their places has a row.
    func take(all other: RowLeaf) -> Bool {
        let (places, layout) = (other.occupancy, header.layout)
        guard occupancy & places == 0 else { return false }
        places.forEachBit { place in
            layout.move(freePlace(place, layout), other.row(at: place, layout), 1)
            versions[place] = other.versions[place]
        }
        occupancy |= places
        other.occupancy = 0
        return true
    }
}

/// Sixteen subtrees of a row table. An empty subtree is nil.
///
/// Changed only while uniquely referenced; `RowTable` ensures that.
final class RowBranch: ManagedBuffer<Int, AnyObject?> {
    static let capacity = 16
    static let bits: UInt64 = 4

    static func make() -> RowBranch {
        make(count: 0) { $0.initialize(repeating: nil, count: capacity) }
    }

    func copy() -> RowBranch {
        // One by one: the library's copy of several asks the type's metadata how to copy each of them.
        RowBranch.make(count: count) { [children] copy in
            for digit in 0..<RowBranch.capacity { (copy + digit).initialize(to: children[digit]) }
        }
    }

    private static func make(count: Int, _ initialize: (UnsafeMutablePointer<AnyObject?>) -> Void) -> RowBranch {
        let buffer = create(minimumCapacity: capacity) { buffer in
            buffer.withUnsafeMutablePointerToElements(initialize)
            return count
        }
        return unsafeDowncast(buffer, to: RowBranch.self)
    }

    deinit {
        for digit in 0..<RowBranch.capacity { (children + digit).deinitialize(count: 1) }
    }

    /// How many children are not nil. By its address, as a leaf's `occupancy`.
    var count: Int {
        get { withUnsafeMutablePointerToHeader { $0.pointee } }
        set { withUnsafeMutablePointerToHeader { $0.pointee = newValue } }
    }

    /// Valid while the branch is.
    var children: UnsafeMutablePointer<AnyObject?> {
        withUnsafeMutablePointerToElements { $0 }
    }
}

/// The places of a leaf, as bits.
extension UInt32 {
    /// Calls the body with the number of each bit that is set, in ascending order.
    @inline(__always)
    func forEachBit(_ body: (Int) throws -> Void) rethrows {
        var rest = self
        while rest != 0 {
            try body(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
    }
}
