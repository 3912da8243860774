"""Inputs for ExecuTorch's generator: a package of ExecuTorch beside PyTorch's inputs, and files of operators.

A folder of inputs is one of other inputs with more files. `executorch` has the Python of the package and its YAML, and
`source/templates` templates of the suite, because no package has ExecuTorch's. `sets` has files of operators that name
every operator for which something can be generated, and `selection` selections of them. The inputs called `cases` have
the cases of `tests/executorch` instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import opwright
from opwright.convention import shared_types
from opwright.convention.shared_types import NoCppType
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch.custom_operators import stub_result
from opwright.model.native_function import DeviceCheck, NativeFunction
from tests.conformance.executorch_jobs import CASES, EXECUTORCH
from tests.conformance.inputs import (
    CACHE,
    ROOT,
    Files,
    NotAvailable,
    files_digest,
    folder_files,
    input_folder,
    write_folder,
)
from tests.conformance.mutate import chance

#: The templates of the suite.
TEMPLATES = ROOT / "tests" / "executorch" / "source"

#: The flags with which the programs take the parts of cases.
_PART_FLAGS = {
    "functions": "--functions-yaml-path",
    "custom": "--custom-ops-yaml-path",
    "selection": "--op-selection-yaml-path",
}

#: The dtypes that several keys are made from.
_ALIASES = """\
  type_alias:
    T0: [Float, Double, Int]
    T1: [Long]
  dim_order_alias:
    D0: [0, 1]
    D1: [0, 2, 1]
"""

#: The tags that follow from the schema.
_OWN_TAGS = frozenset(("out", "inplace", "functional", "pt2_compliant_tag", "generated"))


@cache
def package_files(version: str) -> Files:
    """The Python of ExecuTorch's generator and all YAML, out of the wheel of a version.

    Raises NotAvailable if the package index cannot be reached or does not have it.
    """
    known = sorted((CACHE / "inputs").glob(f"package-{EXECUTORCH}-{version}-*"))
    if known:
        return folder_files(known[0])
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder]
        try:
            subprocess.run([*pip, f"{EXECUTORCH}=={version}"], check=True)
        except subprocess.CalledProcessError as error:
            raise NotAvailable(f"pip cannot download {EXECUTORCH} {version}") from error
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if _is_wanted(name)}
    write_folder(CACHE / "inputs" / f"package-{EXECUTORCH}-{version}-{files_digest(files)[:12]}", files)
    return files


def _is_wanted(name: str) -> bool:
    if name.startswith("executorch/codegen/"):
        return name.endswith(".py") and "/test/" not in name
    places = (
        "executorch/kernels/",
        "executorch/runtime/",
        "executorch/backends/cadence/",
        "executorch/backends/cortex_m/",
    )
    return name.endswith(".yaml") and name.startswith(places)


@cache
def executorch_folder(name: str) -> Path:
    """The folder of inputs of that name, written on first use."""
    _, version, *rest = name.split("-", 2)
    inputs = input_folder(rest[0] if rest and rest[0] != CASES else "pytorch")
    templates = folder_files(TEMPLATES)
    files = folder_files(inputs) | package_files(version) | {f"source/{path}": text for path, text in templates.items()}
    if rest == [CASES]:
        texts = case_files()
    else:
        texts = operator_files(list(opwright.load(source_path=str(inputs / "torchgen/packaged/ATen"))))
    files.update({path: text.encode() for path, text in texts.items()})
    folder = CACHE / "inputs" / f"{name}-{files_digest(files)[:12]}"
    if not folder.is_dir():
        write_folder(folder, files)
    return folder


def case_files() -> dict[str, str]:
    """The parts of all cases, and for each case what `case_runs.py` reads, by path."""
    from tests.executorch.executorch_cases import load_cases

    texts = {}
    for case in load_cases():
        flags = ["--use-aten-lib"] if "aten" in case.said("mode") else []
        flags += ["--generate", "sources"] if "sources" in case.said("reference") else []
        settings = {
            "parts": {_PART_FLAGS[part]: f"{part}.yaml" for part in case.parts},
            "flags": flags,
            "decides_otherwise": not {"accepts", "refuses"}.isdisjoint(case.said("reference")),
        }
        texts[f"cases/{case.name}/flags"] = json.dumps(settings)
        texts |= {f"cases/{case.name}/{part}.yaml": text for part, text in case.parts.items()}
    return texts


def operator_files(functions: list[NativeFunction]) -> dict[str, str]:
    """Files of operators and selections, by path."""
    lean = [function for function in functions if has_result(function) and has_types(function, executorch.signature)]
    whole = [function for function in functions if has_result(function) and has_types(function, pytorch_types)]
    custom = [function for function in whole if function in lean and stub_result(function.schema) is not None]
    renamed = [function for function in custom if chance(f"custom {function.name}") < 0.2 and not function.name.dunder]
    return {
        "sets/wide.yaml": "".join(map(_entry, lean)),
        "sets/dispatched.yaml": "".join([_dispatched(function) for function in lean if chance(str(function)) < 0.3]),
        "sets/several.yaml": "".join([_several(function) for function in lean if chance(f"key {function}") < 0.2]),
        "sets/custom.yaml": "".join(map(_custom, renamed)),
        "selection/executorch-whole.yaml": selection(whole, lambda _: ["default"]),
        "selection/executorch-some.yaml": selection(
            [function for function in lean if chance(f"some {function}") < 0.3 and not has_key(function)],
            lambda name: ["v1/6;0,1|6;0,1", "v1/3;0"] if chance(name) < 0.5 else ["default"],
        ),
    }


def has_result(function: NativeFunction) -> bool:
    """Whether a boxed function of the operator has something to end with, and an entry needs no other one."""
    return bool(function.schema.returns or function.arguments.out) and "inplace_view" not in function.tags


def has_types(function: NativeFunction, types: Callable[[NativeFunction], object]) -> bool:
    """Whether a convention has C++ types for a schema."""
    try:
        types(function)
    except NoCppType:
        return False
    return True


def pytorch_types(function: NativeFunction) -> object:
    """The types of PyTorch for all arguments."""
    return [
        shared_types.argument_type(argument.type, mutable=argument.is_write, symint=False, style=function.style)
        for argument in function.arguments.all
    ]


def _qualified(function: NativeFunction) -> str:
    return f"{function.namespace}::{function.name}"


def _fields(function: NativeFunction, *, has_dispatch: bool = False) -> str:
    """The fields that an entry must have because of its name, or has because PyTorch's entry has them."""
    is_random = any(word in str(function.schema) for word in ("rand", "dropout"))
    tags = sorted(function.tags - _OWN_TAGS | ({"nondeterministic_seeded"} if is_random else set()))
    check = "" if function.device_check is DeviceCheck.ExactSame else f"  device_check: {function.device_check.value}\n"
    # ExecuTorch's program refuses factories without this field.
    check += "  dispatch: {}\n" if is_factory(function) and has_dispatch else ""
    return check + (f"  tags: [{', '.join(tags)}]\n" if tags else "")


