/// What a condition says of the rows that match, in terms of keys that indexes have: no row outside of it matches.
indirect enum IndexAccess {
    /// Any row may match.
    case all
    /// No row matches.
    case none
    /// Rows with a property in one of these ranges of keys, sorted and without overlap.
    case keys(KeyAccess)
    /// Rows with a member of which this is known.
    case members(ToManyDescription, IndexAccess)
    /// Made by `intersection` alone.
    case both(IndexAccess, IndexAccess)
    case either(IndexAccess, IndexAccess)
}

/// Ranges of the keys of one property.
struct KeyAccess {
    let column: Column
    let ranges: [KeyRange]
    /// Whether all rows with these keys match.
    let areExact: Bool
}
