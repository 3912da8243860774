// An editor of the playground: CodeMirror for YAML, which underlines mistakes. `python -m docs.site` bundles it.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// `changed` is called after each edit, and told whether that replaced the whole text. The label has the parent's id.
export function makeEditor(parent, hint, changed) {
  const extensions = [
    [lineNumbers(), lintGutter(), history(), yaml(), syntaxHighlighting(classHighlighter), search()],
    // Tab is left to the browser, so that the keyboard leads out of the editor.
    [keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]), placeholder(hint)],
    EditorView.contentAttributes.of({ "aria-labelledby": `${parent.id}-label`, autocapitalize: "off", spellcheck: "false" }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      let isReplaced = false;
      update.changes.iterChangedRanges((from, to) => (isReplaced ||= from === 0 && to === update.startState.doc.length));
      changed(isReplaced);
    }),
  ];
  const view = new EditorView({ parent });
  // A place has lines and columns from 1. Columns count characters; a string of JavaScript counts some of them as two.
  const offset = ({ line, column }) => {
    const { from, text } = view.state.doc.line(Math.min(line, view.state.doc.lines));
    return from + [...text].slice(0, column - 1).join("").length;
  };
  const range = ({ start, end }) => ({ from: offset(start), to: Math.max(offset(start), offset(end)) });
  return {
    get value() {
      return view.state.doc.toString();
    },
    // Undoing does not lead back to another text: that is what the browser's history has.
    set value(doc) {
      view.setState(EditorState.create({ doc, extensions }));
    },
    mark(rows) {
      const marks = rows.map(({ place, severity, code, message }) => (
        { ...range(place), severity: severity === "note" ? "info" : severity, message: `${code}: ${message}` }));
      view.dispatch(setDiagnostics(view.state, marks));
    },
    select(place) {
      const { from, to } = range(place);
      view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
  };
}
