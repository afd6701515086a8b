extension Workload {
    static let exchangeWorkloads: [Workload] = [
        Workload(
            "import_lines",
            "all people and teams imported from lines of JSON, in memory, in transactions of 10,000; Foundation: a loop "
                + "with JSONDecoder",
            unit: .seconds(per: "row"), targets: [.within(1, .foundation)], baseline: .foundation, sqlite: nil,
            native: FoundationExchange.importingLines),
        Workload(
            "import_csv",
            "the same from two files of CSV; Foundation: a loop that splits lines and has Foundation read dates",
            unit: .seconds(per: "row"), targets: [.within(1, .foundation)], baseline: .foundation, sqlite: nil,
            native: FoundationExchange.importingCSV),
        Workload(
            "export_lines", "all of them written to a file as lines of JSON; Foundation: a loop with JSONEncoder",
            unit: .seconds(per: "row"), targets: [.within(1, .foundation)], baseline: .foundation, sqlite: nil,
            native: FoundationExchange.exportingLines),
    ]
}
