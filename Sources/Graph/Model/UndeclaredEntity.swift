/// Stands for the type of an entity that a file has, and no type of the program declares. Its rows have another layout for each
/// such entity, so that nothing may read one as a value of this type.
struct UndeclaredEntity: Entity {
    static let schema = EntitySchema<UndeclaredEntity>("") { _ in }
}
