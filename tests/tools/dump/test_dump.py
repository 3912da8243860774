"""Dumps: YAML becomes JSON and YAML again, and nothing that has meaning is lost."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.cli.main import main
from opwright.cli.schema import schema_text
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.document import contents, dumped_files, parse_dump, print_yaml, render_dump
from opwright.tools.dump.dumping import dump_release
from tests.tools.dump.catalogs import catalog_of, derivatives_of, functions_of

EXAMPLES = Path(__file__).parents[3] / "examples"
OLDER = ["2.4.1", "2.6.0", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.14.0", "2.15.0"]
RELEASES = ["auto", *[pytest.param(release, marks=pytest.mark.network) for release in OLDER]]


def round_trip(release: str) -> tuple[dict[str, str], dict[str, str]]:
    """The files of a release, and those that its dump gives back, by their names."""
    inputs = open_inputs(release)
    text = render_dump(dump_release(inputs, None, Diagnostics()))
    dump = SourceFile("dump.json", text)
    printed = {file.path: file.yaml for file in dumped_files(parse_dump(dump), dump)}
    return {path: inputs.read_text(path).text for path in printed}, printed


@pytest.mark.thorough
@pytest.mark.parametrize("release", RELEASES)
def test_releases_survive_the_way_there_and_back(release: str) -> None:
    """The YAML that a dump gives back loads into the same operators, tags and derivatives."""
    before, after = round_trip(release)
    assert len(before) == 4
    rules = None if release == "auto" else Rules(parse_version(release))
    loaded = []
    for files in (before, after):
        sink = Diagnostics()
        native, tags, derivatives = (
            SourceFile(name, files[name])
            for name in ("native/native_functions.yaml", "native/tags.yaml", "autograd/derivatives.yaml")
        )
        catalog = load_catalog(native, tags, sink, rules)
        infos = load_derivatives(derivatives, catalog, sink)
        assert not sink.has_errors
        loaded.append((functions_of(catalog), catalog.tags, derivatives_of(infos)))
    assert loaded[0] == loaded[1]
    assert len(loaded[0][0]) > 3000
    name = "autograd/deprecated.yaml"
    assert yaml.safe_load(before[name]) == yaml.safe_load(after[name])


TAGS = "- {tag: core, desc: a}\n- {tag: inplace_view, desc: b}\n- {tag: 'on', desc: c}\n"
FUNCS = (
    "f(Tensor self, *, Scalar alpha=1) -> Tensor",
    "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    'mine::f(Tensor(a) self, str mode="a: b # c", int[2] x=[0,1]) -> Tensor(a)',
    "f_(Tensor(a!) self, bool x=True, float y=1e-05) -> Tensor(a!)",
    "f(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)"
    " -> Tensor",
)
FIELDS: dict[str, st.SearchStrategy[object]] = {
    "variants": st.sampled_from(["function", "method", "function, method"]),
    "dispatch": st.dictionaries(
        st.sampled_from(["CPU", "CUDA, MPS", "CompositeExplicitAutograd", "Meta"]),
        st.sampled_from(["f", "f_symint", "deep::f"]),
    ),
    "device_check": st.sampled_from(["NoCheck", "ExactSame"]),
    "device_guard": st.booleans(),
    "tags": st.sampled_from(["core", ["core"], ["core", "inplace_view"], "on", []]),
    "autogen": st.sampled_from(["f.out", "f_functional, f.out"]),
    "python_module": st.sampled_from(["nn", "yes"]),
    "category_override": st.sampled_from(["factory", "null"]),
    "structured": st.booleans(),
    "structured_delegate": st.sampled_from(["f.out"]),
    "precomputed": st.sampled_from([["self -> Tensor x, int y"], ["self -> int z", "int w"]]),
    "cpp_no_default_args": st.sampled_from([["alpha"], []]),
    "use_const_ref_for_mutable_tensors": st.booleans(),
    "manual_cpp_binding": st.booleans(),
    "manual_kernel_registration": st.booleans(),
}
ENTRIES = st.lists(st.fixed_dictionaries({"func": st.sampled_from(FUNCS)}, optional=FIELDS), min_size=1, max_size=3)


@given(entries=ENTRIES, flow=st.booleans())
@settings(deadline=None, max_examples=100)
def test_generated_entries_survive(entries: list[dict[str, object]], flow: bool) -> None:
    """Any entries, right or wrong, load into the same functions and faults after the way there and back."""
    text = yaml.safe_dump(entries, default_flow_style=flow, sort_keys=False, width=40)
    data = json.loads(json.dumps(contents(load_yaml(SourceFile("ops.yaml", text)))))
    before, after = catalog_of(text, TAGS), catalog_of(print_yaml(data), TAGS)
    assert before[1] == after[1]
    assert functions_of(before[0]) == functions_of(after[0])


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1).filter(lambda key: key != "<<"), inner),
    max_leaves=12,
)


@pytest.mark.thorough
@given(data=DATA)
@settings(deadline=None, max_examples=200)
def test_printed_data_is_read_again(data: JsonValue) -> None:
    """Data that is printed as YAML and read again is the same, by PyYAML and by Opwright."""
    text = print_yaml(data)
    assert same(yaml.safe_load(text), data)
    assert same(contents(load_yaml(SourceFile("data.yaml", text))), data)


def same(first: object, second: object) -> bool:
    """Whether two values are equal and of one type, and so are their parts."""
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-15) or first == second
    if isinstance(first, dict) and isinstance(second, dict):
        return [*first] == [*second] and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--library", "library/acme.yaml"),
        ("--backend", "backend/acme.yaml"),
        pytest.param(("--torch", "2.15.0"), marks=pytest.mark.network),
    ],
    ids=["installed", "library", "backend", "release"],
)
def test_dumps_fit_their_schema(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """What the command prints fits the schema that `opwright schema dump` prints."""
    jsonschema = pytest.importorskip("jsonschema")
    paths = [str(EXAMPLES / word) if word.endswith(".yaml") else word for word in arguments]
    assert main(["dump", *paths]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("dump")))
    document = json.loads(capsys.readouterr().out)
    assert validator.is_valid(document)
    assert document["operators"]
    assert not validator.is_valid({**document, "operators": [{**document["operators"][0], "schema": None}]})


@pytest.mark.thorough
def test_places_of_entries_lead_to_them() -> None:
    """The JSON Pointer of an operator's entry leads to its `func`, and its line is that of the file."""
    inputs = open_inputs("auto")
    document = json.loads(render_dump(dump_release(inputs, None, Diagnostics())))
    lines = {file["path"]: inputs.read_text(file["path"]).text.splitlines() for file in document["files"]}
    fields = {"entry": "func", "derivative": "name"}
    found = dict.fromkeys(fields, 0)
    for operator in document["operators"]:
        for place_name, field in fields.items():
            place = operator.get(place_name)
            if place is None:
                continue
            file = document["files"][place["file"]]
            entry = file["content"][int(place["pointer"].removeprefix("/"))]
            assert lines[file["path"]][place["line"] - 1].startswith(f"- {field}: ")
            found[place_name] += 1
            if not operator["synthesized"]:
                assert entry[field].partition("(")[0].rpartition("::")[2] == operator["name"]
    assert found["entry"] == len(document["operators"])
    assert found["derivative"] > 600


