"""Runs after random edits beside fresh runs: their files and their messages are the same."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import opwright
from opwright.emit.registry import FAMILIES
from opwright.run.generation import Generation
from opwright.run.incremental_generation import without_color
from opwright.source.diagnostic import Diagnostics, FaultsFound
from opwright.source.render import render_report
from tests.edits.random_edits import DEPRECATED, DERIVATIVES, NATIVE, Texts, edit, edit_template, items_of
from tests.engine.project import WholeProject, files_of

#: The families that runs after an edit in place make, and those that load all operators after any edit.
LOCAL: Final = tuple(name for name in WholeProject.families if FAMILIES[name].has_local_units)
OTHERS: Final = tuple(name for name in WholeProject.families if not FAMILIES[name].has_local_units)

_NAME: Final = re.compile(r"- (?:func|name): +(\w+)")
_CALLED: Final = re.compile(r"\n  aten: (\w+?)(?:_out)?\(")


class Result(NamedTuple):
    """What a run did: whether it wrote its files, and its messages."""

    is_done: bool
    messages: str


class RandomEdits:
    """PyTorch's inputs, or those of some of its operations, which are edited at random from a seed."""

    def __init__(self, folder: Path, reference_inputs: Path, seed: int, operations: int | None = 100) -> None:
        self.random: Final = Random(seed)
        self.folder: Final = folder
        project = WholeProject(folder, reference_inputs)
        self.top: Final = project.inputs.parent
        self._take_operators(reference_inputs.parent, operations)
        self.texts: Texts = {
            path.relative_to(self.top).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self.top.rglob("*"))
            if path.is_file() and (path.suffix == ".yaml" or "templates" in path.parts)
        }
        self.steps: list[str] = []
        self._earlier: list[Texts] = []

    def _take_operators(self, reference: Path, count: int | None) -> None:
        """Take some operations of PyTorch, or all, with their derivatives and deprecated signatures."""
        texts = {path: (reference / path).read_text(encoding="utf-8") for path in (NATIVE, DERIVATIVES, DEPRECATED)}
        names = sorted({operation_of(item) for item in items_of(texts[NATIVE])[1:]})
        chosen = set(names if count is None else self.random.sample(names, count))
        # A run after an edit in place needs an item in each file.
        chosen.update(operation_of(item) for item in self.random.sample(items_of(texts[DEPRECATED])[1:], 4))
        while True:
            for path, text in texts.items():
                head, *items = items_of(text)
                taken = [item for item in items if operation_of(item) in chosen]
                (self.top / path).write_text(head + "".join(taken) if taken else "[]\n", encoding="utf-8")
            self._write_shim_tables()
            at_fault = self._operations_at_fault()
            if not at_fault:
                return
            assert at_fault & chosen, at_fault
            chosen -= at_fault

    def _write_shim_tables(self) -> None:
        """Give a few of the operators C shims, if they are not made from others."""
        names = re.findall(r"- func: (?!_)([\w.]+)\(.*\) -> Tensor\n", (self.top / NATIVE).read_text(encoding="utf-8"))
        rows = {name if "." in name else f"{name}.default" for name in names[:: len(names) // 10 or 1]}
        tables = {"inductor_fallback_ops": rows, "aten_shimified_ops": set()}
        lines = [f"{name} = { ({f'aten.{row}': {} for row in sorted(of)}) }\n" for name, of in tables.items()]
        (self.top.parent / "aoti" / "fallback_ops.py").write_text("".join(lines), encoding="utf-8")

    def _operations_at_fault(self) -> set[str]:
        """The operations with messages: they need others, which were not chosen. After a message, runs load all."""
        sink = Diagnostics()
        with suppress(FaultsFound):
            Generation(self._request("faults", (*LOCAL, *OTHERS)), sink).check_shims()
        spans = [diagnostic.span for diagnostic in sink]
        starts = [(span.file.text, span.file.text.rfind("\n- ", 0, span.start + 1) + 1) for span in spans if span]
        return {operation_of(text[start:]) for text, start in starts}

    def _request(self, out: str, families: tuple[str, ...]) -> opwright.Request:
        inputs = opwright.open_inputs(source_path=str(self.top / "ATen"))
        folders = opwright.build_folders(str(self.folder / out), families)
        return opwright.Request(inputs, folders, families, release="2.13")

    def check(self, count: int) -> list[str]:
        """Edit `count` times and run after each. Gives the differences between these runs and fresh ones."""
        differences = []
        for families in (LOCAL, OTHERS):
            differences += self._compare(families)
        for _ in range(count):
            self._edit()
            differences += self._compare(LOCAL if self.random.random() < 0.8 else OTHERS)
        return differences

    def _edit(self) -> None:
        """Make an edit, several at once, or take back those since an earlier run."""
        if self._earlier and self.random.random() < 0.2:
            texts, step = self.random.choice(self._earlier), "back"
        else:
            texts = dict(self.texts)
            steps = [
                (edit_template if self.random.random() < 0.05 else edit)(self.random, texts)
                for _ in range(self.random.choice([1, 1, 1, 1, 2, 3, 10]))
            ]
            step = ", ".join(steps)
        self.steps.append(step)
        self._write(texts)

    def _write(self, texts: Texts) -> None:
        for path, text in texts.items():
            if text != self.texts[path]:
                (self.top / path).write_text(text, encoding="utf-8")
        self.texts = texts

    def _compare(self, families: tuple[str, ...]) -> list[str]:
        """The differences between a run after edits and a fresh one. Edits with faults are taken back after them."""
        name = "local" if families is LOCAL else "others"
        result = self._run_again(name, families)
        fresh, files = self._run_fresh(f"fresh {name}", families)
        differences = []
        if result != fresh:
            differences.append(f"messages:\n{result}\nof a fresh run:\n{fresh}")
        if fresh.is_done:
            out = files_of(self.folder / name)
            differences += [f"{path} is there only once" for path in sorted(out.keys() ^ files.keys())]
            differences += [f"{path} differs" for path in sorted(out.keys() & files.keys()) if out[path] != files[path]]
            self._earlier = [*self._earlier[-4:], self.texts]
        elif self._earlier:
            self._write(self._earlier[-1])
        step = self.steps[-1] if self.steps else "nothing"
        return [f"after {len(self.steps)} edits, the last of which is {step} ({name}): {text}" for text in differences]

    def _run_again(self, out: str, families: tuple[str, ...]) -> Result:
        sink = Diagnostics()
        try:
            outcome = opwright.generate(self._request(out, families), str(self.folder / out), jobs=1, sink=sink)
        except FaultsFound as error:
            return Result(False, render_report(error.diagnostics, color=False))
        return Result(True, _messages(sink) or without_color(outcome.report))

    def _run_fresh(self, out: str, families: tuple[str, ...]) -> tuple[Result, dict[str, bytes]]:
        sink = Diagnostics()
        try:
            generation = Generation(self._request(out, families), sink, defer=True)
            generation.check_shims()
            outcome = generation.write_after(None)
        except FaultsFound as error:
            return Result(False, render_report(error.diagnostics, color=False)), {}
        paths = {Path(path).relative_to(self.folder.resolve() / out).as_posix() for path in outcome.statuses}
        files = files_of(self.folder / out)
        return Result(True, _messages(sink)), {path: files[path] for path in paths}


def _messages(sink: Diagnostics) -> str:
    return render_report(sink.sorted(), color=False) if len(sink) else ""


def operation_of(item: str) -> str:
    """What the overloads of an operation have in common: the name without marks of variants."""
    match = _CALLED.search(item) or _NAME.match(item)
    assert match is not None, item
    name = match[1].removeprefix("_foreach").strip("_").removeprefix("native_").removesuffix("_out")
    return re.sub(r"_(backward|copy|scatter|symint)$", "", name)
