"""Write the selection of a model's operators.

Takes the flags of `python -m executorch.codegen.tools.gen_oplist`, and writes the same bytes. The operators come from a
model file, from a file such as functions.yaml, and from the command line; without any of them nothing is selected."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from json import loads

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.executorch_operators import DEFAULT_KEY
from opwright.mobile.mobile_codes import NOT_AN_ENTRY, OPERATORS_UNREADABLE
from opwright.mobile.selective.edge_texts import kernel_key_of_dtype
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.program_file import operators_of
from opwright.mobile.selective.writer import write_selection
from opwright.model.selection import SelectedOperator, Selection
from opwright.torchgen.executorch.document_shapes import OPERATOR_ENTRIES
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add("--output_path", metavar="PATH", help="the file to write, or its folder", required=True)
    add("--model_file_path", metavar="FILE", help="an ExecuTorch program (.pte), which lists its operators")
    add("--ops_schema_yaml_path", metavar="FILE", help="the operators of a functions.yaml or custom_ops.yaml")
    add("--root_ops", metavar="NAMES", help="names of operators, with commas or blanks between them")
    add("--ops_dict", metavar="JSON", help="a JSON object: a list of dtypes or kernel keys for each operator")
    add(*spellings("include-all-operators"), action="store_true", help="keep all operators: the build is not selective")


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    kernel_keys: dict[str, set[str]] = {}
    # Names are separated by commas, or by blanks where there is no comma.
    listed: str = arguments.root_ops or ""
    for name in filter(None, map(str.strip, listed.split("," if "," in listed else " "))):
        kernel_keys.setdefault(name, set()).add(DEFAULT_KEY)
    if arguments.ops_dict:
        _add_json(kernel_keys, arguments.ops_dict, files)
    source: str | None = None
    if arguments.model_file_path:
        source = arguments.model_file_path
        for name, keys in operators_of(files.data(source), source, files).items():
            kernel_keys.setdefault(name, set()).update(keys)
    if arguments.ops_schema_yaml_path:
        source = arguments.ops_schema_yaml_path
        for name in _declared_names(source, files):
            kernel_keys.setdefault(name, set()).add(DEFAULT_KEY)
    path = arguments.output_path
    if os.path.isdir(path):
        path = os.path.join(path, "selected_operators.yaml")
    return Result({path: _selection_text(kernel_keys, source, arguments)})


def _selection_text(kernel_keys: Mapping[str, Iterable[str]], source: str | None, arguments: argparse.Namespace) -> str:
    """Text of the selection; its operators name their source, which is `None` if the command line lists them."""
    operators = {name: SelectedOperator(name, all_overloads=False, debug_info=(str(source),)) for name in kernel_keys}
    return write_selection(
        Selection(
            everything=bool(arguments.include_all_operators),
            operators=operators,
            edge_kernels={name: tuple(sorted(keys)) for name, keys in kernel_keys.items() if keys},
        )
    )


def _add_json(kernel_keys: dict[str, set[str]], text: str, files: Files) -> None:
    try:
        listed = loads(text)
    except ValueError as error:
        files.refuse(OPERATORS_UNREADABLE, f"--ops_dict is not JSON: {error}")
        return
    is_object = isinstance(listed, dict) and all(
        isinstance(keys, list) and all(isinstance(key, str) for key in keys) for keys in listed.values()
    )
    if not is_object:
        help = 'write {"aten::add.out": ["Float"]}, with an empty list for all dtypes'
        files.refuse(
            OPERATORS_UNREADABLE, "--ops_dict is not an object with a list of texts for each operator", help=help
        )
        return
    for name, keys in listed.items():
        kernel_keys.setdefault(name, set()).update(
            [kernel_key_of_dtype(key, files) for key in keys] if keys else [DEFAULT_KEY]
        )


def _declared_names(path: str, files: Files) -> list[str]:
    """Qualified names of the operators that a file declares."""
    entries = files.value(path, OPERATOR_ENTRIES, "a file of operators")
    assert isinstance(entries, list)
    names = []
    for entry in entries:
        if "op" in entry:
            names.append(entry["op"] if "::" in entry["op"] else f"aten::{entry['op']}")
        elif "func" in entry:
            names.append(files.operator_name(entry["func"], path))
        else:
            first = next(iter(entry), "")
            files.refuse(NOT_AN_ENTRY, "an entry has neither `op` nor `func`", path=path, name=first)
    return names


main = Program("executorch.gen_oplist", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
