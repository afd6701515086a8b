@testable import Graph

extension OrderedIndex {
    /// All of them, copied.
    var entries: [[UInt8]] {
        var entries: [[UInt8]] = []
        forEachEntry { entry in
            entries.append([UInt8](entry))
            return true
        }
        return entries
    }
}
