/// Makes a struct an entity: its conformance to `Entity`, its schema, and `Object` for the type of its objects.
@attached(peer)
@attached(extension, conformances: Entity, names: named(schema), named(Object))
public macro Entity(originalName: String? = nil) = #externalMacro(module: "GraphMacros", type: "EntityMacro")
@attached(peer)
public macro Attribute(originalName: String) = #externalMacro(module: "GraphMacros", type: "PropertyMacro")
@attached(peer)
public macro Unique() = #externalMacro(module: "GraphMacros", type: "PropertyMacro")
@attached(peer)
public macro Indexed() = #externalMacro(module: "GraphMacros", type: "PropertyMacro")
@attached(peer)
public macro Ephemeral() = #externalMacro(module: "GraphMacros", type: "PropertyMacro")
@attached(peer)
public macro Relationship(
    _ deleteRule: DeleteRule = .nullify, inverse: AnyKeyPath? = nil, originalName: String? = nil
) =
    #externalMacro(module: "GraphMacros", type: "PropertyMacro")
