"""Names of `torchgen.operator_versions.gen_mobile_upgraders`; as a program, it is `gen_mobile_upgraders`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from opwright.cli.streams import leave
from opwright.files.writer import write_file
from opwright.mobile.upgraders.emitter import FILE_NAME, upgrader_source
from opwright.mobile.upgraders.loader import load_upgraders
from opwright.mobile.upgraders.torch_bytecode import bytecode_of_torch, bytecode_text
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.torchgen.gen_mobile_upgraders import main
from opwright.torchgen.interface.faults import Invalid, stop_at_errors

__all__ = ["main", "sort_upgrader", "write_cpp"]

#: A dictionary with the bytecode of one upgrader by its name.
Bytecode = dict[str, Any]


def sort_upgrader(upgrader_list: list[Bytecode]) -> list[Bytecode]:
    """Upgraders in the order of their names.

    >>> sort_upgrader([{"div_0_3": {}}, {"add_0_3": {}}])
    [{'add_0_3': {}}, {'div_0_3': {}}]
    """
    return sorted(upgrader_list, key=lambda bytecode: next(iter(bytecode)))


def write_cpp(cpp_path: str, upgrader_dict: list[Bytecode]) -> None:
    """Write `upgrader_mobile.cpp` into a folder, with the versions of operators that the installed PyTorch has.

    Raises AssertionError with all mistakes, and if no PyTorch is installed.
    """
    sink = Diagnostics()
    try:
        tables = json.loads(bytecode_of_torch(sys.executable).text)
        tables["upgraders"] = {name: code for bytecode in upgrader_dict for name, code in bytecode.items()}
        loaded = load_upgraders(SourceFile("<bytecode>", bytecode_text(tables)), sink)
        stop_at_errors(sink)
        write_file(os.path.join(cpp_path, FILE_NAME), upgrader_source(loaded).encode())
    except Fault as fault:
        raise Invalid(str(fault)) from None


if __name__ == "__main__":
    leave(main)
