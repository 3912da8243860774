// Compiles Python for the browser, which takes seconds for it: `node compile.mjs PYODIDE`. Standard input is JSON: a list
// of objects that have sources by their paths. The output has the contents of their `.pyc` files instead, in base64.
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const sources = await text(process.stdin);
const { loadPyodide } = await import(pathToFileURL(`${process.argv[2]}/pyodide.mjs`).href);
// Columns of code, which nobody sees, would take a third of the files.
const pyodide = await loadPyodide({ env: { PYTHONNODEBUGRANGES: "1" } });
pyodide.globals.set("sources", sources);
const compiled = pyodide.runPython(`
import base64, importlib.util, json, marshal

def contents(path, source):
    # The flag says that nobody compares the file with a source, of which it has no date or hash.
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    return base64.b64encode(header + code).decode()

json.dumps([{path: contents(path, source) for path, source in group.items()} for group in json.loads(sources)])
`);
process.stdout.write(compiled);
