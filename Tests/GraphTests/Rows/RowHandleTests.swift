import Testing

@testable import Graph

/// What a debug build stops: reading a row that is not there, or as what it is not. Release builds do not look.
struct RowHandleTests {
    private struct Point: Sendable {
        var (x, y) = (1.0, 2.0)
    }

    private static func makeLeaf() -> RowLeaf {
        let leaf = RowLeaf.make(RowLayout(Point.self))
        leaf.freePlace(3, leaf.header.layout).initializeMemory(as: Point.self, to: Point())
        leaf.versions[3] = 7
        leaf.header.occupancy = 1 << 3
        return leaf
    }

    @Test func `a row is reached at its place and read as its type`() {
        let leaf = Self.makeLeaf()
        withExtendedLifetime(leaf) {
            let address = UnsafeRawPointer(leaf.row(at: 3, leaf.header.layout))
            #expect(address.row(as: Point.self, in: leaf.header.layout).pointee.y == 2)
            #expect(leaf.version(at: 3) == RowVersion(7))
        }
    }

    #if DEBUG
        @Test func `reading a row as another type stops`() async {
            await #expect(processExitsWith: .failure) {
                let leaf = Self.makeLeaf()
                let address = UnsafeRawPointer(leaf.row(at: 3, leaf.header.layout))
                _ = address.row(as: (Double, Double).self, in: leaf.header.layout)
            }
            await #expect(processExitsWith: .failure) {
                var table = RowTable(layout: RowLayout(Point.self))
                withUnsafePointer(to: Point()) { _ = table.set(1, version: RowVersion(1), copying: $0) }
                _ = table.value(of: 1, as: Int.self)
            }
        }

        @Test func `reading a place without a row stops`() async {
            await #expect(processExitsWith: .failure) {
                let leaf = Self.makeLeaf()
                _ = leaf.row(at: 4, leaf.header.layout)
            }
            await #expect(processExitsWith: .failure) {
                let leaf = Self.makeLeaf()
                _ = leaf.version(at: 4)
            }
        }

        @Test func `writing over a row that was not destroyed stops`() async {
            await #expect(processExitsWith: .failure) {
                let leaf = Self.makeLeaf()
                _ = leaf.freePlace(3, leaf.header.layout)
            }
        }

        @Test func `reaching a leaf by the layout of another table stops`() async {
            await #expect(processExitsWith: .failure) {
                let leaf = Self.makeLeaf()
                _ = leaf.row(at: 3, RowLayout(Point.self))
            }
        }
    #endif
}
