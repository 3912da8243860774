"""Merge selections, and write what a build with them includes; takes the flags of PyTorch's `gen_oplist.py`.

Writes selected_operators.yaml, selected_mobile_ops.h, and SupportedMobileModelsRegistration.cpp. What depends on
Python's hash seed there is sorted here."""

from __future__ import annotations

import os

from opwright.cli.plain_words import switch, text
from opwright.cli.streams import leave
from opwright.dialects.selection.quick import write_selection
from opwright.selective.merging import check_overloads, listed_paths, union_of
from opwright.selective.mobile_headers import mobile_header, model_registration
from opwright.source.codes import DEBUG_INFO_WRONG
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.model.selection import Selection
    from opwright.selective.files import Files

_OPTIONS = (
    text("output-dir", metavar="DIR", help="the folder to write into", is_required=True),
    text(
        "model-file-list-path",
        metavar="FILE",
        help="one selection, or `@FILE` for a file that lists selections",
        is_required=True,
    ),
    switch("allow-include-all-overloads", help="allow operators that stand for all their overloads"),
)


def _work(values: Values, files: Files) -> Result:
    paths = listed_paths(str(values["model_file_list_path"]), files, in_folders=False)
    selections = [(path, files.selection(path)) for path in paths]
    digests = [digest for path, selection in selections for digest in _digests(selection, path, files)]
    if files.are_sound() and not values["allow_include_all_overloads"]:
        for path, selection in selections:
            check_overloads(selection, path, files)
    union = union_of([selection for _, selection in selections])
    texts = {
        "SupportedMobileModelsRegistration.cpp": model_registration(digests),
        "selected_operators.yaml": write_selection(union),
        "selected_mobile_ops.h": mobile_header(union),
    }
    return Result({os.path.join(str(values["output_dir"]), name): text for name, text in texts.items()})


def _digests(selection: Selection, path: str, files: Files) -> list[str]:
    """The digests of the models that a selection comes from, by the JSON of its `debug_info`."""
    if selection.debug_info is None:
        return []
    from json import loads

    try:
        models = loads(selection.debug_info[0])
        if not models["is_new_style_rule"]:
            return []
        return [str(digest) for asset in models["asset_info"].values() for digest in asset["md5_hash"]]
    except (ValueError, LookupError, TypeError, AttributeError):
        first = next(iter(selection.debug_info), "")
        files.refuse(DEBUG_INFO_WRONG, "`debug_info` does not describe models", path=path, name=first)
        return []


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("gen_oplist", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
