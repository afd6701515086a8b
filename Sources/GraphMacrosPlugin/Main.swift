import GraphMacros

/// The program that the compiler starts to expand Graph's macros. All it does is in `GraphMacros`: a test cannot depend on a
/// macro's own target without having everything built a second time.
@main
enum Main {
    static func main() {
        MacroPlugin.run(input: 0, output: 1)
    }
}
