"""Boxed functions for TorchScript's registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.convention import public_api
from opwright.convention.unboxing import unbox
from opwright.dialects.native_functions.loader import load_catalog
from opwright.emit.aten.unboxing import declaration, definition, emitters, registration
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.model.selection import SelectedOperator, Selection
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.release_inputs import RELEASES, release_folder, rules
from tests.emit.emitting import job_of, paths_of, slots_of

PROGRAM = Path(__file__).with_name("reference_unboxing.py")


def _statements(argument: str) -> tuple[str, ...]:
    parsed = parse_schema(f"f({argument}) -> Tensor").arguments.all[0]
    return unbox(parsed, TypeStyle.PLAIN).statements


def test_list_is_copied_into_a_vector() -> None:
    """The items of a list are converted one by one into a vector, to which the argument refers."""
    argument = parse_schema("f(int[] size) -> Tensor").arguments.all[0]
    value = unbox(argument, TypeStyle.PLAIN)
    assert (value.name, value.vectors) == ("size_list_out", ("std::vector<int64_t> size_vec;",))
    assert value.statements == (
        "const c10::List<c10::IValue> size_list_in = size.toList();",
        "",
        "for (c10::IValue size_elem: size_list_in) {",
        "    int64_t size_elem_base = size_elem.to<int64_t>();",
        "    size_vec.push_back(size_elem_base);",
        "}",
        "at::IntArrayRef size_list_out(size_vec);",
        "",
    )


def test_list_of_truth_values_becomes_an_array() -> None:
    """A list of truth values has a known length."""
    assert "::std::array<bool,3> mask_list_out = as_array<bool, 3>(mask_list_in);" in _statements("bool[3] mask")


def test_list_of_optionals_is_owned() -> None:
    """A list of optional tensors is a list of its own that is filled directly."""
    statements = _statements("Tensor?[] all")
    assert "c10::List<::std::optional<at::Tensor>> all_list_out;" in statements
    assert "    all_list_out.push_back(all_elem_opt_out);" in statements


PLUS = '- func: plus(Tensor self, *, str mode="a", int[2] size=[1,2]) -> Tensor total\n  variants: method\n'


def test_definition_calls_the_method() -> None:
    """A method is called on the unbox `self`; the stack loses the arguments and gets the result."""
    text = definition(job_of(PLUS).catalog["plus"])
    assert "    c10::IValue self = std::move(peek(stack, 0, 3));\n\tc10::IValue mode = std::move(" in text
    assert "    drop(stack, 3);\n" in text
    assert "    auto result_ = self_base.plus(mode_base, size_list_out);\n" in text
    assert "    pack(stack, std::move(result_));\n" in text


def test_definition_without_result_packs_nothing() -> None:
    """Where nothing is returned, nothing goes back to the stack."""
    text = definition(job_of("- func: note(Tensor self) -> ()\n").catalog["note"])
    assert "    at::note(self_base);\n" in text
    assert "pack" not in text


def test_registration_has_names_and_defaults() -> None:
    """The registry knows arguments and returns by name, with defaults; quotes in the schema are escaped."""
    text = registration(job_of(PLUS).catalog["plus"])
    assert text.startswith('\n// aten::plus(Tensor self, *, str mode=\\"a\\", int[2] size=[1,2]) -> Tensor total\n')
    assert 'c10::Argument("mode", nullptr, ::std::nullopt, c10::IValue("a")),\n' in text
    assert 'c10::Argument("size", nullptr, ::std::nullopt, c10::IntArrayRef({1,2}))\n' in text
    assert '        c10::Argument("total")\n' in text


def test_declaration_has_the_schema() -> None:
    """A declaration stands below its schema."""
    text = declaration(job_of(PLUS).catalog["plus"])
    assert text.endswith("-> Tensor total\nTORCH_API void plus(Stack & stack);\n")


def test_few_operators_go_into_one_shard() -> None:
    """Without a selection of many operators there is one shard beside the file with everything."""
    job = job_of(PLUS)
    assert paths_of(emitters(job), job) == [
        "aten/UnboxingFunctions.h",
        "aten/UnboxingFunctionsEverything.cpp",
        "aten/UnboxingFunctions_0.cpp",
        "aten/RegisterCodegenUnboxedKernelsEverything.cpp",
        "aten/RegisterCodegenUnboxedKernels_0.cpp",
    ]
    many = Selection(everything=False, operators={f"aten::{n}": SelectedOperator(f"aten::{n}") for n in range(100)})
    assert len(paths_of(emitters(job), job_of(PLUS, selection=many))) == 5
    large = job_of(PLUS, selection=many)
    assert len(paths_of(emitters(large), large)) == 1 + 6 + 11


def test_only_roots_are_made() -> None:
    """Operators that a model does not call itself have no boxed function."""
    chosen = Selection(everything=False, operators={"aten::plus": SelectedOperator("aten::plus", is_root=False)})
    assert slots_of(emitters, "UnboxingFunctions.h", job_of(PLUS, selection=chosen))["declarations"] == []


def _converted(function: NativeFunction) -> str:
    """The statements of a function as the reference's program prints them: without indentation or empty lines."""
    taken = public_api.function_signatures(function).most_faithful.bindings
    text = definition(function).split("\n    drop(stack, ", 1)[0].split("(Stack & stack) {\n", 1)[1]
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join([f"{function.name.text} {len(taken)}", *[line for line in lines if line]])


@pytest.fixture(scope="module")
def reference(reference_inputs: Path) -> str:
    """What the reference converts each function's arguments to."""
    command = [sys.executable, str(PROGRAM), str(reference_inputs)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_conversions_are_the_reference_s(reference_inputs: Path, reference: str) -> None:
    """The statements of all of PyTorch's operators are those of the reference."""
    native = reference_inputs / "native"
    functions, tags = (SourceFile.read(str(native / name)) for name in ("native_functions.yaml", "tags.yaml"))
    catalog = load_catalog(functions, tags, Diagnostics())
    assert "\n".join(map(_converted, catalog)) == reference.rstrip("\n")


@pytest.mark.network
@pytest.mark.parametrize("release", [release for release in RELEASES if rules(release).pytorch_files])
def test_files_are_those_of_the_program(release: str, pytorch_tree: Path, tmp_path: Path) -> None:
    """The program of a source tree on the generator of a release writes the same files, their list included.

    Wheels have no program, and the inputs and the generator of a release decide what it writes.
    """
    folder, program = release_folder(release), tmp_path / "tools" / "jit" / "gen_unboxing.py"
    (tmp_path / "torchgen").symlink_to(folder / "torchgen")
    program.parent.mkdir(parents=True)
    shutil.copy(pytorch_tree / "tools/jit/gen_unboxing.py", program)
    inputs = str(folder / "torchgen" / "packaged" / "ATen")
    written = []
    for words in ([str(program)], ["-m", "opwright.torchgen.gen_unboxing"]):
        (tmp_path / "out").mkdir()
        command = [sys.executable, *words, "--source-path", inputs, "--install_dir", "out"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OPWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
        command += ["--output-dependencies", "out/unboxing.cmake"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        written.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})
        shutil.rmtree(tmp_path / "out")
    assert len(written[0]) > 5
    assert written[0] == written[1]
