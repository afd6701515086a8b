@testable import Graph

extension Context {
    /// A context that validates what it has read when it saves, for transactions that are made step by step.
    init(_ coordinator: Coordinator, isolation: IsolationLevel) {
        self.init(coordinator, isTransaction: false, reads: isolation == .serializable ? ReadLog() : nil)
    }

    var isSaveUnderWay: Bool { state.isSaveUnderWay }
}

extension Coordinator {
    /// Returns when everything that came to the coordinator before has had its turn.
    func takeTurn() {}
}
