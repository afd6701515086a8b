// What a reference does not have, so that the compiler says where it is. In a key path, as in `.ascending(\.team.name)`, Swift 6.3
// says it without the line.

extension ToOne {
    /// Unavailable: a reference holds an identifier, not the object.
    @available(
        *, unavailable,
        message: """
            a ToOne holds the identifier of an object and none of its properties: read them from the object, person.team?.name, \
            or from a snapshot, snapshot.value(for: id)?.name; instead of .ascending(\\.team.name) sort the results of the fetch
            """
    )
    public subscript<V>(dynamicMember keyPath: KeyPath<Target, V>) -> V { fatalError() }
}
