/// A time during which the working state does not move under a context's objects, other than by what they write themselves.
///
/// Each object refers to the epoch in which it last looked, and asks it on every access whether it still lasts: that is
/// one load less than comparing numbers, and no sweep over the objects when an epoch ends.
@usableFromInline
final class Epoch {
    /// Without the exclusivity check for the reason that `ManagedObject` gives.
    @exclusivity(unchecked) @usableFromInline var isCurrent: Bool

    /// - Parameter isCurrent: false has every access take the long way, on which it can be noted.
    init(isCurrent: Bool) {
        self.isCurrent = isCurrent
    }
}
