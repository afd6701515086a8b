/// How to copy, move and destroy rows of one type in memory that does not know their type.
///
/// The closures are made in an inlinable initializer, so that they are compiled for the type where the type is known and the
/// row table needs no generic code.
@usableFromInline
final class RowLayout: Sendable {
    /// The type of the rows. Only debug builds ask.
    @usableFromInline let type: any Sendable.Type
    @usableFromInline let stride: Int
    @usableFromInline let alignment: Int
    /// Copies initialized rows into uninitialized memory: target, source, count.
    @usableFromInline let copy: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer, Int) -> Void
    /// Moves initialized rows into uninitialized memory: target, source, count. The source is uninitialized afterwards.
    @usableFromInline let move: @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer, Int) -> Void
    /// Destroys initialized rows: address, count.
    @usableFromInline let destroy: @Sendable (UnsafeMutableRawPointer, Int) -> Void

    /// The alignment that a `RowLeaf` guarantees by its allocation and the sizes before its rows: 16 bytes of object header, 16
    /// of `Header`, 256 of versions.
    static let maximumAlignment = 16

    @inlinable
    init<Value: Sendable>(_ type: Value.Type) {
        self.type = type
        stride = MemoryLayout<Value>.stride
        alignment = MemoryLayout<Value>.alignment
        // Several rows lie a stride apart. A single one may come from anywhere, with nothing behind its last byte, and has no
        // bytes at all if its type has none; copying it as an array of one would still read a stride.
        copy = { target, source, count in
            let source = source.assumingMemoryBound(to: Value.self)
            guard count > 1 else {
                target.initializeMemory(as: Value.self, to: source.pointee)
                return
            }
            let target = target.bindMemory(to: Value.self, capacity: count)
            // One by one: the library's copy of several asks the type's metadata how to copy each of them.
            for place in 0..<count { (target + place).initialize(to: source[place]) }
        }
        move = { target, source, count in
            guard count > 1 else {
                target.initializeMemory(as: Value.self, to: source.assumingMemoryBound(to: Value.self).move())
                return
            }
            target.moveInitializeMemory(as: Value.self, from: source.assumingMemoryBound(to: Value.self), count: count)
        }
        destroy = { address, count in
            let values = address.assumingMemoryBound(to: Value.self)
            for place in 0..<count { (values + place).deinitialize(count: 1) }
        }
    }

    /// The layout of rows that consist of these properties, of no type that the program declares.
    init(of properties: [Property], stride: Int, alignment: Int) {
        (type, self.stride, self.alignment) = (UndeclaredEntity.self, stride, alignment)
        copy = { target, source, count in
            for row in 0..<count {
                for property in properties {
                    let offset = row * stride + property.offset
                    property.operations.copy(target + offset, source + offset)
                }
            }
        }
        move = { target, source, count in
            for row in 0..<count {
                for property in properties {
                    let offset = row * stride + property.offset
                    property.operations.copy(target + offset, source + offset)
                    property.operations.deinitialize(source + offset)
                }
            }
        }
        destroy = { address, count in
            for row in 0..<count {
                for property in properties {
                    property.operations.deinitialize(address + row * stride + property.offset)
                }
            }
        }
    }

    /// Runs the body on a copy of a row that it may change in place.
    func withCopy<Result>(
        of row: UnsafeRawPointer,
        _ body: (UnsafeMutableRawPointer) throws -> Result
    ) rethrows -> Result {
        try withUnsafeTemporaryAllocation(byteCount: max(stride, 1), alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let target = memory.baseAddress.unsafelyUnwrapped
            copy(target, row, 1)
            defer { destroy(target, 1) }
            return try body(target)
        }
    }
}

extension UnsafeRawPointer {
    /// The row at this address as what it is. Every read of a row as a value of the program's type begins here: a debug build
    /// stops if the rows of the table are of another type.
    ///
    /// - Parameter layout: that of the row's table; a release build does not evaluate it.
    @inlinable @inline(__always)
    func row<Value>(as type: Value.Type = Value.self, in layout: @autoclosure () -> RowLayout?) -> UnsafePointer<Value>
    {
        assert(layout()?.type == type, "a row is read as \(type), which is not the type of its table")
        return assumingMemoryBound(to: Value.self)
    }
}
