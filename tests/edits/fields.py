"""Files of libraries, backends, ExecuTorch and selections, with legal values for each field that they can have."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import yaml

from tests.edits.harness import LOCAL
from tests.edits.random_edits import NATIVE
from tests.edits.warm_runs import WarmRuns
from tests.engine.project import WholeProject

__all__ = [
    "ABSENT",
    "DOCUMENTS",
    "SCHEMA_FOLDER",
    "WITHOUT_EFFECT",
    "Document",
    "FieldRuns",
    "Place",
    "schema_fields",
    "with_value",
]

#: In place of a value (`!absent` in the file): the field is left out.
ABSENT: Final = ...

Place = tuple["str | int", ...]
"""Where a field is: the keys and numbers that lead to it; empty for the whole document."""


class Document(NamedTuple):
    """A file that a run reads.

    `schema` is the name of the JSON schema of its fields, `beside` has files beside it, and `flags` are those of the
    run. `fields` has values of each field. A file with a `place` is an input of PyTorch; its text may be the project's.
    """

    schema: str
    text: object
    flags: Sequence[str]
    fields: Sequence[tuple[Place, Sequence[object]]]
    beside: Mapping[str, str]
    place: str


class _Loader(yaml.SafeLoader):
    """YAML with `!absent`."""


_Loader.add_constructor("!absent", lambda *_: ABSENT)


def _documents() -> dict[str, Document]:
    path = Path(__file__).parent / "documents.yaml"
    stored: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return {
        kind: Document(
            document["schema"],
            document["text"],
            document["flags"],
            [(_place(name), values) for name, values in document["fields"].items()],
            document.get("beside", {}),
            document.get("place", ""),
        )
        for kind, document in stored.items()
    }


def _place(name: str) -> Place:
    return () if name == "." else tuple([int(step) if step.isdigit() else step for step in name.split("/")])


DOCUMENTS: Final = _documents()

SCHEMA_FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "schemas"

_OTHER_TOOLS: Final = "other programs read it"

#: Fields that no file of these runs shows, whatever their values are, and why.
WITHOUT_EFFECT: Final[Mapping[tuple[str, str], str]] = {
    ("native", "torch"): "it is compared with the release",
    ("native", "variants"): "libraries have no methods",
    ("native", "python_module"): "libraries have their own Python package",
    ("native", "category_override"): "PyTorch's files of factories read it",
    ("backend", "torch"): "it is compared with the release",
    ("backend", "override_composite"): "it allows what else is refused",
    ("plain_backend", "override_composite"): "it allows what else is refused",
    ("tags", "desc"): "no file shows what tags are for",
    ("selection", "include_all_non_op_selectives"): _OTHER_TOOLS,
    ("selection", "is_root_operator"): "it matters for files of ExecuTorch",
    ("selection", "kernel_metadata"): _OTHER_TOOLS,
    ("selection", "custom_classes"): _OTHER_TOOLS,
    ("selection", "build_features"): _OTHER_TOOLS,
    ("selection", "debug_info"): _OTHER_TOOLS,
}


def with_value(text: object, place: Place, value: object) -> object:
    """A document with another value at a place; None if the document has no such place."""
    if not place:
        return copy.deepcopy(value)
    changed = copy.deepcopy(text)
    parent: Any = changed
    try:
        for step in place[:-1]:
            parent = parent[step]
        if value is ABSENT:
            parent.pop(place[-1], None)
        else:
            parent[place[-1]] = copy.deepcopy(value)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return changed


def schema_fields(schema: str) -> set[str]:
    """The names of all fields of a JSON schema."""
    return set(_properties(json.loads((SCHEMA_FOLDER / f"{schema}.json").read_text(encoding="utf-8"))))


def _properties(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        fields = schema.get("properties", {})
        yield from fields
        # A field may have the name of a keyword of schemas.
        for part in (*fields.values(), *[part for keyword, part in schema.items() if keyword != "properties"]):
            yield from _properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _properties(part)


#: Operators that backends implement, besides those of the project.
_ENTRIES: Final = """
- func: both(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: both

- func: both_more(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: both_more

- func: both_most(Tensor self) -> Tensor
  dispatch:
    CPU: both_most

- func: sized(Tensor self, SymInt size) -> Tensor
  dispatch:
    CPU: sized
"""


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


class FieldRuns(WarmRuns):
    """Runs for one document, which is edited between them."""

    def __init__(self, folder: Path, reference_inputs: Path, kind: str) -> None:
        document = DOCUMENTS[kind]
        project = WholeProject(folder, reference_inputs)
        with (project.inputs.parent / NATIVE).open("a", encoding="utf-8") as stream:
            stream.write(_ENTRIES)
        self.file: Final = project.inputs.parent / document.place if document.place else folder / "file.yaml"
        if document.text is ABSENT:
            document = document._replace(text=yaml.safe_load(self.file.read_text(encoding="utf-8")))
        self.document: Final = document
        for name, text in document.beside.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        places = {"FILE": [str(self.file)], "PYTORCH": [word for name in LOCAL for word in ("--only", name)]}
        flags = [part for word in document.flags for part in places.get(word, [word])]
        super().__init__(folder, [*flags, "--source-path", str(project.inputs), "--release", "2.13"])

    def outputs(self, text: object) -> dict[str, bytes] | None:
        """The files of a fresh run for a text of the document; None if it is refused."""
        written = yaml.dump(text, Dumper=_NoAliases, sort_keys=False)
        self.file.write_text(written, encoding="utf-8")
        return self.fresh((), written)

    def step(self, text: object) -> list[str] | None:
        """What a run after others leaves otherwise than a fresh one, for a text of the document; None if refused."""
        if self.outputs(text) is None:
            return None
        return self.differences((), self.file.read_text(encoding="utf-8"))

    def matrix(self, place: Place, values: Sequence[object]) -> Iterator[str]:
        """Run for each value of a field after each other one."""
        for pair in permutations(values, 2):
            for value in pair:
                text = with_value(self.document.text, place, value)
                for path in (None if text is None else self.step(text)) or ():
                    yield f"{place}: {value!r} of {pair}: {path}"

    def random_edits(self, random: Random, count: int) -> Iterator[str]:
        """Edit some fields at once, `count` times, keep what is legal, and run after each."""
        text = self.document.text
        done = 0
        while done < count:
            edited = self.document.text if random.random() < 0.05 else text
            for place, values in random.sample(self.document.fields, random.choice([1, 1, 1, 2, 2])):
                changed = with_value(edited, place, random.choice(values))
                edited = edited if changed is None else changed
            differences = self.step(edited)
            if differences is None:
                continue
            done += 1
            text = edited
            for path in differences:
                yield f"{path} after an edit to\n{self.file.read_text(encoding='utf-8')}"
