/// Who does the work, in the order of the report's columns.
enum Side: String, CaseIterable, Sendable {
    case engine = "Graph"
    case sqlite = "SQLite"
    case native
}
