import Testing

@testable import GraphMacros

/// What the plugin answers to each of the compiler's messages.
struct PluginTests {
    private func answer(_ message: JSON, hostVersion: Int? = nil) -> PluginResponse {
        var plugin = MacroPlugin()
        if let hostVersion { _ = plugin.answer(PluginRequest(PluginMessages.capability(hostVersion: hostVersion))) }
        return plugin.answer(PluginRequest(message))
    }

    private func onlyDiagnostic(of response: PluginResponse) -> PluginResponse.Diagnostic? {
        guard case .expansion(nil, let diagnostics) = response, diagnostics.count == 1 else { return nil }
        return diagnostics.first
    }

    @Test(arguments: [0, 4, 5, 7, 8, 1000]) func `every host hears the plugin's version`(_ version: Int) {
        #expect(answer(PluginMessages.capability(hostVersion: version)) == .capability(protocolVersion: 7))
    }

    @Test(arguments: [
        JSON.object(["getCapability": .object([:])]), .object(["getCapability": .null]),
        .object(["getCapability": .object(["capability": .object(["protocolVersion": .string("7")])])]),
    ])
    func `a host need not say its version`(_ message: JSON) {
        #expect(answer(message) == .capability(protocolVersion: 7))
    }

    @Test(arguments: [nil, 5, 7, 8, 1000]) func `hosts of this age and newer get expansions`(_ version: Int?) {
        let response = answer(PluginMessages.expansion(of: "struct A { var a: Int }"), hostVersion: version)
        guard case .expansion(let source, let diagnostics) = response else {
            Issue.record("\(response)")
            return
        }
        #expect(source?.contains("$0.attribute(\"a\", \\.a)") == true)
        #expect(diagnostics.isEmpty)
    }

    @Test(arguments: [0, 4]) func `older hosts are told so at the attribute`(_ version: Int) {
        let response = answer(PluginMessages.expansion(of: "struct A {}"), hostVersion: version)
        #expect(
            onlyDiagnostic(of: response)
                == PluginResponse.Diagnostic(
                    message: "this compiler is too old for Graph's macros: "
                        + "it speaks version \(version) of the plugin protocol, Graph version 7",
                    fileName: "/a.swift",
                    range: 100..<100
                )
        )
    }

    @Test(arguments: [
        (JSON.object(["expandFreestandingMacro": .object([:])]), "expandFreestandingMacro"),
        (.object(["größe\n": .null]), "größe\n"), (.object([:]), ""), (.array([]), ""), (.null, ""),
        (.string("getCapability"), ""),
    ])
    func `an unknown message is answered with its name`(_ message: JSON, _ name: String) {
        let diagnostic = onlyDiagnostic(of: answer(message, hostVersion: 9))
        #expect(
            diagnostic?.message == "Graph's macros cannot read this compiler's message '\(name)': "
                + "it speaks version 9 of the plugin protocol, Graph version 7")
        #expect(diagnostic?.range == 0..<0)
    }

    @Test(arguments: ["macro", "attributeSyntax", "declSyntax"])
    func `a message that lacks what the macro needs is answered`(_ field: String) {
        let response = answer(PluginMessages.expansion(of: "struct A {}", without: field))
        #expect(
            onlyDiagnostic(of: response)?.message
                == "Graph's macros cannot read this compiler's message 'expandAttachedMacro': "
                + "it speaks an unknown version of the plugin protocol, Graph version 7")
    }

    @Test(arguments: ["discriminator", "extendedTypeSyntax", "conformanceListSyntax", "lexicalContext"])
    func `what the macro can do without may be missing`(_ field: String) {
        guard case .expansion(let source?, []) = answer(PluginMessages.expansion(of: "struct A {}", without: field))
        else {
            Issue.record("no expansion without \(field)")
            return
        }
        #expect(source.contains("EntitySchema<Self>(\"A\")"))
    }

    @Test func `an unknown macro is named at the attribute`() {
        let diagnostic = onlyDiagnostic(of: answer(PluginMessages.expansion(of: "struct A {}", macro: "Later")))
        #expect(diagnostic?.message == "Graph has no macro 'Later'; the program may need a newer version of Graph")
        #expect(diagnostic?.range == 100..<100)
    }

    @Test func `a problem's place is that in the file`() {
        let diagnostic = onlyDiagnostic(of: answer(PluginMessages.expansion(of: "struct A { 1 }")))
        #expect(diagnostic?.fileName == "/a.swift")
        #expect(diagnostic?.range == 119..<120)
    }

    @Test func `answers have the shape that the compiler reads`() {
        let diagnostic = PluginResponse.Diagnostic(message: "no", fileName: "/a.swift", range: 3..<5)
        let texts = [
            PluginResponse.capability(protocolVersion: 7), .expansion(source: "", []),
            .expansion(source: nil, [diagnostic]),
        ].map { String(decoding: $0.json.bytes, as: UTF8.self) }
        #expect(
            texts == [
                #"{"getCapabilityResult":{"capability":{"features":[],"protocolVersion":7}}}"#,
                #"{"expandMacroResult":{"diagnostics":[],"expandedSource":""}}"#,
                #"{"expandMacroResult":{"diagnostics":[{"fixIts":[],"highlights":"#
                    + #"[{"endOffset":5,"fileName":"/a.swift","startOffset":3}],"message":"no","notes":[],"#
                    + #""position":{"fileName":"/a.swift","offset":3},"severity":"error"}]}}"#,
            ]
        )
        let warning = PluginResponse.Diagnostic(message: "no", fileName: "", range: 0..<0, isWarning: true)
        #expect(warning.json["severity"]?.string == "warning")
    }
}
