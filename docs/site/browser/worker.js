// Runs Opwright in Pyodide beside the page, which stays responsive. All files come from the folder of this one.
import { loadPyodide } from "./playground/pyodide.mjs";
import { Language, Parser } from "./playground/web-tree-sitter.js";

const at = (name) => new URL(`playground/${name}`, import.meta.url).href;

async function loadedParser() {
  await Parser.init({ locateFile: () => at("web-tree-sitter.wasm") });
  const parser = new Parser();
  parser.setLanguage(await Language.load(at("tree-sitter-cpp.wasm")));
  return parser;
}

// A tree as JSON: for each node its type, its range, what it is, the field that it stands in, and its children.
function treeText(parser, text) {
  const tree = parser.parse(text);
  const cursor = tree.walk();
  const row = () => {
    const node = cursor.currentNode;
    const children = [];
    const own = [node.type, node.startIndex, node.endIndex, node.isNamed, node.hasError, node.isMissing, cursor.currentFieldName ?? null, children];
    if (cursor.gotoFirstChild()) {
      do children.push(row());
      while (cursor.gotoNextSibling());
      cursor.gotoParent();
    }
    return own;
  };
  const text_ = JSON.stringify(row());
  tree.delete();
  return text_;
}

// Opwright's files by their paths, from a line with their sizes and all their contents. `docs/site/playground.py` packs them.
async function unpackedFiles() {
  const response = await fetch(at("opwright.bin"));
  const bytes = new Uint8Array(await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  let start = bytes.indexOf(10) + 1;
  const sizes = JSON.parse(new TextDecoder().decode(bytes.subarray(0, start)));
  return Object.entries(sizes).map(([path, size]) => [`/opwright/${path}`, bytes.subarray(start, (start += size))]);
}

// Tells the page of each part that is loaded: the three that are fetched, the archive's files, and the engine.
let loaded = 0;
const told = async (part) => {
  const result = await part;
  postMessage({ loaded: ++loaded });
  return result;
};

async function loadedEngine() {
  const [pyodide, parser, files] = await Promise.all([
    told(loadPyodide({ indexURL: at("") })),
    told(loadedParser()),
    told(unpackedFiles()),
  ]);
  pyodide.registerJsModule("playground_parser", { parse: (text) => treeText(parser, text) });
  for (const [path, data] of files) {
    pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    pyodide.FS.writeFile(path, data, { canOwn: true });
  }
  await told();
  pyodide.runPython("import sys; sys.path.insert(0, '/opwright')");
  return told(pyodide.pyimport("engine"));
}

const engine = loadedEngine();
engine.then(() => postMessage({ ready: true }), (error) => postMessage({ failure: String(error) }));

// Of the texts that wait, only the last one is answered.
let waiting = null;
onmessage = async ({ data }) => {
  const isFirst = waiting === null;
  waiting = data;
  if (!isFirst) return;
  const { answer } = await engine;
  await new Promise((resolve) => setTimeout(resolve));
  const { number, kind, text, formulas } = waiting;
  waiting = null;
  try {
    postMessage({ number, ...JSON.parse(answer(kind, text, formulas, "/opwright/inputs/torchgen/packaged/ATen")) });
  } catch (error) {
    postMessage({ number, failure: String(error) });
  }
};
