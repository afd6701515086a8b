/// The program that the compiler starts to expand Graph's macros.
@main
enum Main {
    static func main() {
        let connection = PluginConnection(input: 0, output: 1)
        var plugin = MacroPlugin()
        do throws(PluginConnection.Failure) {
            while let message = try connection.receive() {
                try connection.send(plugin.answer(message))
            }
        } catch {
            fail(error.description)
        }
    }
}
