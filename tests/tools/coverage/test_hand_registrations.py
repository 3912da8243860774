"""Kernels that PyTorch's sources register by hand are found, through macros as compilers expand them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.backends.dispatch.hand_registrations import (
    HandPlace,
    HandRegistrations,
    _registered_in_python,
    hand_registrations,
)
from opwright.backends.dispatch.runtime_keys import runtime_keys
from opwright.cli.main import main
from opwright.release.inputs import from_source_path, open_inputs
from tests.conformance.inputs import complete_package
from tests.tools.coverage import hand_table

KEYS = {key.name: key for key in runtime_keys()}
BATCHING = "aten/src/ATen/functorch/BatchRulesOurs.cpp"
AUTOCAST = "aten/src/ATen/autocast_mode.cpp"
FILES = {
    "c10/macros/Macros.h": """\
#define C10_CONCATENATE_IMPL(left, right) left##right
#define C10_CONCATENATE(left, right) C10_CONCATENATE_IMPL(left, right)
""",
    "aten/src/ATen/functorch/Rules.h": """\
#define RULE(op, rule) \\
  m.impl(#op, op ## _plumbing<decltype(&rule)>);
#define RULE2(op, overload, rule) \\
  m.impl(#op "." #overload, op ## _ ## overload ## _plumbing<decltype(&rule)>);
""",
    BATCHING: """\
#include <ATen/functorch/Rules.h>

// TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) { m.impl("commented", nothing); }
#define WITH_IN_PLACE(op) RULE(op, op##_rule) RULE(op##_, op##_rule)
#define BLOCK(op) \\
  TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) { \\
    RULE(op, op##_rule); \\
  }

BLOCK(geqrf)

TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) {
  m.impl("addmm", addmm_decomp);
  RULE2(add, Tensor, SINGLE(add_rule, {1, 2}));
  WITH_IN_PLACE(abs)
}

TORCH_LIBRARY_IMPL(other, FuncTorchBatched, m) {
  m.impl("foreign", foreign);
}
""",
    "aten/src/ATen/cast.h": """\
#define COUNT_IMPL(_0, _1, _2, N, ...) N
#define COUNT(...) COUNT_IMPL(__VA_ARGS__, 2, 1)
#define CAST1(KEY, OP, POLICY) m.impl(TORCH_SELECTIVE_NAME("aten::" #OP), wrap(KEY, POLICY));
#define CAST2(KEY, OP, OVERLOAD, POLICY) \\
  m.impl(TORCH_SELECTIVE_NAME("aten::" #OP "." #OVERLOAD), wrap(KEY, POLICY));
#define CAST_N(KEY, N, ...) C10_CONCATENATE(CAST, N)(KEY, __VA_ARGS__)
#define CAST(KEY, ...) CAST_N(KEY, COUNT(__VA_ARGS__), __VA_ARGS__)
#define FOR_ALL(_) \\
  _(conv2d)        \\
  _(prod, dim_int)
""",
    AUTOCAST: """\
#include <ATen/cast.h>
TORCH_LIBRARY_IMPL(aten, Autocast, m) {
#define CAST_CUDA(...) CAST(kCUDA, __VA_ARGS__, fp32)
  FOR_ALL(CAST_CUDA)
  CAST(kCUDA, mm, fp32)
}
""",
    "torch/csrc/autograd/VariableTypeManual.cpp": """\
TORCH_LIBRARY_IMPL(aten, Autograd, m) {
  m.impl(
      "copy_",
      torch::dispatch(DispatchKey::Autograd, TORCH_FN(copy_)));
}
""",
    "torch/_meta_registrations.py": """\
@register_meta([aten.take.default, aten.take.out])
def meta_take(self, index): ...


@register_meta(
    aten.linspace,
)
def meta_linspace(start, end, steps): ...
""",
}

#: An operator and a key, with the file and the line that register it.
PLACES = {
    ("addmm", "FuncTorchBatched"): HandPlace(BATCHING, 13),
    ("add.Tensor", "FuncTorchBatched"): HandPlace(BATCHING, 14),
    ("abs_", "FuncTorchBatched"): HandPlace(BATCHING, 15),
    ("geqrf", "FuncTorchBatched"): HandPlace(BATCHING, 10),
    ("conv2d", "AutocastCUDA"): HandPlace("aten/src/ATen/cast.h", 9),
    ("prod.dim_int", "AutocastCUDA"): HandPlace("aten/src/ATen/cast.h", 10),
    ("mm", "AutocastCUDA"): HandPlace(AUTOCAST, 5),
    ("copy_", "AutogradCPU"): HandPlace("torch/csrc/autograd/VariableTypeManual.cpp", 2),
    ("take.out", "Meta"): HandPlace("torch/_meta_registrations.py", 1),
    ("take", "Meta"): HandPlace("torch/_meta_registrations.py", 1),
    ("linspace.out", "Meta"): HandPlace("torch/_meta_registrations.py", 5),
    ("commented", "FuncTorchBatched"): None,
    ("foreign", "FuncTorchBatched"): None,
    ("take.other", "Meta"): None,
    ("mm", "AutocastCPU"): None,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree with the inputs of the installed PyTorch, and a few registrations of each kind."""
    root = tmp_path_factory.mktemp("tree")
    complete_package(root)
    inputs = open_inputs("auto")
    own = {
        f"{'tools' if name.startswith('autograd/') else 'aten/src/ATen'}/{name}": inputs.read_text(name).text
        for name in inputs.names()
    }
    for name, text in (own | FILES).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(("operator", "key"), PLACES)
def test_places_are_those_of_the_sources(operator: str, key: str, tree: Path) -> None:
    """Each registration has its line; that of a list of operators is the line in the list."""
    assert HandRegistrations(from_source_path(tree)).place(operator, KEYS[key]) == PLACES[operator, key]


@pytest.mark.parametrize("name", [BATCHING, AUTOCAST])
def test_names_are_those_that_a_compiler_sees(name: str, tree: Path) -> None:
    """The operators of a source are those in the calls of `m.impl` that the preprocessor leaves."""
    program = shutil.which("c++")
    assert program is not None
    command = [program, "-E", "-P", "-w", "-I", str(tree / "aten/src"), "-I", str(tree), "-include"]
    done = subprocess.run(
        [*command, "c10/macros/Macros.h", str(tree / name)], capture_output=True, text=True, check=True
    )
    own = done.stdout.partition("TORCH_LIBRARY_IMPL(other")[0].replace('" "', "")
    seen = set(re.findall(r'm\.impl\((?:TORCH_SELECTIVE_NAME\()?\s*"(?:aten::)?([^"]+)"', own))
    places = HandRegistrations(from_source_path(tree))
    key = KEYS["FuncTorchBatched" if name == BATCHING else "AutocastCUDA"]
    assert len(seen) >= 3
    assert [operator for operator in seen if places.place(operator, key) is None] == []


def test_functions_for_meta_are_those_that_python_registers() -> None:
    """What the installed PyTorch's source says of Meta is in the table that it fills."""
    torch = pytest.importorskip("torch")
    table = torch._decomp.global_decomposition_table["meta"]
    places = HandRegistrations(open_inputs("auto"))
    named = [str(own).removeprefix("aten.").removesuffix(".default") for own in table if str(own).startswith("aten.")]
    found = [name for name in named if places.place(name, KEYS["Meta"]) is not None]
    assert len(found) > 350
    assert not places.covers(KEYS["Meta"])
    assert places.place("add.Tensor", KEYS["Meta"]) is None


def test_explanations_name_the_place(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table says which line registers a kernel, and nothing of sources that register none."""
    command = ["explain", "--source-path", str(tree), "--release", "2.13.0", "--section", "dispatch"]
    assert main([*command, "add.Tensor", "prod.dim_int"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"FuncTorchBatched is written and registered by hand in {BATCHING}:14" in out
    assert "AutocastCUDA is written and registered by hand in aten/src/ATen/cast.h:10" in out


def test_the_table_of_a_release_is_what_its_dispatcher_says() -> None:
    """The table of the installed PyTorch, written anew, is the one that the project has."""
    assert hand_table.path().read_text(encoding="utf-8") == hand_table.table()
    page = (Path(__file__).resolve().parents[3] / "docs" / "explain.md").read_text(encoding="utf-8")
    assert f"{len(hand_registrations(hand_table.release())):,} of these places" in page


def test_releases_with_a_table_need_no_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a source tree the places are those of the release, and a kernel that is not there is none."""
    sources = HandRegistrations(open_inputs("auto"))
    assert str(sources.place("add.Tensor", KEYS["FuncTorchBatched"])).startswith(
        "aten/src/ATen/functorch/BatchRulesBinaryOps.cpp:"
    )
    assert sources.place("add.Tensor", KEYS["AutocastCUDA"]) is None
    assert str(sources.place("matmul", KEYS["AutocastCUDA"])).startswith("aten/src/ATen/autocast_mode.cpp:")
    assert sources.covers(KEYS["AutocastCUDA"])
    assert main(["explain", "matmul", "--section", "dispatch"]) == 0
    assert "aten/src/ATen/autocast_mode.cpp:" in capsys.readouterr().out


META = """\
@register_meta([aten.mul.Tensor, aten.div(aten.neg).default])
@out_wrapper()
def meta_mul(self, other):
    return aten.sub(self, other)


@register_meta(aten.relu)
def meta_relu(self):
    return aten.exp.out(self)


@register_meta(
    (aten.cut.default, aten.open
"""


def test_decorators_end_at_their_brackets() -> None:
    """Operators in the brackets of a decorator are registered, and not those in the function below it."""
    rows = [(name, key, place.line) for name, key, place in _registered_in_python("meta.py", META)]
    expected = {"mul.Tensor": 1, "div.*": 1, "neg.*": 1, "relu.*": 7, "cut": 12, "open.*": 12}
    assert rows == [(name, "Meta", line) for name, line in expected.items()]
