extension Workload {
    static let codableWorkloads: [Workload] = [
        Workload(
            "codable_save", "people of one Codable attribute inserted as in insert_bulk_durable; flat: five attributes",
            unit: .seconds(per: "row"), targets: [.within(2.5, .flat)], baseline: .flat, sqlite: nil,
            native: EngineCodable.saving(FlatPerson.self)),
        Workload(
            "codable_reopen", "their file opened and every row read", unit: .seconds(per: "opening"),
            targets: [.within(2, .flat)], baseline: .flat, sqlite: nil, native: EngineCodable.opening(FlatPerson.self)),
        Workload(
            "codable_disk", "the size of their closed file", unit: .bytes(per: "row"), targets: [.within(2.5, .flat)],
            baseline: .flat, sqlite: nil, native: EngineCodable.size(FlatPerson.self)),
    ]
}
