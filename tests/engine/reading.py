"""Runs a program, and prints which files it opened to read, and which of them its state does not know, as JSON.

Python's audit hooks report every file that a process opens. Modules of installed packages belong to the tool.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

OPENED: set[str] = set()
_WRITING = os.O_WRONLY | os.O_RDWR


def note(event: str, arguments: tuple[object, ...]) -> None:
    """Note a file that is opened to be read."""
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        flags = arguments[2]
        if not (isinstance(flags, int) and flags & _WRITING):
            OPENED.add(os.path.abspath(os.fsdecode(arguments[0])))


def stamped(tops: list[str]) -> set[str]:
    """Files whose stamps the states below some folders have."""
    from opwright.incremental.state import manifest_paths, read_manifest

    names: set[str] = set()
    for folder in (folder for top in tops for folder, _, _ in os.walk(top)):
        for path in manifest_paths(folder):
            names.update(read_manifest(path)[0]["files"])
    return names


def main() -> None:
    """Run the program of a module whose outputs and state are below some folders."""
    module, tops, *words = sys.argv[1:]
    program = import_module(module).main
    sys.addaudithook(note)
    status = program(words)
    below = [os.path.abspath(top) for top in tops.split(os.pathsep)]
    import opwright

    python = [sysconfig.get_path("stdlib"), str(Path(opwright.__file__).parent), "/proc", "/dev", "/sys", "/etc"]
    modules = {os.path.abspath(str(getattr(each, "__file__", ""))) for each in list(sys.modules.values())}
    known = stamped(below)
    unknown = [
        path
        for path in sorted(OPENED - known - modules)
        if not path.startswith(tuple(f"{top}{os.sep}" for top in (*below, *python)))
        and not path.endswith(".pyc")
        and os.path.exists(path)
    ]
    tables = [path for path in unknown if ".dist-info" in path]
    print(json.dumps([status, sorted(OPENED & known), [path for path in unknown if path not in tables]]))


if __name__ == "__main__":
    main()
