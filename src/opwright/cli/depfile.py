"""What build systems read of a run: lists of its outputs for CMake, and rules with its inputs for Make and Ninja.

Each group of files that PyTorch's build compiles in its own way has a list in a file of its own: `NAME.cmake` for most,
`core_NAME.cmake` and `ops_NAME.cmake` for those in these folders, `cpu_vec_NAME.cmake` for kernels that are compiled
once per instruction set, and one for each kind of device that the build knows. Files with all shards at once are never
compiled, and files of other folders are not listed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from opwright.files.plain_files import real_path
from opwright.files.plan import Plan, PlannedFile, is_everything
from opwright.files.writer import Writer
from opwright.incremental.identity import input_files, own_files
from opwright.source.codes import NOT_A_FILE, UNWRITABLE_PATH
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from opwright.files.plain_files import Status
    from opwright.files.staging import Journal
    from opwright.incremental.identity import InputStamps

# The prefix of the list for each output folder that has its own list; files of `aten` are divided by name.
_FOLDER_PREFIXES: Mapping[str, str] = {"core": "core_", "ops": "ops_"}
_MAIN_FOLDER = "aten"
_VECTORIZED = re.compile(r"UfuncCPUKernel_\w+\.cpp")
_OF_DEVICE = r"(?:Register|Ufunc)?\w*?(?P<device>{})(?:_\w+\.(?:cpp|cu)|Functions(?:_inl)?\.h)"


def cmake_list(name: str, paths: Iterable[str]) -> str:
    """A CMake command that sets a variable to a list of paths, ordered part by part.

    >>> print(cmake_list("generated", ["out/ops/add.h", "out/Functions.h"]))
    set(
    generated
        "out/Functions.h"
        "out/ops/add.h"
    )
    """
    ordered = sorted(paths, key=lambda path: path.split("/"))
    return "\n".join(["set(", name, *[f"    {cmake_string(path)}" for path in ordered], ")"])


def dependency_lists(plan: Plan, devices: Sequence[str] = ()) -> dict[str, list[str]]:
    """Paths of each list by its prefix, below the folders as the user wrote them.

    Each of `devices` has a list, under the prefix `cuda_` for `CUDA`. A list is there even when it is empty. Files of
    a device that has no list go to the main one.
    """
    roots = {name: _list_root(path) for name, path in plan.folders.items()}
    lists: dict[str, list[str]] = {prefix: [] for prefix in ("", "cpu_vec_", "core_", "ops_")}
    lists.update({f"{device.lower()}_": [] for device in devices})
    of_device = re.compile(_OF_DEVICE.format("|".join(devices) or "(?!)"))
    for planned in plan.outputs:
        prefix = _prefix(planned, of_device)
        if prefix is not None:
            lists[prefix].append(roots[planned.folder] + planned.path)
    return lists


def compiled_outputs(plan: Plan) -> list[str]:
    """Paths of all files of a run that builds compile, below the folders as the user wrote them."""
    roots = {name: _list_root(path) for name, path in plan.folders.items()}
    return [roots[planned.folder] + planned.path for planned in plan.outputs if not is_everything(planned.path)]


def _list_root(path: str) -> str:
    """Start of the paths below a folder: `./a//b/` becomes `a/b/`, and a relative path stays relative."""
    root = PurePath(path).as_posix()
    return "" if root == "." else root if root.endswith("/") else f"{root}/"


def _prefix(planned: PlannedFile, of_device: re.Pattern[str]) -> str | None:
    """Prefix of the list that an output belongs to, or None."""
    if planned.folder in _FOLDER_PREFIXES:
        return _FOLDER_PREFIXES[planned.folder]
    if planned.folder != _MAIN_FOLDER or is_everything(planned.path):
        return None
    if _VECTORIZED.fullmatch(planned.path):
        return "cpu_vec_"
    device = of_device.fullmatch(planned.path)
    return f"{device['device'].lower()}_" if device else ""


def make_rule(targets: Iterable[str], inputs: Iterable[str]) -> bytes:
    """A rule that says what targets depend on, as Make and Ninja read it from a dependency file.

    Raises Fault for a path that Make and Ninja cannot both read (E0612).

    >>> print(make_rule(["out/add.h"], ["my entries.yaml", "add.h"]).decode(), end="")
    out/add.h: \\
      my\\ entries.yaml \\
      add.h
    """
    target_text = " ".join([_escape(path, _NO_TARGET) for path in targets])
    lines = [f"{target_text}:", *[f"  {_escape(path, _NO_INPUT)}" for path in inputs]]
    return os.fsencode(" \\\n".join(lines) + "\n")


# Text that Make and Ninja cannot both read, even escaped. `make` takes text after `%` or `;` for patterns and
# commands and expands `*` and `~`; `ninja` ends a path at most of these characters.
_NO_INPUT = re.compile(r"""[\x00-\x1f"&'*;<=>?^`|\x7f]|\\(?=[ #$:\\]|\Z)|[ :]\Z|\A~|\([^/]*\)\Z""")
_NO_TARGET = re.compile(rf"%|{_NO_INPUT.pattern}")
_ESCAPED = re.compile(r"[ #:]")


