// What a `#Predicate` may say of a relationship. Its closure is checked as ordinary code before it is expanded, so references need
// these members; outside of a predicate they stop the program, or do not compile without `try`, since a row has identifiers only.

extension ToOne {
    /// For predicates: a property of the object that the reference leads to, nil if it leads to none. Stops the program anywhere
    /// else: a reference holds an identifier alone.
    ///
    /// ```swift
    /// try snapshot.fetchValues(Person.self, where: #Predicate { $0.team.name == "Analysts" })
    /// ```
    ///
    /// Complexity: O(log *n*) for each row that is looked at; a condition on the target alone is evaluated once for each target.
    public subscript<V>(dynamicMember keyPath: any KeyPath<Target, V> & Sendable) -> V? {
        MemberRecorder.record(
            AttributeMember<Target, V, V?>(keyPath: keyPath, none: nil, some: { $0 }), of: ToOne.self)
        return nil
    }

    /// For predicates: an optional property of the object that the reference leads to.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<V>(dynamicMember keyPath: any KeyPath<Target, V?> & Sendable) -> V? {
        MemberRecorder.record(
            AttributeMember<Target, V?, V?>(keyPath: keyPath, none: nil, some: { $0 }), of: ToOne.self)
        return nil
    }

    /// For predicates: a reference of the object that the reference leads to.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<Other>(dynamicMember keyPath: any KeyPath<Target, ToOne<Other>> & Sendable) -> ToOne<Other> {
        MemberRecorder.record(
            AttributeMember<Target, ToOne<Other>, ToOne<Other>>(keyPath: keyPath, none: nil, some: { $0 }),
            of: ToOne.self)
        return nil
    }

    /// For predicates: the members of the object that the reference leads to; none if it leads to none.
    ///
    /// Complexity: that of the subscript for other properties.
    public subscript<Other>(dynamicMember keyPath: any KeyPath<Target, ToMany<Other>> & Sendable) -> ToMany<Other> {
        MemberRecorder.record(
            AttributeMember<Target, ToMany<Other>, ToMany<Other>>(
                keyPath: keyPath, none: ToMany(stored: ()), some: { $0 }), of: ToOne.self)
        return ToMany(stored: ())
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
