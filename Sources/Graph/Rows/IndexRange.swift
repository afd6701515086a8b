/// The entries of an ordered index between two bounds, either of which may be missing.
///
/// The bounds point to the caller's bytes; a range is made for one call inside `withUnsafeBytes`. A lower bound above the upper
/// one makes an empty range. With the encoded value *v* as prefix, the usual comparisons are
///
///     = v     .prefix(v)                              < v     IndexRange(upTo: .entry(v))
///     ≥ v     IndexRange(from: .entry(v))             ≤ v     IndexRange(upTo: .pastPrefix(v))
///     > v     IndexRange(from: .pastPrefix(v))
struct IndexRange {
    enum Bound {
        /// Just before this entry, whether or not it is present.
        case entry(UnsafeRawBufferPointer)
        /// Just after all entries that begin with these bytes.
        case pastPrefix(UnsafeRawBufferPointer)
    }

    let lower: Bound?
    let upper: Bound?

    init(from lower: Bound? = nil, upTo upper: Bound? = nil) {
        self.lower = lower
        self.upper = upper
    }

    static var all: IndexRange { IndexRange() }

    static func prefix(_ prefix: UnsafeRawBufferPointer) -> IndexRange {
        IndexRange(from: .entry(prefix), upTo: .pastPrefix(prefix))
    }
}