@pytest.mark.thorough
def test_files_of_libraries_and_backends_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The YAML of the dump of a library or a backend is dumped as the same document again, but for lines."""
    for kind in ("library", "backend"):
        source = EXAMPLES / kind
        for path in source.glob("*.yaml"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
        documents = []
        for _ in range(2):
            assert main(["dump", f"--{kind}", str(tmp_path / "acme.yaml")]) == 0
            text = capsys.readouterr().out
            (tmp_path / "dump.json").write_text(text, encoding="utf-8")
            documents.append(without_lines(json.loads(text)))
            assert main(["dump", "--from", str(tmp_path / "dump.json"), "--out", str(tmp_path), "--force"]) == 0
        assert documents[0] == documents[1]


def test_a_dump_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump may come through a pipe; without a name or a folder, only the file of a dump with one is printed."""
    library = "namespace: acme\noperators:\n- func: f(Tensor x) -> Tensor\n"
    (tmp_path / "acme.yaml").write_text(library, encoding="utf-8")
    assert main(["dump", "--library", str(tmp_path / "acme.yaml")]) == 0
    dump = capsys.readouterr().out
    for words, status in (([], 0), (["--file", "acme.yaml"], 0), (["--file", "other.yaml"], 2)):
        monkeypatch.setattr("sys.stdin", io.StringIO(dump))
        assert main(["dump", "--from", "-", *words]) == status
        printed = capsys.readouterr()
        assert printed.out == ("" if status else library)
        assert ("choose a file with `--file`, or a folder with `--out`: acme.yaml\n" in printed.err) is bool(status)
    monkeypatch.setattr("sys.stdin", io.StringIO("{"))
    assert main(["dump", "--from", "-"]) == 1
    assert "--> <standard input>:1:" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["dump", "--from", ""])
    assert main(["dump", "--file", "acme.yaml"]) == 2


