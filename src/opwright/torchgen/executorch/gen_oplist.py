"""Write the selection of a model's operators.

Takes the flags of `python -m executorch.codegen.tools.gen_oplist`, and writes the same bytes. The operators come from a
model file, from a file such as functions.yaml, and from the command line; without any of them nothing is selected."""

from __future__ import annotations

import os

from opwright.cli.plain_words import switch, text
from opwright.cli.streams import leave
from opwright.dialects.selection.quick import write_selection
from opwright.model.selection import SelectedOperator, Selection
from opwright.selective.edge_texts import DEFAULT_KEY, kernel_key_of_dtype
from opwright.source.codes import NOT_AN_ENTRY, OPERATORS_UNREADABLE
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text("--output_path", metavar="PATH", help="the file to write, or its folder", is_required=True),
    text("--model_file_path", metavar="FILE", help="an ExecuTorch program (.pte), which lists its operators"),
    text("--ops_schema_yaml_path", metavar="FILE", help="the operators of a functions.yaml or custom_ops.yaml"),
    text("--root_ops", metavar="NAMES", help="names of operators, with commas or blanks between them"),
    text("--ops_dict", metavar="JSON", help="a JSON object: a list of dtypes or kernel keys for each operator"),
    switch("include-all-operators", help="keep all operators: the build is not selective"),
)


def _work(values: Values, files: Files) -> Result:
    kernel_keys: dict[str, set[str]] = {}
    for name in _root_names(str(values["root_ops"] or "")):
        kernel_keys.setdefault(name, set()).add(DEFAULT_KEY)
    if values["ops_dict"]:
        _add_json(kernel_keys, str(values["ops_dict"]), files)
    source: str | None = None
    if values["model_file_path"]:
        source = str(values["model_file_path"])
        _add_model(kernel_keys, source, files)
    if values["ops_schema_yaml_path"]:
        source = str(values["ops_schema_yaml_path"])
        for name in _declared_names(source, files):
            kernel_keys.setdefault(name, set()).add(DEFAULT_KEY)
    return Result({_output_path(str(values["output_path"])): _selection_text(kernel_keys, source, values)})


def _output_path(path: str) -> str:
    return os.path.join(path, "selected_operators.yaml") if os.path.isdir(path) else path


def _selection_text(kernel_keys: Mapping[str, Iterable[str]], source: str | None, values: Values) -> str:
    """The text of the selection; its operators name their source, which is `None` if the command line lists them."""
    operators = {name: SelectedOperator(name, all_overloads=False, debug_info=(str(source),)) for name in kernel_keys}
    return write_selection(
        Selection(
            everything=bool(values["include_all_operators"]),
            operators=operators,
            edge_kernels={name: tuple(sorted(keys)) for name, keys in kernel_keys.items() if keys},
        )
    )


def _root_names(listed: str) -> list[str]:
    """The names of a list: separated by commas, or by blanks where there is no comma."""
    return [name.strip() for name in listed.split("," if "," in listed else " ") if name.strip()]


def _add_json(kernel_keys: dict[str, set[str]], text: str, files: Files) -> None:
    from json import loads

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


def _add_model(kernel_keys: dict[str, set[str]], path: str, files: Files) -> None:
    from opwright.selective.program_file import operators_of

    for name, keys in operators_of(files.data(path), path, files).items():
        kernel_keys.setdefault(name, set()).update(keys)


def _declared_names(path: str, files: Files) -> list[str]:
    """The qualified names of the operators that a file declares."""
    from opwright.torchgen.executorch.document_shapes import OPERATOR_ENTRIES

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.gen_oplist", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
