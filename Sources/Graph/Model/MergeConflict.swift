/// An object that this save changes, deletes or depends on, and that others have changed or deleted since the context read it.
public struct MergeConflict: Sendable, CustomStringConvertible {
    /// The object.
    public let id: AnyPersistentID
    /// The version that the context read; 0 if the object did not exist then.
    public let oldVersion: RowVersion
    /// The version in the store; 0 if it was deleted there. Between a context and its parent there are no versions: if both
    /// have the object, this is the old version.
    public let newVersion: RowVersion
    /// The row that the context read.
    public let base: (any Entity)?
    /// The row to save; nil if the save deletes it.
    public let ours: (any Entity)?
    /// The row in the store; nil if it was deleted there.
    public let theirs: (any Entity)?
    /// What the merge policy's function threw, if it threw.
    public internal(set) var reason: String?
    /// Who made this save, and where in the program.
    public internal(set) var ourOrigin: ChangeOrigin?
    /// Who made the newest commit that changed the object, if that was recent.
    public internal(set) var theirOrigin: ChangeOrigin?
    /// Whether the conflict is between a nested context and its parent; `theirs` is then the parent's row.
    public internal(set) var isWithParent = false

    /// For printing on demand only: a save may have very many conflicts.
    private let entity: EntityDescription

    fileprivate init(
        id: AnyPersistentID,
        of entity: EntityDescription,
        versions: (old: RowVersion, new: RowVersion),
        base: (any Entity)?,
        ours: (any Entity)?,
        theirs: (any Entity)?
    ) {
        self.id = id
        self.entity = entity
        (oldVersion, newVersion) = versions
        (self.base, self.ours, self.theirs) = (base, ours, theirs)
    }

    /// The properties that either side changed, in the order of declaration; empty if one side has no row.
    ///
    /// Complexity: O(properties), and printing those that differ.
    public var differences: [PropertyDifference] { entity.differences(base, ours, theirs) }

    /// The three rows with their type; nil if the object belongs to another entity.
    ///
    /// Complexity: O(1).
    public func rows<E: Entity>(of type: E.Type = E.self) -> (base: E?, ours: E?, theirs: E?)? {
        guard id.typed(as: type) != nil else { return nil }
        return (base as? E, ours as? E, theirs as? E)
    }

    /// The versions on one line, then each of the three rows on a line, with long values cut.
    public var description: String {
        """
          \(id): oldVersion = \(oldVersion), newVersion = \(newVersion)
            cached row = \(entity.describe(base))
            \(isWithParent ? "parent row" : "store row ") = \(entity.describe(theirs))
            your row   = \(entity.describe(ours))
        """ + (reason.map { "\n    not merged = \($0.shortened(to: 400))" } ?? "")
    }
}

extension GraphError {
    /// The same error, if it is about conflicts between a context and its parent.
    var withParent: GraphError {
        guard case .conflicts(var conflicts) = self else { return self }
        conflicts.modifyEach { $0.isWithParent = true }
        return .conflicts(conflicts)
    }
}

/// One property, as both sides changed it.
public struct PropertyDifference: Sendable, Hashable {
    /// The property's name.
    public let property: String
    /// The values as text, cut if they are long.
    public let base, ours, theirs: String
    /// Whether the save changes it.
    public let isChangedHere: Bool
    /// Whether others have changed it.
    public let isChangedThere: Bool
}

