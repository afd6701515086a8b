@testable import Graph

extension Context {
    /// A context that validates what it has read when it saves, for transactions that are made step by step.
    init(_ coordinator: Coordinator, isolation: IsolationLevel) {
        self.init(coordinator, isTransaction: false, reads: isolation == .serializable ? ReadLog() : nil)
    }
}
