/// Says exactly which of Adya's phenomena a history shows.
///
/// Versions tell what every transaction read and overwrote, so that the graph of dependencies is known and nothing is
/// guessed (what Kingsbury and Alvaro's Elle infers from lists, 2020):
///
/// - ww: wrote the next version of what the other wrote
/// - wr: read what the other wrote
/// - rw: read the version before the one that the other wrote
/// - time: began when the other was over, or came after it in one session
///
/// A history is serializable exactly if the graph has no circle, and one of snapshot isolation exactly if every circle has
/// two rw edges in a row (Fekete et al. 2005; Cerone and Gotsman 2018). Rejected transactions count as readers: what they
/// saw has to be right as well.
struct HistoryChecker {
    enum Level: String, Sendable, CaseIterable {
        case snapshot
        case serializable

        func forbids(_ kind: Anomaly.Kind) -> Bool {
            self == .serializable || (kind != .g2Item && kind != .g2)
        }
    }

    /// What a level forbids, the worst of each group of transactions that depend on each other in a circle, and all that
    /// single reads and writes show.
    ///
    /// An absence, or that a row does not meet a predicate, looks the same before the row's time and after it. Where that
    /// makes a difference, a history is serializable if it is so with one of the two readings.
    static func anomalies(of history: History, at level: Level) -> [Anomaly] {
        let graph = DependencyGraph(history, readings: .atBegin)
        let circles = graph.worstCircles()
        guard level == .serializable, !circles.isEmpty else {
            return graph.anomalies + circles.filter { level.forbids($0.kind) }
        }
        let isSerializable = DependencyGraph(history, readings: .atCommit).worstCircles().isEmpty
        return graph.anomalies + (isSerializable ? [] : circles)
    }
}
