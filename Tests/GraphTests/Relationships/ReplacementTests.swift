import Testing

@testable import Graph

/// Imported as a whole: its steps and pictures are its own, its tags and its cook are not.
@Entity struct Recipe {
    @Unique(onConflict: .replace) var title: String
    var minutes = 0
    @Relationship(.cascade, inverse: \Step.recipe, ordered: true) var steps: ToMany<Step> = []
    @Relationship(.cascade, inverse: \Photograph.recipes) var pictures: ToMany<Photograph> = []
    @Relationship(.cascade) var cover: ToOne<Cover> = nil
    @Relationship(inverse: \RecipeTag.recipes) var tags: ToMany<RecipeTag> = []
    @Relationship(inverse: \Cook.recipes) var cook: ToOne<Cook> = nil

    @Entity struct Cover {
        var color = ""
    }
}

/// No two of one recipe are the same.
@Entity(unique: [["recipe", "text"]]) struct Step {
    var text: String
    @Unique(onConflict: .keepExisting) var code: Int? = nil
    @Relationship(minimum: 1) var recipe: ToOne<Recipe> = nil
    @Relationship(.cascade, inverse: \Remark.step) var notes: ToMany<Remark> = []
}

@Entity struct Remark {
    var text: String
    @Unique(onConflict: .upsert) var code: Int? = nil
    var step: ToOne<Step> = nil
}

@Entity struct Photograph {
    var name: String
    var recipes: ToMany<Recipe> = []
}

@Entity struct RecipeTag {
    @Unique(onConflict: .keepExisting) var name: String
    var recipes: ToMany<Recipe> = []
}

@Entity struct Cook {
    var name: String
    var recipes: ToMany<Recipe> = []
}

