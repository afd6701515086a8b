/// Makes rows of the file's schema rows of the program's, in leaves that are in no table yet, so that several threads can do so side
/// by side.
struct RowConversion: Sendable {
    static let failureLimit = 100

    private let entity: Int
    private let schema: Schema
    private let steps: [PropertyConversion]
    private let oldStride: Int
    private(set) var leaves: [LooseLeaf] = []
    /// What has no counterpart; a hundred at most.
    private(set) var failures: [ValidationFailure] = []
    /// Properties that were nil somewhere, and have their default there.
    private(set) var replacedNulls: [SchemaChange] = []

    /// - Parameters:
    ///   - entity: of the program.
    ///   - number: of that entity in the file.
    ///   - isStep: as for ``SnapshotConversion``.
    init(_ entity: Int, of comparison: SchemaComparison, from number: Int, isStep: Bool) {
        (self.entity, schema) = (entity, comparison.new)
        let old = comparison.old.entities[number]
        oldStride = old.layout.stride
        steps = zip(schema.entities[entity].properties, comparison.entities[entity].properties).map {
            PropertyConversion($0, $1, from: old, isStep: isStep)
        }
    }

    mutating func convert(_ run: RowTable.Run) {
        var leaf = LooseLeaf(run.firstRow >> 5, schema.entities[entity].layout)
        run.occupancy.forEachBit { place in
            let id = RowID(entity: entity, row: run.firstRow + UInt64(place))
            guard convert(id, run.values + place * oldStride, to: leaf.freePlace(place)) else { return }
            leaf.add(place, version: RowVersion(run.versions[place]))
        }
        if leaf.count > 0 { leaves.append(leaf) }
    }

    /// Initialises a row's memory; returns false, and leaves none of it initialised, if a value has no counterpart.
    private mutating func convert(_ id: RowID, _ old: UnsafeRawPointer, to new: UnsafeMutableRawPointer) -> Bool {
        for (number, step) in steps.enumerated() {
            do {
                if try step.run(old, new) { noteReplacedNull(of: step.property) }
            } catch {
                for step in steps.prefix(number) { step.property.operations.deinitialize(new + step.property.offset) }
                fail(id, step.property.name, (error as? PropertyConversion.Failure)?.reason ?? "\(error)")
                return false
            }
        }
        return true
    }

    private mutating func noteReplacedNull(of property: Property) {
        let change = SchemaChange(
            entity: schema.entities[entity].name, property: property.name,
            summary: "required now, and nil becomes the default", handling: .converted, advice: nil)
        if !replacedNulls.contains(change) { replacedNulls.append(change) }
    }

    private mutating func fail(_ id: RowID, _ property: String, _ reason: String) {
        guard failures.count < Self.failureLimit else { return }
        failures.append(ValidationFailure(id: schema.id(of: id), property: property, reason: reason))
    }
}
