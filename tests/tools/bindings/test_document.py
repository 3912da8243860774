"""Dumps for bindings: they fit their schema, and say what PyTorch's files and functions say."""

from __future__ import annotations

import json
import keyword
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from inspect import cleandoc
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import yaml

from opwright.cli.main import main
from opwright.cli.schema import schema_text
from opwright.convention.python.hints import Hints
from opwright.convention.python.parameter import NoPythonType
from opwright.model.dispatch_key import device_flags
from opwright.release.inputs import open_inputs
from opwright.release.tree import rules_of
from opwright.schema.types import Type
from opwright.tools.bindings.data import binding_data
from opwright.tools.explain.loading import ExplainRequest, load_part
from tests.tools.bindings.declarations import Record, declarations

OLDER = ["2.9.1", "2.12.1", "2.15.0"]


@pytest.fixture(scope="module")
def document(dump: Path) -> Record:
    """The dump of the installed PyTorch."""
    loaded: Record = json.loads(dump.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def operators(document: Record) -> dict[str, Record]:
    """Its operators by name."""
    return {operator["name"]: operator for operator in document["operators"]}


def check_schema(document: Record) -> None:
    """A test fails if the document does not fit the schema, or the schema accepts anything.

    One operator of twenty is looked at, because validating takes long.
    """
    document = {**document, "operators": document["operators"][::20]}
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("bindings")))
    assert validator.is_valid(document)
    wrong = {**document["operators"][0], "c_name": None}
    assert not validator.is_valid({**document, "operators": [wrong]})


def test_the_document_fits_its_schema(document: Record) -> None:
    """What the command writes fits what `opwright schema bindings` prints."""
    assert len(document["operators"]) > 3000
    check_schema(document)


@pytest.mark.network
@pytest.mark.parametrize("release", OLDER)
def test_documents_of_other_releases_fit_the_schema(release: str, tmp_path: Path) -> None:
    """Dumps of other releases have the same form."""
    assert main(["dump", "--for", "bindings", "--torch", release, "--out", str(tmp_path / "dump.json")]) == 0
    document = json.loads((tmp_path / "dump.json").read_text(encoding="utf-8"))
    assert document["torch"] == release
    check_schema(document)


