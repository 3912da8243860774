"""Files of emitters are rendered as their layouts say, and no fragment is made before it is needed, or twice."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest

from opwright.emit.emitter import Emitter, FilePerUnit, FragmentContext, Job, OneFile, Sharded, Slots
from opwright.files.plain_files import file_status
from opwright.files.plan import FileSpec
from opwright.files.template import Templates
from opwright.incremental.emitter_files import EmitterFiles, FragmentCounts, JobFiles
from opwright.incremental.previous_build import PreviousBuild
from opwright.run.output_writer import OutputWriter
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.records import not_fingerprinted
from opwright.source.text import SourceFile
from tests.emit.emitting import job_of

UNITS = ("add", "mul", "sub")

TEMPLATE = "namespace ${ns} {\n  ${body}\n}\n${table}\n"
NUMBERED = "// ${shard_id}\n${body}\n"


@not_fingerprinted(
    made="it is what tests look at", emitter="it has this object", first="fragments do not show it",
    namespace="fragments do not show it",
)  # fmt: skip
class Recorder:
    """An emitter of a few names, and the fragments that were made of them."""

    def __init__(
        self,
        layout: OneFile | FilePerUnit[str] | Sharded[str],
        template: str | None = TEMPLATE,
        units: Sequence[str] = UNITS,
        namespace: str = "at",
        first: Sequence[str] = (),
    ) -> None:
        self.made: list[str] = []
        self.first = first
        self.namespace = namespace
        self.template = template
        self.emitter: Emitter[str] = Emitter(
            name="recorder",
            family="tests",
            template=None if template is None else "Template.h",
            folder="ops",
            units=lambda _: units,
            fragment=self.fragment,
            layout=layout,
            file_slots=self.file_slots,
        )

    def fragment(self, unit: str, context: FragmentContext) -> Slots:
        """A declaration."""
        self.made.append(unit)
        return {"body" if self.template else "text": [f"{unit}();"]}

    def file_slots(self, job: Job) -> Slots:
        """What all files have."""
        self.made.append("file slots")
        return {"ns": self.namespace, "body": list(self.first), "table": []}

    def files(self, previous: PreviousBuild | None = None) -> EmitterFiles:
        """The files of the emitter in a run."""
        build = JobFiles(job_of("[]"), Templates(lambda name: SourceFile(name, self.template or "")), previous)
        return next(iter(build.tasks([self.emitter])))()


def texts(files: EmitterFiles) -> dict[str, str]:
    """The text of each file, by path."""
    return {spec.path: (files.render(spec).data or b"").decode() for spec in files.specs()}


def file_of(*bodies: str, namespace: str = "at") -> str:
    """The text of a file with these bodies."""
    return (
        "\n  ".join([f"namespace {namespace} {{", *bodies]) + "\n}\n\n"
        if bodies
        else f"namespace {namespace} {{\n\n}}\n\n"
    )


def test_one_file_has_all_units() -> None:
    """Its slots are the file's with those of the units in order. Planning makes none."""
    recorder = Recorder(OneFile("All.h"))
    files = recorder.files()
    assert list(files.specs()) == [FileSpec("ops", "All.h", "", range(3))]
    assert recorder.made == []
    assert texts(files) == {"All.h": file_of("add();", "mul();", "sub();")}


def test_each_unit_has_its_file() -> None:
    """The file slots are made once for all files, and each fragment with its own file."""
    recorder = Recorder(FilePerUnit(lambda unit: f"{unit}.h"))
    files = recorder.files()
    specs = list(files.specs())
    assert [spec.path for spec in specs] == ["add.h", "mul.h", "sub.h"]
    assert recorder.made == []
    assert files.render(specs[1]).data == file_of("mul();").encode()
    assert files.render(specs[0]).data == file_of("add();").encode()
    assert recorder.made == ["mul", "file slots", "add"]


@pytest.mark.parametrize("layout", [OneFile("All.h"), FilePerUnit(lambda _: "All.h")])
def test_units_come_after_what_the_file_has_itself(layout: OneFile | FilePerUnit[str]) -> None:
    """In a slot that both fill."""
    files = Recorder(layout, units=("add",), first=("first();",)).files()
    assert texts(files) == {"All.h": file_of("first();", "add();")}


@pytest.mark.parametrize(("template", "maker"), [(TEMPLATE, r"template `Template\.h`"), (None, "the output's text")])
def test_texts_without_a_form_in_utf8_are_refused(template: str | None, maker: str) -> None:
    """The message says what gives them, with the character."""
    files = Recorder(OneFile("All.h"), template, units=("\ud801",)).files()
    with pytest.raises(Fault, match=f"{maker} gives a text with U\\+D801, which has no UTF-8 form"):
        texts(files)


def test_fragments_of_shards_are_made_once() -> None:
    """Each fragment is made once for all files, which together hold each text twice and show their shard."""
    recorder = Recorder(Sharded("Part.cpp", 2, lambda unit: unit), NUMBERED)
    files = recorder.files()
    assert [spec.path for spec in files.specs()] == ["PartEverything.cpp", "Part_0.cpp", "Part_1.cpp"]
    assert texts(files) == {
        "PartEverything.cpp": "// Everything\nadd();\nmul();\nsub();\n",
        "Part_0.cpp": "// _0\nadd();\nmul();\n",
        "Part_1.cpp": "// _1\nsub();\n",
    }
    assert sorted(recorder.made) == ["add", "file slots", "mul", "sub"]
    assert files.fragment_counts() == FragmentCounts(made=3, reused=0, files_made=3, files_reused=0)