/// R40: `onConflict: .replace` hands over identity and exchanges what the object owns.
struct ReplacementTests {
    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(
            for: Recipe.self, Step.self, Remark.self, Photograph.self, RecipeTag.self, Cook.self, Recipe.Cover.self,
            checksEveryCommit: true)
        context = Context(coordinator)
    }

    private func `import`(_ steps: [String], minutes: Int = 0) async throws -> Recipe.ID {
        try await context.transaction { context in
            let recipe = context.insert(Recipe(title: "Soup", minutes: minutes))
            for text in steps {
                let step = context.insert(Step(text: text))
                step.notes = [context.insert(Remark(text: text))]
                recipe.steps.append(step)
            }
        }
        return try #require(try coordinator.snapshot.fetchIDs(Recipe.self).first)
    }

    private func steps(of recipe: Recipe.ID) throws -> [String] {
        try coordinator.snapshot.relatedValues(\Recipe.steps, of: recipe).map(\.text)
    }

    @Test func `R40 the identifier stays, the children are the new ones`() async throws {
        let old = try await `import`(["wash", "cut", "cook"], minutes: 10)
        let new = try await `import`(["cut", "fry"], minutes: 20)
        #expect(old == new && coordinator.snapshot.count(of: Recipe.self) == 1)
        #expect(coordinator.snapshot.value(for: old)?.minutes == 20)
        #expect(coordinator.snapshot.version(of: old) == RowVersion(2))
        #expect(try steps(of: old) == ["cut", "fry"])
        #expect(coordinator.snapshot.count(of: Step.self) == 2)
        #expect(try coordinator.snapshot.fetchValues(Remark.self).map(\.text) == ["cut", "fry"])
    }

    @Test func `R40 one without children leaves none`() async throws {
        let recipe = try await `import`(["wash", "cut"])
        _ = try await `import`([])
        #expect(try steps(of: recipe) == [] && coordinator.snapshot.count(of: Remark.self) == 0)
    }

    @Test func `R40 what the new object has too is kept`() async throws {
        let recipe = try await `import`(["wash", "cut"])
        let kept = try await context.transaction { context in
            let old = try context.object(for: recipe)
            let pictures = ["one", "two"].map { context.insert(Photograph(name: $0)) }
            old.pictures = RelatedObjects(pictures)
            old.cover = context.insert(Recipe.Cover(color: "red"))
            return pictures[1].id
        }
        let cut = try coordinator.snapshot.related(\Recipe.steps, of: recipe)[1]
        try await context.transaction { context in
            let new = context.insert(Recipe(title: "Soup"))
            new.steps = [context.insert(Step(text: "peel")), try context.object(for: cut)]
            new.pictures = [try context.object(for: kept), context.insert(Photograph(name: "three"))]
            new.cover = try context.object(for: recipe).cover
        }
        #expect(try steps(of: recipe) == ["peel", "cut"])
        #expect(try coordinator.snapshot.related(\Recipe.steps, of: recipe)[1] == cut)
        #expect(try coordinator.snapshot.fetchValues(Photograph.self).map(\.name) == ["two", "three"])
        #expect(try coordinator.snapshot.fetchValues(Recipe.Cover.self).map(\.color) == ["red"])
        // A cover of its own takes the place; none takes it away.
        for color in ["blue", nil] {
            try await context.transaction { context in
                let new = context.insert(Recipe(title: "Soup"))
                if let color { new.cover = context.insert(Recipe.Cover(color: color)) }
            }
            #expect(try coordinator.snapshot.fetchValues(Recipe.Cover.self).map(\.color) == (color.map { [$0] } ?? []))
        }
        #expect(coordinator.snapshot.value(for: recipe)?.cover.id == nil)
    }

    @Test func `R40 what it does not own is handed over as by upsert`() async throws {
        let cook = try await context.transaction { context in
            let recipe = context.insert(Recipe(title: "Soup"))
            recipe.tags = [context.insert(RecipeTag(name: "hot"))]
            recipe.cook = context.insert(Cook(name: "Ada"))
            return recipe.cook?.id
        }
        try await context.transaction { context in
            let recipe = context.insert(Recipe(title: "Soup"))
            recipe.tags = [context.insert(RecipeTag(name: "hot")), context.insert(RecipeTag(name: "red"))]
        }
        let id = try #require(try coordinator.snapshot.fetchIDs(Recipe.self).first)
        #expect(try coordinator.snapshot.relatedValues(\Recipe.tags, of: id).map(\.name) == ["hot", "red"])
        #expect(coordinator.snapshot.value(for: id)?.cook.id == cook)
    }

    @Test func `R40 a child that was imported again by a value of its own stays, with what it owns`() async throws {
        var steps: [[Step.ID]] = []
        for number in 1...2 {
            try await context.transaction { context in
                let recipe = context.insert(Recipe(title: "Soup", minutes: number))
                let step = context.insert(Step(text: "step \(number)", code: 7))
                step.notes = [context.insert(Remark(text: "note \(number)", code: 7))]
                recipe.steps = [context.insert(Step(text: "first of \(number)")), step]
            }
            let id = try #require(try coordinator.snapshot.fetchIDs(Recipe.self).first)
            steps.append(try coordinator.snapshot.related(\Recipe.steps, of: id))
        }
        #expect(steps[0][1] == steps[1].first { $0 == steps[0][1] } && steps[1].count == 2)
        #expect(coordinator.snapshot.value(for: steps[0][1])?.text == "step 1", "the step keeps what it had")
        #expect(coordinator.snapshot.value(for: steps[0][0]) == nil)
        #expect(try coordinator.snapshot.fetchValues(Remark.self).map(\.text) == ["note 2"])
    }

    @Test func `R40 several new ones in one save: the last one's children stay`() async throws {
        try await context.transaction { context in
            for number in 1...40 {
                let recipe = context.insert(Recipe(title: "Soup", minutes: number))
                recipe.steps = [context.insert(Step(text: "same")), context.insert(Step(text: "\(number)"))]
            }
        }
        let id = try #require(try coordinator.snapshot.fetchIDs(Recipe.self).first)
        #expect(try steps(of: id) == ["same", "40"] && coordinator.snapshot.count(of: Step.self) == 2)
        #expect(coordinator.snapshot.value(for: id)?.minutes == 40)
    }

    @Test func `R40 a child that others added meanwhile is one that the new object does not have`() async throws {
        let recipe = try await `import`(["wash"])
        let other = Context(coordinator)
        await other.perform { context in
            let new = context.insert(Recipe(title: "Soup"))
            new.steps = [context.insert(Step(text: "fry"))]
        }
        try await context.transaction { context in
            try context.object(for: recipe).steps.append(context.insert(Step(text: "late")))
        }
        try await other.save()
        #expect(try steps(of: recipe) == ["fry"] && coordinator.snapshot.count(of: Step.self) == 1)
    }

    @Test func `R12 R40 a reference to none that is there is refused, also where the new row refers to the old one`()
        async throws
    {
        let coordinator = try await Coordinator(for: Chair.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let (old, gone) = try await context.transaction { context in
            (context.insert(Chair(number: 1)).id, context.insert(Chair(number: 2)).id)
        }
        try await context.transaction { $0.delete(try $0.object(for: gone)) }
        await context.perform { context in
            _ = context.insert(Chair(number: 1, left: ToOne(old), right: ToOne(gone)))
        }
        do {
            try await context.save()
            Issue.record("the reference to \(gone) was dropped")
        } catch GraphError.danglingReferences(let references) {
            #expect(references.map(\.id.description) == ["\(old)"])
        } catch {
            throw error
        }
        let value = try #require(coordinator.snapshot.value(for: old))
        #expect(value.left.id == nil && value.right.id == nil)
    }
}

@Entity private struct Chair {
    @Unique(onConflict: .replace) var number: Int
    @Relationship(inverse: \Self.right) var left: ToOne<Chair> = nil
    var right: ToOne<Chair> = nil
}