def _escape(path: str, refused: re.Pattern[str]) -> str:
    """A path as GCC writes it: a backslash before blanks, `#` and colons, and a doubled `$`."""
    drive, rest = os.path.splitdrive(path)
    rest = rest.replace(os.sep, "/")
    bad = refused.search(rest)
    if bad is not None:
        what = f"`{bad[0]}`" if bad[0].isprintable() else repr(bad[0])
        raise Fault.at(
            UNWRITABLE_PATH,
            f"a dependency file cannot name `{ascii(path)[1:-1]}`: Make and Ninja do not both read {what}",
            help="rename the file or its folder; with `--stamp` only the stamp and the inputs are named",
        )
    return drive + _ESCAPED.sub(r"\\\g<0>", rest).replace("$", "$$")


def write_dependency_lists(
    path: str | os.PathLike[str], plan: Plan, devices: Sequence[str] = (), journal: Journal | None = None
) -> dict[str, Status]:
    """Write each list beside `path`, with its prefix before the name of the file and of the variable.

    Gives the status of each list, by its path, as the writer does. The journal gets the staging folder.
    Raises Fault if a list cannot be written (E0605 to E0608).
    """
    with Writer(journal) as writer:
        for prefix, paths in dependency_lists(plan, devices).items():
            target, name = _list_path(path, prefix)
            writer.write(target, os.fsencode(cmake_list(name, paths)))
    return writer.statuses


def list_paths(path: str | os.PathLike[str], devices: Sequence[str] = ()) -> list[str]:
    """Path of each list that `write_dependency_lists` writes."""
    return [_list_path(path, prefix)[0] for prefix in dependency_lists(Plan({}), devices)]


def _list_path(path: str | os.PathLike[str], prefix: str) -> tuple[str, str]:
    """Path of the list with a prefix, and the name of its variable."""
    folder, name = os.path.split(real_path(os.fspath(path)))
    if not name or os.path.isdir(path):
        raise Fault.at(NOT_A_FILE, f"`{os.fspath(path)}` is a folder: dependency lists need the name of a file")
    return f"{folder}/{prefix}{name}", f"{prefix}{PurePath(name).stem}"


def cmake_string(text: str) -> str:
    """Quoted argument of CMake with this text, in which nothing is a variable.

    >>> print(cmake_string('out/${HOME}'))
    "out/\\${HOME}"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def dependencies(stamps: InputStamps | None) -> list[str]:
    """Paths on this machine that the outputs of a run depend on: its files and folders, and the own files.

    Dependency files, the list for CMake and the keys of what `inline` keeps are made from it; the inputs of actions are
    the files of it, without the own ones, which belong to the tool.
    """
    folders = [] if stamps is None else [path for path, names in stamps.folders.items() if names is not None]
    return [*input_files(stamps), *folders, *sorted(own_files())]
