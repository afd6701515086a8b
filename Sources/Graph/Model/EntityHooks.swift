private import Synchronization

/// The program's hooks for rows before a save, called by address.
///
/// The closures are made in an inlinable initializer, so that they are compiled for the type where the type is known.
@usableFromInline
final class EntityHooks: Sendable {
    let willSave: @Sendable (UnsafeMutableRawPointer) -> Void
    let validate: @Sendable (UnsafeRawPointer) throws -> Void
    private let isWillSaveMissing = Atomic(false)
    private let isValidateMissing = Atomic(false)

    @inlinable
    convenience init<E: Entity>(_ type: E.Type) {
        self.init(
            willSave: { $0.assumingMemoryBound(to: E.self).pointee.willSave() },
            validate: { try $0.assumingMemoryBound(to: E.self).pointee.validate() }
        )
    }

    @usableFromInline
    init(
        willSave: @escaping @Sendable (UnsafeMutableRawPointer) -> Void,
        validate: @escaping @Sendable (UnsafeRawPointer) throws -> Void
    ) {
        self.willSave = willSave
        self.validate = validate
    }

    /// Whether the program may have written one. The default implementation reports itself when called; nothing else tells.
    var hasWillSave: Bool { !isWillSaveMissing.load(ordering: .relaxed) }
    var hasValidate: Bool { !isValidateMissing.load(ordering: .relaxed) }

    func willSaveIsMissing() { isWillSaveMissing.store(true, ordering: .relaxed) }
    func validateIsMissing() { isValidateMissing.store(true, ordering: .relaxed) }
}
