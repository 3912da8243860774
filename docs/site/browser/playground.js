// The page of the playground: two texts, what is wrong with them, and the files that a worker generates from them.
import { makeEditor } from "./playground/editor.js";

{
  const base = import.meta.url;
  const byId = (id) => document.getElementById(`pg-${id}`);
  const [example, kind, share, progress, status, problems, tabs, file] =
    ["example", "kind", "share", "progress", "status", "problems", "tabs", "file"].map(byId);
  const names = { library: "acme.yaml", backend: "npu.yaml", pytorch: "native_functions.yaml" };
  const PAUSE = 60; // milliseconds without a keystroke, after which the texts are sent
  const LIMIT = 20_000; // milliseconds that a run may take
  let examples = [], given = "", files = {}, shown = "", shownKind = "", number = 0, timer = 0, sent = 0, worker = null, isReady = false, watching = 0;

  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // The texts in the address, so that a link shows what its author saw.
  const throughStream = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  async function packed(state) {
    const bytes = await throughStream(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }
  async function unpacked(text) {
    try {
      const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
      return JSON.parse(new TextDecoder().decode(await throughStream(bytes, new DecompressionStream("deflate-raw"))));
    } catch {
      return null;
    }
  }

  const state = () => ({ kind: kind.value, text: editors.text.value, formulas: editors.formulas.value });
  async function remember(texts = state()) {
    history.replaceState(null, "", `#${await packed(texts)}`);
  }

  function problem(row) {
    const name = row.place?.path === names[kind.value] ? "text" : row.place?.path === "derivatives.yaml" ? "formulas" : null;
    const item = element("li", { className: `pg-${row.severity}` });
    const page = element("a", { href: new URL(`../diagnostics/${row.code}/`, base).href, textContent: row.code, title: `What ${row.code} means` });
    item.append(`${row.severity} `, page, " ");
    if (name) {
      const where = `${row.place.path}:${row.place.start.line}:${row.place.start.column}`;
      const go = element("button", { type: "button", textContent: where });
      go.addEventListener("click", () => editors[name].select(row.place));
      item.append(go, " ");
    }
    item.append(element("span", { innerHTML: escaped(row.message).replace(/`([^`]+)`/g, "<code>$1</code>") }));
    const more = [...row.notes, row.help].filter(Boolean);
    for (const text of more) item.append(element("span", { className: "pg-help", innerHTML: escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>") }));
    return item;
  }

  // The lines of a file, with those marked that the last answer did not have.
  function showFile(path, before) {
    shown = path;
    for (const tab of tabs.children) {
      const isShown = tab.dataset.path === path;
      tab.setAttribute("aria-selected", isShown);
      tab.tabIndex = isShown ? 0 : -1;
      if (isShown) file.setAttribute("aria-labelledby", tab.id);
    }
    const old = before === undefined ? null : new Set(before.split("\n"));
    const lines = (files[path] ?? "").split("\n");
    file.innerHTML = lines.map((line) => (old && !old.has(line) ? `<ins>${escaped(line)}</ins>` : escaped(line))).join("\n");
  }

  function showFiles(next) {
    const before = files;
    files = next;
    const paths = Object.keys(files).sort();
    const repeated = (name) => paths.filter((path) => path.endsWith(`/${name}`)).length > 1;
    if (paths.join() !== [...tabs.children].map((tab) => tab.dataset.path).join()) {
      tabs.replaceChildren(...paths.map((path, index) => {
        const name = path.split("/").at(-1);
        const tab = element("button", { type: "button", id: `pg-tab-${index}`, title: path, textContent: repeated(name) ? path : name });
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-controls", "pg-file");
        tab.dataset.path = path;
        tab.addEventListener("click", () => showFile(path, undefined));
        return tab;
      }));
    }
    const first = paths.find((path) => /register_0\.cpp$|^Register\w+\.cpp$|ops\/\w+_ops\.h$/.test(path)) ?? paths[0];
    const path = paths.includes(shown) ? shown : first;
    if (path) showFile(path, before[path]);
    else file.textContent = "";
  }

  tabs.addEventListener("keydown", (event) => {
    const all = [...tabs.children], at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    const tab = to === undefined ? null : all[(to + all.length) % all.length];
    if (!tab) return;
    event.preventDefault();
    tab.focus();
    showFile(tab.dataset.path, undefined);
  });

  function show(answer) {
    progress.hidden = true;
    if (answer.failure) {
      status.textContent = `Opwright failed: ${answer.failure.trim().split("\n").at(-1)}`;
      return;
    }
    const rows = answer.diagnostics;
    for (const [name, path] of [["text", names[kind.value]], ["formulas", "derivatives.yaml"]])
      editors[name].mark(rows.filter((row) => row.place?.path === path));
    problems.replaceChildren(...(rows.length ? rows.map(problem) : [element("li", { className: "pg-none", textContent: "none" })]));
    const errors = rows.filter((row) => row.severity === "error").length;
    const count = Object.keys(answer.files).length;
    const took = `${Math.round(performance.now() - sent)} ms`;
    const kept = tabs.children.length ? "; the files are those of the last text without errors" : "";
    status.textContent = errors ? `${errors} ${errors === 1 ? "error" : "errors"}${kept}` : `${count} files in ${took}`;
    document.getElementById("playground").dataset.answered = answer.number;
    if (!errors) showFiles(answer.files);
  }

  function start() {
    isReady = progress.hidden = false;
    progress.value = 0;
    worker = new Worker(new URL("worker.js", base), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.loaded) {
        progress.value = data.loaded;
      } else if (data.ready) {
        isReady = true;
        sent = performance.now();
        watch();
      } else if (data.number === undefined || data.number === number) {
        clearTimeout(watching);
        show(data);
      }
    };
    worker.onerror = (event) => show({ failure: event.message ?? "the worker did not start" });
  }

  // Nothing interrupts Python in a worker, so another one takes the place of one that takes too long.
  function watch() {
    clearTimeout(watching);
    if (!isReady) return;
    watching = setTimeout(() => {
      worker.terminate();
      start();
      status.textContent = `Stopped: these texts take more than ${LIMIT / 1000} seconds`;
    }, LIMIT);
  }

  function ask() {
    sent = performance.now();
    worker.postMessage({ number: ++number, ...state() });
    watch();
    remember();
  }

  function put(next) {
    showFiles({});
    kind.value = shownKind = next.kind;
    byId("text-label").textContent = names[next.kind];
    editors.text.value = next.text;
    editors.formulas.value = given = next.formulas;
    ask();
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  }
  const editors = {
    text: makeEditor(byId("text"), "Operators", (isReplaced) => {
      // The formulas of an example are for its operators, not for those of another file that is pasted over them.
      const operators = [...given.matchAll(/^- name: *(\w+)/gm)].map((match) => `func: ${match[1]}`);
      const isOther = isReplaced && !operators.some((operator) => editors.text.value.includes(operator));
      if (isOther && editors.formulas.value === given) editors.formulas.value = "";
      later();
    }),
    formulas: makeEditor(byId("formulas"), "Derivatives; operators of PyTorch have theirs", later),
  };
  // The texts that were there stay in the history: the browser's way back leads to them.
  async function replaceTexts(row, kindBefore) {
    clearTimeout(timer);
    await remember({ ...state(), kind: kindBefore });
    history.pushState(null, "", location.href);
    put(row);
  }
  async function follow() {
    const linked = location.hash.length > 1 ? await unpacked(location.hash.slice(1)) : null;
    return linked && names[linked.kind] ? linked : null;
  }
  example.addEventListener("change", () => replaceTexts(examples[example.value], kind.value));
  kind.addEventListener("change", () => replaceTexts(examples.find((row) => row.kind === kind.value), shownKind));
  window.addEventListener("hashchange", async () => {
    const linked = await follow();
    if (linked) put(linked);
  });
  share.addEventListener("click", async () => {
    await remember();
    const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    status.textContent = `The link to these texts is ${isCopied ? "copied, and " : ""}in the address`;
  });

  start();
  (async () => {
    examples = await (await fetch(new URL("playground/examples.json", base))).json();
    example.replaceChildren(...examples.map(({ title }, index) => element("option", { value: index, textContent: title })));
    put((await follow()) ?? examples[0]);
  })();
}
