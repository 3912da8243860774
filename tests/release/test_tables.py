from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise

import pytest

import opwright
from opwright.release.inputs import from_installed
from opwright.release.rules import Rules
from opwright.release.tables import ShimOperator, operators
from opwright.release.version import NEWEST, OLDEST, Version, parse_version, version_of

COMPLEX_TABLES = ("GRADIENT_IMPLEMENTED_FOR_COMPLEX", "GRADIENT_IMPLEMENTED_FOR_SPARSE_COMPLEX")
SERIES = [Version(2, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1)]


def test_complex_gradients_come_and_go() -> None:
    """Names are added in some releases, and one went with its operator."""
    changes = []
    for older, newer in pairwise(SERIES):
        before, after = Rules(older).complex_gradients, Rules(newer).complex_gradients
        changes.append((sorted(after - before), sorted(before - after)))
    assert changes == [
        ([], []),
        ([], []),
        ([], []),
        ([], []),
        ([], []),
        ([], []),
        (["ldexp"], []),
        (["linear", "narrow_copy"], []),
        ([], []),
        (["linalg_matrix_sqrth", "linalg_polar"], ["cholesky"]),
        (["nan_to_num"], []),
    ]


def test_shims_are_never_taken_away() -> None:
    """A later release has every shim of an earlier one, with the versions it had."""
    for older, newer in pairwise(SERIES):
        for before, after in zip(Rules(older).shim_tables[:2], Rules(newer).shim_tables[:2], strict=True):
            for name, shim in before.items():
                assert len(after[name].versions) >= len(shim.versions)


def test_a_shim_with_a_further_version_of_another_release() -> None:
    """The shim has its own guard, its further version another, and both only where releases have guards."""
    name = "aten._scaled_dot_product_attention_math_for_mps.default"
    assert Rules(Version(2, 11)).shim_tables.device[name] == ShimOperator(None, ())
    assert Rules(Version(2, 12)).shim_tables.device[name].versions[0] == ("v2", ("enable_gqa",), None)
    versions = (("v2", ("enable_gqa",), "TORCH_VERSION_2_13_0"),)
    assert Rules(Version(2, 13)).shim_tables.device[name] == (None, versions)


def test_rules_give_the_tables_of_their_release() -> None:
    """Patch releases share the tables, which are made once."""
    older, newer = Rules(parse_version("2.13.0")), Rules(parse_version("2.13.7"))
    assert older.complex_gradients is newer.complex_gradients
    assert older.shim_tables is newer.shim_tables
    assert older.shim_tables.aten.keys() != older.shim_tables.device.keys()


def test_operators_are_those_of_the_installed_release() -> None:
    """The table has the name of each operator of the installed PyTorch, those that are made included, and no other."""
    functions = opwright.load("auto").functions
    assert operators(version_of(from_installed())) == {function.root_name for function in functions}


@pytest.mark.skipif(find_spec("torchgen") is None, reason="the reference is not installed")
def test_tables_agree_with_the_installed_reference() -> None:
    """The reference of the environment has the same names, guards and versions."""
    inputs = from_installed()
    version = version_of(inputs)
    source = inputs.read_member("torchgen/packaged/autograd/gen_variable_type.py").decode()
    names = [
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in COMPLEX_TABLES
    ]
    assert Rules(version).complex_gradients == frozenset().union(*names)
    program = "from torchgen.aoti import fallback_ops as f; print((f.inductor_fallback_ops, f.aten_shimified_ops))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for ours, expected in zip(Rules(version).shim_tables[:2], ast.literal_eval(done.stdout), strict=True):
        assert {name: reference_form(shim) for name, shim in ours.items()} == expected


def reference_form(shim: ShimOperator) -> dict[str, object]:
    """A row as the reference writes it, from 2.13 on."""
    form: dict[str, object] = {} if shim.guard is None else {"since": shim.guard}
    for version in shim.versions:
        form[version.name] = {"new_args": list(version.new_arguments), "since": version.guard}
    return form
