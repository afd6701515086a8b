/// Converts rows of one schema to rows of another one, as a comparison of the two says. The leaves with the new rows are in no
/// table yet, so that several threads can convert at once.
struct RowConversion: Sendable {
    /// Of each kind; more would only make an error longer.
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
    /// Properties of which some values had parts that their types do not read.
    private(set) var unread: Set<String> = []

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

    /// Converts a run of rows, property by property. A row of which a value has no counterpart is left out.
    mutating func convert(_ run: RowTable.Run) {
        let layout = schema.entities[entity].layout
        var leaf = LooseLeaf(run.firstRow >> 5, layout)
        let rows = PropertyConversion.Rows(
            old: run.values, oldStride: oldStride, new: leaf.values, newStride: layout.stride)
        var (places, failed): (UInt32, [(place: Int, step: Int, reason: String)]) = (run.occupancy, [])
        for (number, step) in steps.enumerated() {
            let losses = step.run(rows, places) { place, reason in
                places &= ~(1 << UInt32(place))
                failed.append((place, number, reason))
            }
            if losses.contains(.null) { noteReplacedNull(of: step.property) }
            if losses.contains(.parts) { unread.insert("\(schema.entities[entity].name).\(step.property.name)") }
        }
        for (place, number, reason) in failed.sorted(by: { $0.place < $1.place }) {
            for step in steps.prefix(number) {
                step.property.operations.deinitialize(rows.new + place * layout.stride + step.property.offset)
            }
            fail(RowID(entity: entity, row: run.firstRow + UInt64(place)), steps[number].property.name, reason)
        }
        guard places != 0 else { return }
        places.forEachBit { leaf.add($0, version: RowVersion(run.versions[$0])) }
        leaves.append(leaf)
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
