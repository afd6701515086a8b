/// The objects that a context keeps alive because they hold changes not saved yet.
///
/// The context's actor owns this list and everything else refers to it weakly. So the circle of context and unsaved
/// objects ends with the actor, by counting references alone: on whatever thread that happens, nothing is touched that
/// code still holding such an object might be using.
final class UnsavedObjects {
    /// Written to, and not yet flushed into the working state.
    var dirty: [any RegisteredObject] = []
    /// Flushed, and not yet saved. Each object is listed once.
    private(set) var kept: [any RegisteredObject] = []

    func keep(_ objects: [any RegisteredObject]) {
        for object in objects where !object.flags.contains(.kept) {
            object.flags.insert(.kept)
            kept.append(object)
        }
    }

    /// Lets go of the objects listed so far and gives them to the caller.
    func release() -> [any RegisteredObject] {
        for object in kept { object.flags.remove(.kept) }
        defer { kept = [] }
        return kept
    }
}
