"""A PyTorch's generator and Opwright on the same flags: what differs, and the behaviours that explain it.

The generator runs in processes of its own; nothing of it is imported here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from opwright.emit.registry import build_folders, program_families
from opwright.files.plan import FileSpec
from opwright.release.inputs import Inputs, from_wheel
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.release.tree_facts import TreeFacts, generator_lists
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.terminal import slow
from opwright.tools.diff.diffing import output_side
from opwright.tools.diff.outputs import OutputComparison, OutputSide, compare_outputs
from opwright.tools.tool_codes import GENERATOR_FAILED, NO_GENERATOR

#: The programs that are compared: that of ours, and the module of the generator's, with a function if it is no program.
PROGRAMS: Final = {
    "gen": ("torchgen.gen", ""),
    "gen_autograd": ("{autograd}.gen_autograd", ""),
    "gen_autograd_python": ("{autograd}.gen_autograd", "gen_autograd_python"),
    "gen_annotated_fn_args": ("{autograd}.gen_annotated_fn_args", ""),
}
_CALL: Final = "import sys; import {module} as program; program.{function}(*sys.argv[1:])"
_GENERATOR: Final = "torchgen/gen.py"
_PACKAGED: Final = "torchgen/packaged/ATen"
_HEADER_ONLY: Final = "--headeronly-install-dir"
#: What a wheel has of a generator.
_IN_WHEELS: Final = ("torchgen/", "torch/_native/ops/", "torch/version.py")
_SHOWN: Final = 12


class Tree(NamedTuple):
    """A PyTorch with its generator: as the user names it, its top, ATen's and autograd's folder, autograd's package."""

    name: str
    root: str
    aten: str
    autograd: str
    package: str


#: Makes the request of a program for a tree with these output folders.
RequestMaker: TypeAlias = Callable[[Tree, str, Mapping[str, str]], Request]


class Setting(NamedTuple):
    """How both sides run: the words of the main program's flags, those of ours alone, the generator's interpreter."""

    flags: Sequence[str]
    own_flags: Sequence[str]
    python: str
    make_request: RequestMaker


class BehaviourDifference(NamedTuple):
    """A behaviour that the generator has otherwise: our value and the generator's, and what that explains.

    `told` is the mark by which a tree shows it.
    """

    name: str
    what: str
    told: str
    ours: str
    theirs: str
    files: int = 0
    lines: int = 0


class ProgramResult(NamedTuple):
    """What came out of one program.

    `rest` is what still differs with the explanations; `complaint` is what Opwright says if it fails, and then nothing
    is compared.
    """

    program: str
    identical: int
    comparison: OutputComparison
    explanations: tuple[BehaviourDifference, ...]
    rest: OutputComparison
    complaint: str = ""

    @property
    def is_identical(self) -> bool:
        """Whether both sides wrote the same."""
        return not self.complaint and self.comparison.is_empty


def open_tree(spec: str, folder: str) -> Tree:
    """The PyTorch at a path: a source tree, a folder of packages, or a wheel, which is unpacked into the `folder`.

    Raises Fault if there is no generator (E2106).
    """
    root = spec
    if spec.endswith(".whl"):
        root = _unpacked(from_wheel(spec), folder)
    packaged = os.path.isdir(os.path.join(root, *_PACKAGED.split("/")))
    aten, autograd = (_PACKAGED, "torchgen/packaged/autograd") if packaged else ("aten/src/ATen", "tools/autograd")
    if not os.path.isfile(os.path.join(root, *_GENERATOR.split("/"))):
        raise Fault.at(
            NO_GENERATOR,
            f"`{spec}` has no `{_GENERATOR}`",
            help="name the top of a source tree, the folder that PyTorch is installed in, or a wheel",
        )
    top = os.path.abspath(root)
    return Tree(spec, top, os.path.join(top, aten), os.path.join(top, autograd), autograd.replace("/", "."))


