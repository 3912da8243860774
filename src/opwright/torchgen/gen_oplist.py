"""Merge selections, and write what a build with them includes; takes the flags of PyTorch's `gen_oplist.py`.

Writes selected_operators.yaml, selected_mobile_ops.h, and SupportedMobileModelsRegistration.cpp. What depends on
Python's hash seed there is sorted here."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from json import loads

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.mobile_codes import DEBUG_INFO_WRONG
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.merging import check_overloads, listed_paths, union_of
from opwright.mobile.selective.mobile_headers import mobile_header, model_registration
from opwright.mobile.selective.writer import write_selection
from opwright.model.selection import Selection
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(*spellings("output-dir"), metavar="DIR", help="the folder to write into", required=True)
    add(
        *spellings("model-file-list-path"),
        metavar="FILE",
        help="one selection, or `@FILE` for a file that lists selections",
        required=True,
    )
    add(
        *spellings("allow-include-all-overloads"),
        action="store_true",
        help="allow operators that stand for all their overloads",
    )


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    paths = listed_paths(arguments.model_file_list_path, files, in_folders=False)
    selections = [(path, files.selection(path)) for path in paths]
    digests = [digest for path, selection in selections for digest in _digests(selection, path, files)]
    if files.are_sound() and not arguments.allow_include_all_overloads:
        for path, selection in selections:
            check_overloads(selection, path, files)
    union = union_of([selection for _, selection in selections])
    texts = {
        "SupportedMobileModelsRegistration.cpp": model_registration(digests),
        "selected_operators.yaml": write_selection(union),
        "selected_mobile_ops.h": mobile_header(union),
    }
    return Result({os.path.join(arguments.output_dir, name): text for name, text in texts.items()})


def _digests(selection: Selection, path: str, files: Files) -> list[str]:
    """Digests of the models that a selection comes from, by the JSON of its `debug_info`."""
    if selection.debug_info is None:
        return []
    try:
        models = loads(selection.debug_info[0])
        if not models["is_new_style_rule"]:
            return []
        return [str(digest) for asset in models["asset_info"].values() for digest in asset["md5_hash"]]
    except (ValueError, LookupError, TypeError, AttributeError):
        first = next(iter(selection.debug_info), "")
        files.refuse(DEBUG_INFO_WRONG, "`debug_info` does not describe models", path=path, name=first)
        return []


main = Program("gen_oplist", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