def _kernel(function: NativeFunction) -> str:
    """A kernel in none to three namespaces."""
    namespaces = "outer::inner::inmost::"[: [0, 7, 14, 22][int(chance(str(function)) * 4)]]
    return f"{namespaces}{function.name.unambiguous}_kernel"


def _entry(function: NativeFunction) -> str:
    """An entry with one kernel, the default one or one with a key."""
    name = _qualified(function) if chance(f"long {function}") < 0.5 else str(function.name)
    if function.namespace != "aten":
        name = _qualified(function)
    aliases, keys = "", " null"
    if has_key(function):
        aliases = _ALIASES
        keys = "".join([f"\n        {argument.name}: [T1, D0]" for argument in reversed(function.arguments.all)])
    kernels = f"  kernels:\n    - arg_meta:{keys}\n      kernel_name: {_kernel(function)}\n"
    return f"- op: {name}\n{_fields(function, has_dispatch=True)}{aliases}{kernels}"


def is_factory(function: NativeFunction) -> bool:
    """Whether an entry of the old style has to name a kernel."""
    return function.name.name.endswith("_like") or function.name.name.startswith("new_")


def has_key(function: NativeFunction) -> bool:
    """Whether the only kernel of an operator is for certain dtypes."""
    return chance(f"keyed {function}") < 0.1


def _dispatched(function: NativeFunction) -> str:
    """An entry of the old style."""
    entry = f"- op: {_qualified(function)}\n{_fields(function)}"
    if chance(f"plain {function}") < 0.2 and not is_factory(function):
        return entry
    kernel = _kernel(function).rpartition("outer::")[2]
    return f"{entry}  dispatch:\n    CUDA: other\n    CPU: {kernel}\n"


def _several(function: NativeFunction) -> str:
    """An entry with a default kernel and one with several keys, whose types only one alias varies."""
    keys = "".join(
        [
            f"\n        {argument.name}: [T{index % 2}, D{index % 3 // 2}]"
            for index, argument in enumerate(function.arguments.all)
        ]
    )
    special = f"    - arg_meta:{keys}\n      kernel_name: outer::special\n" if keys else ""
    return (
        f"- op: {_qualified(function)}\n{_fields(function, has_dispatch=True)}{_ALIASES}  kernels:\n"
        f"    - arg_meta: null\n      kernel_name: outer::{function.name.unambiguous}\n{special}"
    )


def _custom(function: NativeFunction) -> str:
    """An entry with a schema of its own, in one of several namespaces."""
    namespace = ("", "mine::", "quantized::", "other::")[int(chance(f"namespace {function}") * 4)]
    schema = str(function.schema)
    receiver = function.arguments.self_arg
    is_method = receiver is not None and receiver.type.text == "Tensor" and not function.arguments.out
    variants = "  variants: function, method\n" if is_method and chance(f"variants {function}") < 0.5 else ""
    kernels = f"  kernels:\n    - arg_meta: null\n      kernel_name: {_kernel(function)}\n"
    return f"- func: {namespace}custom_{schema}\n{variants}{_fields(function, has_dispatch=True)}{kernels}"


def selection(functions: Iterable[NativeFunction], keys: Callable[[str], list[str]]) -> str:
    """A selection of operators with the keys of their calls; some are no roots."""
    names = list(dict.fromkeys(map(_qualified, functions)))
    operators = [
        f"  {name}:\n    is_root_operator: {'false' if chance(f'root {name}') < 0.1 else 'true'}\n"
        "    is_used_for_training: true\n    include_all_overloads: false\n    debug_info: []\n"
        for name in names
    ]
    metadata = [f"  {name}: {keys(name)}\n".replace("'", '"') for name in names if chance(f"keys {name}") < 0.9]
    return (
        "include_all_operators: false\ninclude_all_non_op_selectives: false\n"
        f"operators:\n{''.join(operators)}et_kernel_metadata:\n{''.join(metadata)}"
    )