/// Where a change comes from.
public struct ChangeOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The context's author.
    public internal(set) var author: String?
    /// The file and the line that called `save()` or `transaction`.
    public internal(set) var callSite: CallSite?
    /// The commit's number; nil for a change that is not committed.
    public internal(set) var commit: CommitNumber?
    /// Whether the context saved automatically; the change then has no call site.
    public internal(set) var isAutosave = false
    /// Whether it is what opening a file of another schema has changed. A tracer is told so; a file does not record it, so that
    /// the commit is one without an author in the file's history.
    public internal(set) var isMigration = false

    /// What is known of the origin: `by import (App/Library.swift:12), commit 4`.
    public var description: String {
        let parts = [who, commit.map { "commit \($0)" } ?? ""].filter { !$0.isEmpty }
        return parts.isEmpty ? "unknown" : parts.joined(separator: ", ")
    }

    /// Author and place, as far as known.
    var who: String {
        let place = isMigration ? "migration" : isAutosave ? "autosave" : callSite?.description
        return [author.map { "by \($0)" }, place.map { "(\($0))" }].compactMap { $0 }.joined(separator: " ")
    }
}

/// A place in the program's source.
public struct CallSite: Sendable, Hashable, CustomStringConvertible {
    private let file: StaticString
    /// The line, counted from 1.
    public let line: UInt

    init(_ file: StaticString, _ line: UInt) {
        self.file = file
        self.line = line
    }

    /// Module and file: `App/Library.swift`.
    ///
    /// Complexity: O(length of the name).
    public var fileID: String { file.description }

    /// `App/Library.swift:12`
    public var description: String { "\(file):\(line)" }

    /// Whether both are the same place.
    public static func == (lhs: CallSite, rhs: CallSite) -> Bool { lhs.line == rhs.line && lhs.fileID == rhs.fileID }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fileID)
        hasher.combine(line)
    }
}

extension EntityDescription {
    func conflict(
        of row: RowNumber,
        versions: (old: RowVersion, new: RowVersion),
        base: UnsafeRawPointer?,
        ours: UnsafeRawPointer?,
        theirs: UnsafeRawPointer?
    ) -> MergeConflict {
        MergeConflict(
            id: AnyPersistentID(entityName: name, row: row),
            of: self,
            versions: versions,
            base: base.map { value(at: $0) },
            ours: ours.map { value(at: $0) },
            theirs: theirs.map { value(at: $0) }
        )
    }

    /// `deleted` if there is no row.
    fileprivate func describe(_ row: (any Entity)?) -> String {
        withAddress(of: row) { $0.map { describe($0, shortened: true).shortened(to: 600) } ?? "deleted" }
    }

    fileprivate func differences(
        _ base: (any Entity)?,
        _ ours: (any Entity)?,
        _ theirs: (any Entity)?
    ) -> [PropertyDifference] {
        withAddress(of: base) { base in
            withAddress(of: ours) { ours in
                withAddress(of: theirs) { theirs in
                    guard let base, let ours, let theirs else { return [] }
                    return differences(base, ours, theirs)
                }
            }
        }
    }

    private func differences(
        _ base: UnsafeRawPointer,
        _ ours: UnsafeRawPointer,
        _ theirs: UnsafeRawPointer
    ) -> [PropertyDifference] {
        var differences: [PropertyDifference] = []
        RowMerge(self, base: base, ours: ours, theirs: theirs).forEachChange { _, property, side in
            func describe(_ row: UnsafeRawPointer) -> String {
                property.operations.describe(row + property.offset).shortened()
            }
            differences.append(
                PropertyDifference(
                    property: property.name,
                    base: describe(base),
                    ours: describe(ours),
                    theirs: describe(theirs),
                    isChangedHere: side != .theirs,
                    isChangedThere: side != .ours
                )
            )
        }
        return differences
    }

    private func withAddress<R>(of row: (any Entity)?, _ body: (UnsafeRawPointer?) -> R) -> R {
        func open<E: Entity>(_ row: E) -> R { withUnsafePointer(to: row) { body(UnsafeRawPointer($0)) } }
        return row.map { open($0) } ?? body(nil)
    }

    /// A row, as a value of the entity's type.
    func value(at row: UnsafeRawPointer) -> any Entity {
        read(self.type, row)
    }

    private func read<E: Entity>(_ type: E.Type, _ row: UnsafeRawPointer) -> any Entity {
        row.assumingMemoryBound(to: E.self).pointee
    }
}