@pytest.mark.thorough
def test_declarations_yaml_follows(document: Record, tmp_path: Path) -> None:
    """Every field of each entry of `Declarations.yaml` can be worked out from the dump."""
    # The dump has the kernels of all devices.
    flags = [f"--{flag}" for flag in device_flags()]
    assert main(["generate", "--torch", "auto", "--only", "declarations_yaml", *flags, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.rglob("Declarations.yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    expected = {entry["schema_string"]: entry for entry in yaml.load(path.read_text(encoding="utf-8"), loader)}
    own = {entry["schema_string"]: entry for entry in declarations(document)}
    assert own.keys() == expected.keys()
    assert [name for name in expected if own[name] != expected[name]] == []


def test_names_for_c_are_identifiers_of_one_overload_each(document: Record) -> None:
    """No two overloads have the same name in C, and each name is an identifier."""
    names = [operator["c_name"] for operator in document["operators"]]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[A-Za-z_]\w*", name)] == []


def test_names_of_results_are_those_of_no_other_argument(document: Record) -> None:
    """A result that is no argument has a C++ name that no argument has."""
    for operator in document["operators"]:
        arguments = {argument["name"] for argument in operator["arguments"]}
        own = [result["cpp_name"] for result in operator["returns"] if not result.get("alias", {}).get("write")]
        assert arguments.isdisjoint(own)
        assert len(set(own)) == len(own)


def test_parameters_pass_each_argument_once(document: Record) -> None:
    """The parameters of a function pass all arguments; those of a method all but `self`; in order, if they say so."""
    for operator in document["operators"]:
        arguments = range(len(operator["arguments"]))
        for call in operator["cpp"]:
            passed = [index for parameter in call["parameters"] for index in parameter["arguments"]]
            is_method = call["form"] == "method"
            expected = [n for n in arguments if not (is_method and operator["arguments"][n]["name"] == "self")]
            assert sorted(passed) == expected
            if call["schema_order"]:
                assert passed == expected
                assert all(len(parameter["arguments"]) == 1 for parameter in call["parameters"])


def test_some_call_of_each_operator_takes_plain_integers_in_order(document: Record) -> None:
    """A generator of wrappers finds a function or a method that it can call with the arguments as they come."""
    for operator in document["operators"]:
        assert any(call["schema_order"] and not call["symint"] for call in operator["cpp"]), operator["name"]


def headers() -> Path:
    """The folder of the headers of the installed PyTorch."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "include"


def test_declared_functions_and_methods_are_in_pytorchs_headers(document: Record) -> None:
    """Each C++ declaration stands in the header that the dump names, and each method in that of tensors."""
    methods = (headers() / "ATen/core/TensorBody.h").read_text(encoding="utf-8").replace("at::", "")
    texts: dict[str, str] = {}
    for operator in document["operators"]:
        name = operator["header"]
        if name not in texts:
            texts[name] = (headers() / name).read_text(encoding="utf-8")
        for call in operator["cpp"]:
            short = call["name"].rpartition("::")[2]
            declaration = call["declaration"].replace(f" {call['name']}(", f" {short}(")
            if call["form"] == "method":
                # Inside of the class, types need no namespace.
                assert f" {declaration.replace('at::', '')};" in methods, declaration
            else:
                assert declaration in texts[name], declaration


def test_c_shims_are_in_pytorchs_headers(document: Record) -> None:
    """The shims for the CPU are those that the installed header declares."""
    path = headers() / "torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h"
    declared = set(re.findall(r"AOTI_TORCH_EXPORT (.*);", path.read_text(encoding="utf-8")))
    shims = [shim for operator in document["operators"] for shim in operator["c_shims"] if shim["device"] == "cpu"]
    assert {shim["declaration"] for shim in shims} == declared
    assert all(f" {shim['name']}(" in shim["declaration"] for shim in shims)


def test_docstrings_are_those_of_python(document: Record) -> None:
    """Each docstring is that of the function or method of the installed PyTorch, and most functions have one."""
    torch = pytest.importorskip("torch")
    documented = document["docstrings"]
    count = 0
    for name, text in documented.items():
        actual = attrgetter(name.removeprefix("torch."))(torch)
        # Some methods are functions of Python, with docstrings of their own, which call those of C++.
        if not isinstance(actual, FunctionType):
            assert cleandoc(actual.__doc__).strip() == text, name
            count += 1
    assert count > 900


def test_python_finds_functions_and_methods(document: Record) -> None:
    """Each name of a function that is not deprecated leads to one, and its parameters are identifiers."""
    torch = pytest.importorskip("torch")
    for operator in document["operators"]:
        for signature in operator["python"]:
            assert callable(attrgetter(signature["name"].removeprefix("torch."))(torch)), signature["name"]
            names = [parameter["name"] for parameter in signature["parameters"]]
            assert not any(map(keyword.iskeyword, names))
            assert all(re.search(rf"[(, ]{name}: ", signature["declaration"]) for name in names)


def test_parameters_of_types_without_annotation_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that only a source tree knows may have no annotation: its parameters have names and defaults."""

    def refuse(hints: Hints, type: Type) -> str:
        raise NoPythonType(type.text)

    monkeypatch.setattr(Hints, "argument", refuse)
    inputs = open_inputs("auto")
    job = load_part(ExplainRequest(("clamp_min",), inputs), rules_of(inputs))
    assert job is not None
    record: Record = binding_data(job.catalog["clamp_min"], job, {})
    method, function = record["python"]
    assert method["parameters"] == [{"name": "min", "keyword": False}]
    assert function["parameters"][-1] == {"name": "out", "keyword": True, "default": "None"}


def test_manual_functions_have_a_generated_twin(operators: dict[str, Record]) -> None:
    """Functions that PyTorch writes by hand say so, and name the generated function that does the same."""
    manual = {name for name, operator in operators.items() if operator["manual_cpp_binding"]}
    assert {"_backward", "requires_grad_", "size.int", "sym_size.int"} <= manual
    names = [call["name"] for name in manual for call in operators[name]["cpp"]]
    assert all(re.search(r"::__dispatch_\w+$", name) for name in names)


def test_gradients_name_the_node_of_the_backward_graph(operators: dict[str, Record]) -> None:
    """The nodes of PyTorch's graph have the names in the dump, and statuses tell the rest."""
    torch = pytest.importorskip("torch")
    leaf = torch.ones(2, requires_grad=True)
    for name, result in (("mul.Tensor", leaf * leaf), ("relu", leaf.relu()), ("sum", leaf.sum())):
        nodes = {formulas["key"]: formulas["node"] for formulas in operators[name]["gradients"]["formulas"]}
        assert nodes["Default"] == result.grad_fn.name()
    (formulas,) = operators["mul.Tensor"]["gradients"]["formulas"]
    assert {name for row in formulas["backward"] for name in row["names"]} == {"self", "other"}
    assert all("grad" in row["formula"] for row in formulas["backward"])
    assert operators["reshape_as"]["gradients"]["status"] == "composite"


def test_dispatch_is_that_of_explanations(operators: dict[str, Record], capsys: pytest.CaptureFixture[str]) -> None:
    """A key has the kernel that `opwright explain` shows, and no two kernels serve one key."""
    assert main(["explain", "add.Tensor", "relu", "--section", "dispatch", "--format", "json", "--all"]) == 0
    for explanation in json.loads(capsys.readouterr().out)["operators"]:
        operator = operators[explanation["name"].removeprefix("aten::")]
        by_key = {key: row["kernel"] for row in operator["dispatch"] for key in row["keys"]}
        expected = {row["key"]: row["kernel"] for row in explanation["dispatch"] if row["registered_for"]}
        assert by_key == expected
        assert sum(len(row["keys"]) for row in operator["dispatch"]) == len(by_key)
    assert operators["add.Tensor"]["dispatch"][0]["through"] == "add.out"


@pytest.mark.thorough
def test_the_bytes_are_the_same_in_every_process(dump: Path, tmp_path: Path) -> None:
    """The bytes do not depend on the hash seed."""
    path = tmp_path / "dump.json"
    command = [sys.executable, "-m", "opwright", "dump", "--for", "bindings", "--out", str(path)]
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "3"}
    subprocess.run(command, check=True, env=environment)
    assert path.read_bytes() == dump.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--for", "fun"], "invalid choice: 'fun'"),
        (["--for", "bindings", "--library", "acme.yaml"], "not allowed with argument"),
        (["--for", "bindings", "--from", "dump.json"], "not allowed with argument"),
        (["--for", "bindings", "--file", "tags.yaml"], "`--file` needs `--from`"),
    ],
)
def test_wrong_arguments_are_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The purpose of a dump excludes what a dump for bindings does not have."""
    try:
        status = main(["dump", *words])
    except SystemExit as exit:
        status = int(str(exit.code))
    assert status == 2
    assert said in capsys.readouterr().err


def test_dumps_for_bindings_have_no_files(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The way back to YAML needs another dump, and says so."""
    assert main(["dump", "--from", str(dump), "--out", "yaml"]) == 1
    assert "it has no `files`" in capsys.readouterr().err
