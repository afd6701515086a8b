#if GRAPH_SANITIZE_THREAD
    @testable import Graph

    /// Which of the two with this name the tests mean.
    typealias Mutex<Value: ~Copyable> = Graph.Mutex<Value>
#endif
