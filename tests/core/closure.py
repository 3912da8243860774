"""What the drop-in programs and the Python interface need: the modules that they import, and the data beside these.

An import counts wherever it stands, also in a function; but for types alone it does not, nor where the program goes on
without what it imports (`except ModuleNotFoundError`). A string that is the name of a
module counts as an import of it. Two tables, with the rows of guests in both, name modules by their own words: that of
the families, where the rows of the families that a program makes count, and that of the dialects that these load.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from opwright.dialects.table import chosen_dialects
from opwright.emit.family import Family
from opwright.emit.registry import FAMILIES, program_families
from opwright.guests import GUESTS, guest_rows
from opwright.torchgen.forwarding import offered_modules

SOURCE: Final = Path(__file__).resolve().parents[2] / "src"

#: The programs of PyTorch's build and tree, by their names below `opwright.torchgen`.
PROGRAMS: Final = (
    "gen",
    "gen_annotated_fn_args",
    "gen_autograd",
    "gen_autograd_python",
    "gen_backend_stubs",
    "gen_lazy_tensor",
    "gen_mobile_upgraders",
    "gen_op_registration_allowlist",
    "gen_operators_yaml",
    "gen_oplist",
    "gen_pyi",
    "gen_selected_mobile_ops_header",
    "gen_static_runtime_ops",
    "gen_unboxing",
    "generate_code",
)
#: Families that a program makes for a flag of its own.
_FURTHER_FAMILIES: Final = {"generate_code": ("lazy",)}
#: Dialects of files that programs read besides the inputs of a release.
_FURTHER_DIALECTS: Final = ("selection", "upgraders")

_PACKAGE: Final = "opwright"
_CLASSES: Final = "opwright.torchgen.interface."
#: A module of PyTorch's generator that is one of its inputs, and stays.
_SHIM_TABLES: Final = "torchgen.aoti.fallback_ops"
#: Data that tools alone read.
_DATA_OF_TOOLS: Final = "hand_registrations-"
#: The tables whose words are read by rows.
_TABLES: Final = frozenset(
    (
        *("opwright.dialects.table", "opwright.emit.registry", "opwright.guests"),
        *[f"{guest}.{module}" for guest in GUESTS for module in ("rows", "families")],
    )
)


@cache
def module_paths() -> dict[str, Path]:
    """The files of all modules of Opwright, by dotted name."""
    paths = {}
    for path in sorted((SOURCE / _PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


class Closure:
    """The modules that programs need, each with the one that imports it first, and the other packages they import.

    Without names of programs these are all, and the interface for importers.
    """

    def __init__(self, programs: Iterable[str] = ()) -> None:
        chosen = tuple(programs)
        self.programs: Final = chosen or PROGRAMS
        #: Modules of the interface, by the names that importers use, and whether each is a package.
        self.interface: Final = {} if chosen else _interface()
        self.importers: Final[dict[str, str]] = {}
        self.other_packages: Final[dict[str, set[str]]] = {}
        waiting = [(name, "") for name in _roots(self.programs)]
        if self.interface:
            waiting += [(f"{_PACKAGE}.{name}", "") for name in self.interface]
            # Programs that importers use as modules look up names there.
            waiting += [(name, "") for name in module_paths() if name.startswith(_CLASSES) and "executorch" not in name]
            waiting += [(f"{_PACKAGE}.torchgen.forwarding", "")]
        while waiting:
            name, importer = waiting.pop()
            if name in self.importers:
                continue
            self.importers[name] = importer
            for target in _imported(name):
                if target.partition(".")[0] == _PACKAGE:
                    waiting += [(own, name) for own in _with_parents(target) if own in module_paths()]
                else:
                    self.other_packages.setdefault(target.partition(".")[0], set()).add(name)

    def files(self) -> list[Path]:
        """The files of the modules, and the data in folders of their packages, which have no modules."""
        found = {module_paths()[name] for name in self.importers}
        packages = {path.parent for path in found if path.name == "__init__.py"}
        for path in (SOURCE / _PACKAGE).rglob("*"):
            folder = path.parent
            if path.is_file() and path.suffix != ".pyc" and _is_data(folder) and folder.parent in packages:
                found.add(path)
        found = {path for path in found if not path.name.startswith(_DATA_OF_TOOLS)}
        return sorted(found)

    def way_to(self, name: str) -> list[str]:
        """The modules from a program to a module, each of which imports the next."""
        way = [name]
        while self.importers[way[-1]]:
            way.append(self.importers[way[-1]])
        return way[::-1]


def _interface() -> dict[str, bool]:
    """Modules that importers of PyTorch's generator name, other than ExecuTorch's, which left PyTorch."""
    return {
        name: is_package
        for name, is_package in offered_modules().items()
        if "executorch" not in name and name != _SHIM_TABLES
    }


def _is_data(folder: Path) -> bool:
    """Whether a folder holds data alone, beside the modules of the package that it stands in."""
    return folder.name in ("data", "templates")


def _roots(programs: Iterable[str]) -> Iterator[str]:
    """The modules of programs, and those that the tables name for what they make."""
    families: list[Family] = []
    for program in programs:
        yield f"{_PACKAGE}.torchgen.{program}"
        names = [*program_families(program), *_FURTHER_FAMILIES.get(program, ())]
        families += [FAMILIES[name] for name in names]
    for family in families:
        # What plug-ins add are functions, and no plug-in is active here.
        modules = [*family.imports, *family.emitters]
        # Programs in the reference's place are tolerant.
        modules += [str(check.function) for check in family.checks if check.when_tolerant]
        modules += [family.job_loader] if family.job_loader else []
        for module in [str(name).partition(":")[0] for name in modules]:
            yield f"{_PACKAGE}.emit{module}" if module.startswith(".") else module
    loaded = {name for family in families for name in family.dialects + family.deferred_dialects}
    dialects = chosen_dialects([*loaded, *_FURTHER_DIALECTS])
    for rows, kinds in zip(guest_rows(), guest_rows("families"), strict=True):
        if {*kinds.FAMILIES, *rows.DIALECTS}.intersection((*families, *dialects)):
            yield from (rows.__name__, kinds.__name__)
    for dialect in dialects:
        loader = f"{dialect.package_name}.loader"
        yield loader if loader in module_paths() else dialect.package_name


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


@cache
def _imported(name: str) -> tuple[str, ...]:
    """The names of everything that a module imports when it runs."""
    tree = ast.parse(module_paths()[name].read_text(encoding="utf-8"))
    return tuple(imports_of(tree, name))


def imports_of(tree: ast.Module, name: str) -> Iterator[str]:
    """The names of what the module of that name imports, given its syntax tree; also of names in what it imports."""
    for statement in tree.body:
        # What a module gives to those who ask for it is found by their own imports.
        if not _offers_names(statement):
            yield from _imports_in(statement, name)


def _imports_in(node: ast.AST, name: str) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from [alias.name for alias in node.names]
        case ast.ImportFrom():
            assert node.module, "imports are absolute"
            yield node.module
            yield from [f"{node.module}.{alias.name}" for alias in node.names]
        case ast.Constant(value=str() as text) if name not in _TABLES:
            module = text.partition(":")[0]
            if module.startswith(f"{_PACKAGE}.") and module in module_paths():
                yield module
        case ast.Try() if any(map(_goes_on_without, node.handlers)):
            # What stands in for the module need not be there either.
            for statement in (*node.orelse, *node.finalbody):
                yield from _imports_in(statement, name)
        case ast.Compare():
            pass  # It names a module to tell which one is missing.
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            for statement in node.orelse:
                yield from _imports_in(statement, name)
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _imports_in(part, name)


def _offers_names(node: ast.AST) -> bool:
    """Whether a statement of a module declares its `__getattr__`."""
    if isinstance(node, ast.If):
        return any(map(_offers_names, node.body))
    return isinstance(node, ast.FunctionDef) and node.name == "__getattr__"


def _goes_on_without(handler: ast.ExceptHandler) -> bool:
    """Whether a program goes on if a module is not there."""
    return isinstance(handler.type, ast.Name) and handler.type.id == "ModuleNotFoundError"
