// What a `#Predicate` may say of a relationship. Its closure is checked as ordinary code before it is expanded, so references need
// these members. A row has identifiers only: they read the state that a fetch searches, and stop the program where there is none.

extension ToOne {
    /// In a condition of a fetch, and where a closure takes its values: a property of the object that the reference leads to in the state
    /// that is searched, nil if it leads to none. Stops the program anywhere else: a reference holds an identifier alone.
    ///
    /// ```swift
    /// try snapshot.fetchValues(Person.self, where: #Predicate { $0.team.name == "Analysts" })
    /// try snapshot.fetchValues(Person.self, where: { $0.team.name?.count == $0.name.count })
    /// ```
    ///
    /// Complexity: O(log *n*) for each row that is looked at; a predicate's condition on the target alone is evaluated once for each
    /// target.
    public subscript<V>(dynamicMember keyPath: any KeyPath<Target, V> & Sendable) -> V? {
        member(AttributeMember(keyPath: keyPath, none: nil, some: { $0 }), \ToOne[dynamicMember: keyPath])
    }

    /// In a condition of a fetch: an optional property of the object that the reference leads to.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<V>(dynamicMember keyPath: any KeyPath<Target, V?> & Sendable) -> V? {
        member(AttributeMember(keyPath: keyPath, none: nil, some: { $0 }), \ToOne[dynamicMember: keyPath])
    }

    /// In a condition of a fetch: a reference of the object that the reference leads to.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<Other>(dynamicMember keyPath: any KeyPath<Target, ToOne<Other>> & Sendable) -> ToOne<Other> {
        member(AttributeMember(keyPath: keyPath, none: nil, some: { $0 }), \ToOne[dynamicMember: keyPath])
    }

    /// For predicates: the members of the object that the reference leads to; none if it leads to none.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<Other>(dynamicMember keyPath: any KeyPath<Target, ToMany<Other>> & Sendable) -> ToMany<Other> {
        member(
            AttributeMember(keyPath: keyPath, none: ToMany(stored: ()), some: { $0 }), \ToOne[dynamicMember: keyPath])
    }

    private func member<V, Member>(
        _ member: AttributeMember<Target, V, Member>, _ keyPath: @autoclosure () -> KeyPath<ToOne, Member>
    ) -> Member {
        if let recorder = MemberRecorder.current {
            recorder.member = (member, keyPath())
            return member.none
        }
        guard let searched = SearchedState.current.get() else {
            fatalError(
                """
                a \(ToOne.self) holds the identifier of an object and none of its properties, which only a condition of a fetch can \
                name: read them from the object, person.team?.name, or from a snapshot, snapshot.value(for: id)?.name
                """)
        }
        return searched.value(of: self, member.keyPath).map(member.some) ?? member.none
    }
}

// Disfavoured, so that an object's members are `RelatedObjects`, which has these as every collection has.
extension ToMany {
    /// For predicates: the number of members. Stops the program anywhere else.
    ///
    /// Complexity: O(log *n*) for each row.
    @_disfavoredOverload
    public var count: Int {
        fatalError(Self.outsideOfPredicate)
    }

    /// For predicates: whether there are no members. Stops the program anywhere else.
    ///
    /// Complexity: O(log *n*) for each row.
    @_disfavoredOverload
    public var isEmpty: Bool {
        fatalError(Self.outsideOfPredicate)
    }

    /// For predicates: whether any member meets a condition.
    ///
    /// - Throws: `GraphError.predicateNotSupported` anywhere else.
    ///
    /// Complexity: O(log *n* + *k*) for each row with *k* members, up to the first that does.
    @_disfavoredOverload
    public func contains(where predicate: (Target) throws -> Bool) throws -> Bool {
        throw GraphError.predicateNotSupported(Self.outsideOfPredicate)
    }

    /// For predicates: whether all members meet a condition.
    ///
    /// - Throws: `GraphError.predicateNotSupported` anywhere else.
    ///
    /// Complexity: O(log *n* + *k*) for each row with *k* members, up to the first that does not.
    @_disfavoredOverload
    public func allSatisfy(_ predicate: (Target) throws -> Bool) throws -> Bool {
        throw GraphError.predicateNotSupported(Self.outsideOfPredicate)
    }

    /// For predicates: the members that meet a condition.
    ///
    /// - Throws: `GraphError.predicateNotSupported` anywhere else.
    ///
    /// Complexity: O(log *n* + *k*) for each row with *k* members.
    @_disfavoredOverload
    public func filter(_ predicate: (Target) throws -> Bool) throws -> [Target] {
        throw GraphError.predicateNotSupported(Self.outsideOfPredicate)
    }

    private static var outsideOfPredicate: String {
        """
        a \(Self.self) of a plain value has no members, which only a #Predicate can ask about: read them from the object, or with \
        snapshot.relatedValues(_:of:)
        """
    }
}