def test_a_lone_shard_is_rendered_once() -> None:
    """It has the bytes of the file with everything, if the template does not show the shard."""
    files = Recorder(Sharded("All.cpp", 1, lambda unit: unit)).files()
    everything, lone = files.specs()
    assert files.render(lone).data is not None
    assert files.render(everything).data is files.render(lone).data
    numbered = Recorder(Sharded("All.cpp", 1, lambda unit: unit), NUMBERED).files()
    assert len(set(texts(numbered).values())) == 2


def test_units_may_share_a_line() -> None:
    """The texts of units in a slot inside a line are listed there. Such a file has no spans."""
    recorder = Recorder(OneFile("All.h"), "f(${body}) // $ns\n")
    files = recorder.files()
    [spec] = files.specs()
    rendered = files.render(spec)
    assert rendered.data == b"f(add();, mul();, sub();) // at\n"
    assert rendered.spans.slots is None


def test_a_docstring_before_a_class_is_followed_by_a_line() -> None:
    """A template's text gets the blank line, and the file then has no spans; a text without template stays as it is."""
    template = '${body}\nclass C:\n    """It."""\ndef f(): ...\n'
    files = Recorder(OneFile("all.py"), template, ['"""Module."""\nx']).files()
    [spec] = files.specs()
    rendered = files.render(spec)
    assert rendered.data == b'"""Module."""\nx();\nclass C:\n    """It."""\n\ndef f(): ...\n'
    assert rendered.spans.slots is None


@pytest.mark.parametrize("layout", [OneFile("All.h"), Sharded("All.cpp", 2, lambda unit: unit)])
def test_only_fragments_of_changed_units_are_made(layout: OneFile | Sharded[str], tmp_path: Path) -> None:
    """After an edit the chunks of unchanged units come out of the files on disk, whatever moved, came or went."""
    before = Recorder(layout)
    previous = written(before, tmp_path)
    for units, made in [
        (("add", "mul", "sub"), []),
        (("add", "new", "sub"), ["new"]),
        (("sub", "mul"), []),
        (("zero", "add", "mul", "sub", "top"), ["zero", "top"]),
    ]:
        after = Recorder(layout, units=units)
        files = after.files(previous)
        rendered = {
            spec.path: files.render(spec, previous.file(files.name, spec.path, f"{tmp_path}/{spec.path}"))
            for spec in files.specs()
        }
        assert sorted(set(after.made) - {"file slots"}) == sorted(made)
        assert files.fragment_counts()[:2] == (len(made), len(units) - len(made))
        expected = texts(Recorder(layout, units=units).files())
        for path, text in expected.items():
            data = rendered[path].data
            assert text == (data.decode() if data is not None else texts(before.files())[path])


def test_file_slots_do_not_make_fragments_again(tmp_path: Path) -> None:
    """If only what belongs to the file changes, the chunks of all units are reused."""
    previous = written(Recorder(OneFile("All.h")), tmp_path)
    after = Recorder(OneFile("All.h"), namespace="mine")
    files = after.files(previous)
    [spec] = files.specs()
    data = files.render(spec, previous.file(files.name, spec.path, f"{tmp_path}/{spec.path}")).data
    assert data == file_of("add();", "mul();", "sub();", namespace="mine").encode()
    assert after.made == ["file slots"]


def test_another_template_makes_all_fragments_again(tmp_path: Path) -> None:
    """A template may indent what units give, so nothing of the old file is reused."""
    previous = written(Recorder(OneFile("All.h")), tmp_path)
    after = Recorder(OneFile("All.h"), TEMPLATE.replace("  $", "    $"))
    files = after.files(previous)
    [spec] = files.specs()
    data = files.render(spec, previous.file(files.name, spec.path, f"{tmp_path}/{spec.path}")).data
    assert data == file_of("add();", "mul();", "sub();").replace("  ", "    ").encode()
    assert files.fragment_counts() == FragmentCounts(3, 0, 1, 0)


def written(recorder: Recorder, folder: Path) -> PreviousBuild:
    """What a run of an emitter leaves, with its files written to a folder."""
    files = recorder.files()
    statuses = {}
    for path, text in texts(files).items():
        target = folder / path
        target.write_text(text, encoding="utf-8")
        statuses[str(target)] = file_status(target.stat())
    return PreviousBuild({files.name: files.state()}, statuses)


class Fragment(dict[str, list[str]]):
    """A fragment that can be watched for its end."""


#: Those of the test below: what a function carries has a fingerprint, and these have none.
_FRAGMENTS: list[weakref.ref[Fragment]] = []


def test_fragments_are_released_when_their_files_are_written(tmp_path: Path) -> None:
    """A build keeps the state of an emitter, and not the texts: together they would take as much room as the files."""

    def fragment(unit: str, _context: FragmentContext) -> Slots:
        slots = Fragment(text=[f"{unit}();\n"])
        _FRAGMENTS.append(weakref.ref(slots))
        return slots

    emitter: Emitter[str] = Emitter(
        name="names",
        family="tests",
        template=None,
        folder="ops",
        units=lambda _: UNITS,
        fragment=fragment,
        layout=OneFile("All.h"),
    )
    build = JobFiles(job_of("[]"), Templates(lambda name: SourceFile(name, "")))
    outcome = OutputWriter({"ops": tmp_path}, Diagnostics()).write(build.tasks([emitter]))
    gc.collect()
    assert len(_FRAGMENTS) == len(UNITS)
    assert [reference() for reference in _FRAGMENTS] == [None] * len(UNITS)
    assert outcome.fragments["tests names 1"].made == len(UNITS)
