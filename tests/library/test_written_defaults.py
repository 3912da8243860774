"""Defaults as libraries write them: each that the dispatcher takes is taken, and C++ says it where it can."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.compile.compiler import Compiler
from tests.dialects.test_library import loaded
from tests.library.conftest import INCLUDE, GenerateLibrary
from tests.schema.test_written_schemas import accepted_defaults

#: What is reported of types, not of defaults: types without a form in C++, and generators without the tag of random
#: numbers.
_OF_TYPES = {"W1128", "W1129", "E0347"}


def _library(arguments: list[str], abi: str = "native") -> str:
    """A library with an operator for each argument."""
    entries = [
        {"func": f"f{number}(Tensor t, {text}) -> Tensor", "dispatch": {"CompositeExplicitAutograd": f"f{number}"}}
        for number, text in enumerate(arguments)
    ]
    return yaml.safe_dump({"namespace": "defaults", "abi": abi, "operators": entries}, width=10_000)


def test_no_default_of_the_dispatcher_is_refused() -> None:
    """A library may have every default that PyTorch's parser takes for a type."""
    arguments = [text for text, _ in accepted_defaults()]
    _, sink = loaded(_library(arguments))
    assert {diagnostic.code for diagnostic in sink} <= _OF_TYPES
    assert len(arguments) > 1000


def test_defaults_that_a_type_cannot_hold(torch: ModuleType) -> None:
    """A warning names each default of which PyTorch's parser makes a value of another type, and no other."""
    held = {"int": int, "SymInt": int, "bool": bool, "float": float, "Tensor": torch.Tensor}
    count = 0
    for type, values in held.items():
        for text in ("0", "-3", "1.5", "2.", "1e3", "True", "False", "None"):
            for argument in (f"{type} n={text}", f"{type}? n={text}"):
                try:
                    value = torch._C.parse_schema(f"f({argument}) -> ()").arguments[0].default_value
                except RuntimeError:
                    continue
                fits = value.__class__ is values or (value is None and "?" in argument)
                _, sink = loaded(_library([argument]))
                assert ("W1129" in {diagnostic.code for diagnostic in sink}) != fits, argument
                count += not fits
    assert count > 20


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["native", "stable"])
def test_cpp_takes_the_defaults(program: str, generate_library: GenerateLibrary, tmp_path: Path, abi: str) -> None:
    """The header of a library with all these defaults compiles: a parameter has its default, or none."""
    unfit = {"Quantizer", "ConstQuantizerPtr", "Capsule", "AnyEnumType", "AnyClassType", "NoneType", "Generator"}
    if abi == "stable":
        unfit |= {"Any", "DeviceIndex", "QScheme", "Scalar", "Storage", "Stream", "SymBool", "complex"}
    arguments = [text for text, _ in accepted_defaults() if text.partition(" ")[0].rstrip("[3]?") not in unfit]
    arguments = [text for text in arguments if not text.startswith("DeviceIndex[")]
    out = generate_library(_library(arguments, abi))
    source = tmp_path / "includes.cpp"
    source.write_text("#include <defaults/ops.h>\n", encoding="utf-8")
    Compiler(program, tmp_path, [out / "include", INCLUDE]).check_syntax(source)


@pytest.mark.parametrize(
    ("argument", "meant"),
    [("bool n=true", "True"), ("str n=mean", '"mean"'), ("int[] n=(1, 2)", "[1,2]"), ("Tensor? n=null", "None")],
)
def test_defaults_of_other_languages(argument: str, meant: str) -> None:
    """The error says what a schema has in place of a default as Python, YAML or C++ write it."""
    _, sink = loaded(_library([argument]))
    assert [(diagnostic.code, str(diagnostic.help)) for diagnostic in sink] == [("E0205", f"write `{meant}`")]
    _, sink = loaded(_library([f"{argument.partition('=')[0]}={meant}"]))
    assert "E0205" not in {diagnostic.code for diagnostic in sink}