def _unpacked(wheel: Inputs, folder: str) -> str:
    """Write what a wheel has of the generator into a folder, and give the folder."""
    names = [name for prefix in _IN_WHEELS for name in wheel.member_names(prefix)]
    for name, content in wheel.read_members(names).items():
        path = Path(folder, *name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def compare_program(tree: Tree, program: str, setting: Setting) -> ProgramResult:
    """Run one program of the generator in a tree and ours, and compare what they write.

    Raises Fault if the generator fails (E2105).
    """
    with tempfile.TemporaryDirectory(prefix="opwright-conformance-") as top:
        theirs, ours = (os.path.join(top, name) for name in ("generator", "opwright"))
        for folder in (theirs, ours):
            os.makedirs(folder)
        words = list(_words(tree, program, setting))
        done = _run([setting.python, *_reference_words(tree, program), *words], theirs, {"PYTHONPATH": tree.root})
        if done.returncode:
            message = f"the generator in `{tree.name}` failed with status {done.returncode}"
            raise Fault.at(GENERATOR_FAILED, message, notes=_last_lines(done.stderr))
        module = f"opwright.torchgen.{program}"
        # What edits of the generator change is what the comparison shows.
        own_words = [sys.executable, "-m", module, *words, *setting.own_flags, "--tolerate-generator-edits"]
        result = _run(own_words, ours, {"OPWRIGHT_CACHE_DIR": f"{top}/cache"})
        expected, given = (output_side(folder) for folder in (theirs, ours))
        expected, given = expected._replace(label="generator"), given._replace(label="Opwright")
        comparison = compare_outputs(expected, given)
        if result.returncode:
            return ProgramResult(program, 0, comparison, (), comparison, "\n".join(_last_lines(result.stderr)))
        identical = sum(expected.contents[path] == given.contents.get(path) for path in expected.contents)
        if comparison.is_empty:
            return ProgramResult(program, identical, comparison, (), comparison)
        explanations, contents = _explain(tree, program, setting, (expected, given))
        rest = compare_outputs(expected, given._replace(contents={**given.contents, **contents}))
        return ProgramResult(program, identical, comparison, tuple(explanations), rest)


def generator_path(tree: Tree, program: str) -> str:
    """Path, from the top of a tree, of the generator's code that runs as one of the programs."""
    return f"{PROGRAMS[program][0].format(autograd=tree.package).replace('.', '/')}.py"


def _words(tree: Tree, program: str, setting: Setting) -> Iterator[str]:
    """Words that both sides get."""
    native, tags = (os.path.join(tree.aten, "native", name) for name in ("native_functions.yaml", "tags.yaml"))
    if program != "gen":
        yield from (native, tags, "out", tree.autograd)
        return
    yield from ("--source-path", tree.aten, "--install-dir", "aten", "--aoti-install-dir", "aoti")
    yield from ("--per-operator-headers", *setting.flags)
    if _HEADER_ONLY.strip("-") in Path(tree.root, *_GENERATOR.split("/")).read_text("utf-8"):
        yield from (_HEADER_ONLY, "headeronly")


def _reference_words(tree: Tree, program: str) -> list[str]:
    """Words by which Python runs the generator's program."""
    module, function = PROGRAMS[program]
    module = module.format(autograd=tree.package)
    return ["-c", _CALL.format(module=module, function=function)] if function else ["-m", module]


def _run(words: Sequence[str], folder: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    try:
        with slow(f"opwright: running {os.path.basename(words[0])} {' '.join(words[1:3])}"):
            return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Fault.at(GENERATOR_FAILED, f"cannot run `{words[0]}`: {error.strerror}") from None


def _last_lines(text: str) -> list[str]:
    return text.strip().splitlines()[-_SHOWN:]


def _explain(
    tree: Tree, program: str, setting: Setting, sides: tuple[OutputSide, OutputSide]
) -> tuple[list[BehaviourDifference], dict[str, bytes]]:
    """Behaviours with whose other values Opwright writes more of what the generator writes, and what it writes so.

    Each is tried with those found before it. The contents are those of the files that differ.
    """
    expected, contents = sides[0].contents, dict(sides[1].contents)
    paths = frozenset(path for path in {*expected, *contents} if expected.get(path) != contents.get(path))
    wrong = {path: contents[path] for path in paths & contents.keys()}
    request = setting.make_request(tree, program, {})
    rules = rules_of(request.inputs, request.release)
    explanations = []
    for difference, trial_of in _alternatives(rules, request.inputs, expected):
        trial = trial_of(rules)
        given = _trial_contents(tree, program, setting, trial, paths)
        if given is None:
            continue
        fewer = _distance(expected, wrong, paths) - _distance(expected, given, paths)
        if fewer > 0:
            files = _equal(expected, given, paths) - _equal(expected, wrong, paths)
            explanations.append(difference._replace(files=files, lines=fewer))
            rules, wrong = trial, given
        if _equal(expected, wrong, paths) == len(paths):
            break
    return explanations, wrong


def _alternatives(
    rules: Rules, inputs: Inputs, written: Iterable[str]
) -> Iterator[tuple[BehaviourDifference, Callable[[Rules], Rules]]]:
    """Numbers of shards of which the generator has written another number, lists of the tree, and each behaviour with
    each value that it does not have, those that changed last first.

    With each comes the function that gives other rules this value.
    """
    for row in Rules.rows():
        ours, theirs = rules.value(row.name), _shard_count(row.what, written)
        if theirs not in (0, ours):
            difference = BehaviourDifference(row.name, row.what, "the number of its files", str(ours), str(theirs))
            yield difference, partial(with_value, name=row.name, value=theirs)
    if rules.tree is None:
        what, told = "Operators are treated specially by their names.", "the constants of the generator"
        values = (f"those of {rules.version.series}", "those in the tree")
        yield BehaviourDifference("lists of operators", what, told, *values), partial(with_lists, inputs=inputs)
    for row in sorted(Rules.rows(), key=lambda row: row.changes[-1].series, reverse=True):
        told = next((str(change.mark) for change in row.changes if change.mark is not None), "")
        ours = rules.value(row.name)
        for change in row.changes:
            if change.value != ours:
                difference = BehaviourDifference(row.name, row.what, told, _text(ours), _text(change.value))
                yield difference, partial(with_value, name=row.name, value=change.value)


def _shard_count(what: str, paths: Iterable[str]) -> int:
    """How many of these paths are shards of the file that a behaviour names.

    >>> _shard_count("Shards of `Operators_N.cpp`.", ["aten/Operators_0.cpp", "aten/Operators_1.cpp", "aten/Ops.cpp"])
    2
    """
    stem = re.search(r"Shards of `(\w+)_N(\.\w+)`", what)
    if stem is None:
        return 0
    shard = re.compile(rf"(?:.*/)?{stem[1]}_\d+{re.escape(stem[2])}")
    return len([path for path in paths if shard.fullmatch(path)])


def _text(value: int) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _trial_contents(
    tree: Tree, program: str, setting: Setting, rules: Rules, paths: frozenset[str]
) -> dict[str, bytes] | None:
    """What Opwright writes to these paths by other rules; None if it cannot."""
    with tempfile.TemporaryDirectory(prefix="opwright-conformance-") as out:
        folders = _folders(program, out)
        among = OutputsAmong(frozenset(os.path.join(out, *path.split("/")) for path in paths), folders)
        request = setting.make_request(tree, program, folders)._replace(shard=among)
        try:
            Generation(request, Diagnostics(), rules=rules).write()
        except (Fault, FaultsFound):
            return None
        return dict(output_side(out).contents)


def _folders(program: str, out: str) -> dict[str, str]:
    """Output folders of a program below a folder, as the words of the programs name them."""
    if program != "gen":
        return dict.fromkeys(build_folders("", tuple(program_families(program))), os.path.join(out, "out"))
    aten = os.path.join(out, "aten")
    folders = {"headeronly": os.path.join(out, "headeronly"), "aoti": os.path.join(out, "aoti"), "aten": aten}
    return {**folders, "ops": os.path.join(aten, "ops"), "core": os.path.join(aten, "core")}


def _equal(expected: Mapping[str, bytes], given: Mapping[str, bytes], paths: frozenset[str]) -> int:
    """How many paths have the same contents on both sides, or are on neither."""
    return sum(expected.get(path) == given.get(path) for path in paths)


def _distance(expected: Mapping[str, bytes], given: Mapping[str, bytes], paths: frozenset[str]) -> int:
    """How many lines are on one side alone, whatever their order; a file on one side alone counts as one more."""
    total = 0
    for path in paths:
        lines = [Counter(side.get(path, b"").split(b"\n")) for side in (expected, given)]
        total += ((lines[0] - lines[1]) + (lines[1] - lines[0])).total() + ((path in expected) is not (path in given))
    return total


def with_value(rules: Rules, name: str, value: int) -> Rules:
    """A copy with another value of the behaviour of that name.

    >>> from opwright.release.version import parse_version
    >>> with_value(Rules(parse_version("2.15")), "native_aot_stubs", False).native_aot_stubs
    False
    """
    facts = rules.tree or TreeFacts({}, {})
    return Rules(rules.version, facts._replace(values={**facts.values, name: value}))


def with_lists(rules: Rules, inputs: Inputs) -> Rules:
    """A copy with the lists of operators of the generator in a tree."""
    facts = rules.tree or TreeFacts({}, {})
    return Rules(rules.version, facts._replace(lists=generator_lists(inputs)))


class OutputsAmong(NamedTuple):
    """Outputs with these paths. `folders` are the output folders of the run by name, as in the request."""

    paths: frozenset[str]
    folders: Mapping[str, str]

    def has(self, spec: FileSpec) -> bool:
        """Whether a file has one of the paths."""
        return os.path.normpath(f"{self.folders[spec.folder]}/{spec.path}") in self.paths
