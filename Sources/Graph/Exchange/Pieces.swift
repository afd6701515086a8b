/// Collections in the order in which they came, each more than twice as long as the next one. So there are few of them, a copy of
/// all takes O(log *n*) for *n* elements, and each element is moved O(log *n*) times, whatever is copied meanwhile.
struct Pieces<Piece: Collection & Sendable>: Sendable {
    private(set) var all: [Piece] = []

    /// - Parameter join: makes one piece of an older and a newer one.
    mutating func append(_ newest: Piece, joiningBy join: (_ older: Piece, _ newer: Piece) -> Piece) {
        var piece = newest
        while let last = all.last, last.count <= 2 * piece.count {
            all.removeLast()
            piece = join(last, piece)
        }
        if !piece.isEmpty { all.append(piece) }
    }
}