def without_lines(data: object) -> object:
    """Data without the line numbers in it."""
    if isinstance(data, dict):
        return {key: without_lines(value) for key, value in data.items() if key != "line"}
    return [without_lines(item) for item in data] if isinstance(data, list) else data


@pytest.mark.thorough
def test_dumps_are_the_same_in_every_process(tmp_path: Path) -> None:
    """The bytes of a dump depend neither on the hash seed nor on the number of processors."""
    texts = []
    for seed in ("1", "2"):
        path = tmp_path / seed
        command = [sys.executable, "-m", "opwright", "dump", "--out", str(path)]
        subprocess.run(command, check=True, env={**environment(), "PYTHONHASHSEED": seed})
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


def environment() -> dict[str, str]:
    """The environment of the process, with the path of the package."""
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON"),
        ("[]", "it has no `format`"),
        ('{"format": ' + "[" * 700 + "]" * 700 + "}", "its format is no number, and this version of Opwright reads 1"),
        (
            '{"format": 1, "files": [{"path": "a", "dialect": "b", "content": ' + "[" * 700 + "]" * 700 + "}]}",
            "`a` nests more than 100 deep",
        ),
        ('{"format": 2}', "its format is 2, and this version of Opwright reads 1"),
        ('{"format": 1}', "it has no `files`"),
        ('{"format": 1, "files": [1]}', "one of its `files` has no `content`"),
        ('{"format": 1, "files": [{"content": 1}]}', "one of its `files` has no `path` and `dialect`"),
    ],
)
def test_other_files_are_refused(text: str, reason: str) -> None:
    """A file that is no dump, or of another format, is an error that says why."""
    file = SourceFile("dump.json", text)
    with pytest.raises(Fault) as raised:
        dumped_files(parse_dump(file), file)
    assert raised.value.diagnostic.code == "E2101"
    assert reason in raised.value.diagnostic.message


def test_values_without_a_form_in_json_are_faults() -> None:
    """A date and an infinite number are errors at their places, which name them."""
    for text, name in (("released: 2024-01-31", "a date"), ("scale: .inf", "a number")):
        with pytest.raises(Fault) as raised:
            contents(load_yaml(SourceFile("ops.yaml", text)))
        assert raised.value.diagnostic.code == "E2102"
        assert raised.value.diagnostic.message == f"a dump cannot hold {name}"
        assert raised.value.diagnostic.span is not None
        assert raised.value.diagnostic.span.text == text.partition(": ")[2]
