extension EngineSuite {
    /// The engine's side of everything.
    static let graph: EngineSuite = {
        let families = [
            EngineInsert.contenders, EngineCommit.contenders, EngineRead.contenders, EngineTraversal.contenders,
            EngineLinks.contenders, EngineChange.contenders, EngineReopen.contenders, EngineProperty.contenders,
            EngineContexts.contenders, EngineReadWhileWriting.contenders, EngineCodable.contenders,
            EngineCondition.contenders, EnginePredicate.contenders, EngineConjunction.contenders, EngineLive.contenders,
            EnginePackages.contenders, EnginePackages.changes, EngineHistory.contenders, EngineFollowing.contenders,
            EngineExchange.contenders,
        ]
        var suite = EngineSuite()
        for family in families {
            suite.contenders.merge(family) { _, _ in preconditionFailure("a workload with two engine sides") }
        }
        suite.footprints = [
            FootprintProcess.people: EngineInsert.footprint, FootprintProcess.packages: EnginePackages.footprint,
        ]
        suite.wordNet = EngineWordNet.check
        suite.updates = EngineUpdates.run
        suite.soak = EngineSoak.run
        return suite
    }()
}
