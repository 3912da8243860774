"""The playground stops a run that takes too long: its page, in Node.js, with a worker that never answers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_PAGE = Path(__file__).parents[2] / "docs" / "site" / "browser" / "playground.js"
#: A page of elements that take everything, workers that only say that they are ready, and a clock that we turn.
_PROGRAM = """
const status = {}, workers = [], timers = new Map();
const anything = () => new Proxy(function () {}, { get: (target, name) =>
  name === Symbol.iterator ? () => [].values() : name === Symbol.toPrimitive ? () => "" :
  name === "value" ? "library" : name === "then" ? undefined : anything(),
  set: () => true, apply: () => anything() });
globalThis.document = { getElementById: (id) => (id === "pg-status" ? status : anything()), createElement: anything };
globalThis.location = { hash: "" };
globalThis.history = { replaceState() {} };
globalThis.window = { addEventListener() {} };
globalThis.fetch = async () => ({ json: async () => [{ title: "a", kind: "library", text: "", formulas: "" }] });
globalThis.Worker = class {
  constructor() { workers.push(this); this.messages = []; this.isStopped = false; }
  postMessage(message) { this.messages.push(message.number); }
  terminate() { this.isStopped = true; }
};
let last = 0;
globalThis.setTimeout = (run, wait) => { timers.set(++last, [run, wait]); return last; };
globalThis.clearTimeout = (own) => timers.delete(own);
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
(async () => {
  await import(process.argv[1]);
  await settled();
  const loading = timers.size;
  workers[0].onmessage({ data: { ready: true } });
  const [[run, wait]] = [...timers.values()];
  run();
  const stopped = [workers[0].isStopped, workers.length, status.textContent];
  timers.clear();
  workers[1].onmessage({ data: { ready: true } });
  workers[1].onmessage({ data: { number: 1, failure: "an answer" } });
  console.log(JSON.stringify({ loading, wait, stopped, asked: workers[0].messages, answered: timers.size }));
})();
"""
#: Editors that keep a text.
_EDITOR = "export const makeEditor = () => ({ value: '', mark() {}, select() {} });"


@pytest.mark.skipif(shutil.which("node") is None, reason="runs Node.js")
def test_a_run_that_takes_long_is_stopped(tmp_path: Path) -> None:
    """The page ends the worker after some seconds, which do not count loading, says so, and starts another one."""
    (tmp_path / "playground").mkdir()
    shutil.copyfile(_PAGE, tmp_path / "page.mjs")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "playground" / "editor.js").write_text(_EDITOR)
    done = subprocess.run(
        ["node", "-e", _PROGRAM, str(tmp_path / "page.mjs")], capture_output=True, text=True, check=False, timeout=60
    )
    assert not done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer == {
        "loading": 0,
        "wait": 20_000,
        "stopped": [True, 2, "Stopped: these texts take more than 20 seconds"],
        "asked": [1],
        "answered": 0,
    }
