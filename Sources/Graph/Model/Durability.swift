/// What a save waits for before it returns.
///
/// On every level a file has its commits in order: whatever happens to the program, the system or the disk, opening the file
/// again finds all commits up to one of them, and none after that. The levels differ in how many of the last ones may be missing.
/// Readers, contexts and observers see a commit as soon as its save returns.
///
/// | | a killed program loses | a power cut loses | a save costs |
/// |---|---|---|---|
/// | `.full` | nothing | nothing | a write and a sync, which saves at the same time share |
/// | `.relaxed` | nothing | at most the last second | a write, shared likewise |
/// | `.none` | what is not written yet, at most the last second | at most the last second | what it costs in memory |
public enum Durability: Sendable, Hashable, Comparable {
    /// Nothing. The commit is written in the background, and synced within a second. While more than 8 MiB wait to be written, or
    /// the disk is full, saves wait as on the level `.relaxed`.
    case none
    /// For the write, not for the disk. The commit is synced within a second.
    case relaxed
    /// For the disk. All commits before it are durable, too, whatever their level.
    case full
}
