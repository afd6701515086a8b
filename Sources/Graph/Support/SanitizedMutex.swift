#if GRAPH_SANITIZE_THREAD
    import Foundation

    /// Stands for the `Mutex` of the library Synchronization, whose name it hides, in a build for the thread sanitizer.
    ///
    /// That library is not built for the sanitizer, which sees its lock as long as no thread has to wait for another, and reports
    /// a race when one does. It sees the lock of the system in each case.
    final class Mutex<Value: ~Copyable>: @unchecked Sendable {
        private let lock = NSLock()
        /// `lock` guards what it points to.
        private let value: UnsafeMutablePointer<Value>

        init(_ value: consuming sending Value) {
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
        }

        func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            lock.lock()
            defer { lock.unlock() }
            return try body(&value.pointee)
        }
    }
#endif
