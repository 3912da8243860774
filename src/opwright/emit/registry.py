"""Table of families: every kind of files that Opwright makes, with all that programs need to know about it.

A family is one row. The choices of the command line and their help, the drop-in programs, the inputs that are read in
advance, the output folders, and the checks before writing follow from it. A new emitter is a module with
`emitters(job)`, entered in the row of its family; a new family is a new row.

The name of an emitter, which `opwright where` shows, is unique. It is made of lower-case words with underscores and
ends in what the emitter writes: `operators_source`, `functions_header`, `function_headers` for a header per operator.
"""

from __future__ import annotations

from importlib import import_module

from opwright.emit.family import PYTORCH_FILES, REGISTRATIONS, Check, Family, family_module
from opwright.guests import guest_rows

# Programs read the table before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final, TypeAlias

    from opwright.emit.emitter import AnyEmitter, EmitterSource, Job
    from opwright.emit.family import CheckFunction

    JobLoader: TypeAlias = Callable[..., Job]

_CHECK_KERNELS: Final = Check(".aten.kernel_checks:check_kernels")
_CHECK_REGISTERED: Final = Check(".aten.kernel_checks:check_registered")

#: Output folders in PyTorch's build.
_ATEN: Final = {"aten": "aten/src/ATen"}
_OPS: Final = {"ops": "aten/src/ATen/ops"}
_CORE: Final = {"core": "aten/src/ATen/core"}
_HEADER_ONLY: Final = {"headeronly": "torch/headeronly/core"}
_SHIMS: Final = {"aoti": "torch/csrc/inductor/aoti_torch/generated"}
_AUTOGRAD: Final = {"autograd": "torch/csrc/autograd/generated"}


_ROWS: Final = (
    Family(
        "headers",
        "ATen's C++ headers",
        emitters=(
            ".aten.operators",
            ".aten.functions",
            ".aten.registration_declarations",
            ".aten.names",
            ".aten.vmap",
            ".aten.native_headers",
            ".aten.meta_headers",
            ".aten.dispatch_key_headers",
            ".aten.native_aot",
        ),
        folders={**_ATEN, **_OPS, **_CORE, **_HEADER_ONLY},
        checks=(Check(".checks:check_headers_of_pytorch", when_tolerant=False), _CHECK_KERNELS),
        imports=(".aten.kernel_checks",),
        has_local_units=True,
        programs={"gen": "headers"},
        rule=PYTORCH_FILES,
    ),
    Family(
        "sources",
        "ATen's C++ sources, with the C shims",
        emitters=(
            ".aten.operators",
            ".aten.functions",
            ".aten.names",
            ".aten.schemas",
            ".aten.backend_select",
            ".aten.view_meta",
            ".aten.functionalization",
            ".aten.composite_kernels",
            ".aten.c_shim",
            ".aten.register.registration",
            ".aten.native_aot",
            ".aten.ufunc",
        ),
        folders={**_ATEN, **_CORE, **_SHIMS},
        dialects=("shim_tables",),
        inputs=(REGISTRATIONS,),
        checks=(_CHECK_KERNELS, _CHECK_REGISTERED),
        imports=(".aten.kernel_checks",),
        has_local_units=True,
        programs={"gen": "sources"},
        rule=PYTORCH_FILES,
    ),
    Family(
        "declarations_yaml",
        "Declarations.yaml",
        emitters=(".aten.declarations",),
        folders=_ATEN,
        has_local_units=True,
        programs={"gen": "declarations_yaml"},
        rule=PYTORCH_FILES,
    ),
    Family(
        "autograd",
        "autograd's C++ files",
        # The longest work stands first, so that processes which share the work end together.
        emitters=(
            ".autograd.variable_type",
            ".autograd.trace_type",
            ".autograd.functions",
            ".autograd.inplace_or_view",
            ".autograd.variable_factories",
            ".autograd.view_funcs",
        ),
        folders=_AUTOGRAD,
        dialects=("derivatives",),
        has_local_units=True,
        programs={"generate_code": "libtorch", "gen_autograd": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "python",
        "the C++ files of the Python bindings",
        emitters=(".python.files", ".autograd.python_functions", ".python.return_types"),
        folders=_AUTOGRAD,
        # One emitter alone shows derivatives: a process can load them while another makes the other files.
        deferred_dialects=("derivatives", "deprecated"),
        checks=(Check(".python.units:check_modules"), Check(".python.units:check_bindings", deferred=True)),
        also_generates=("annotated", "view_meta"),
        imports=(".python.units",),
        has_local_units=True,
        programs={"generate_code": "pybindings", "gen_autograd_python": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "annotated",
        "the annotated arguments that PyTorch's tests read",
        emitters=(".python.annotated_arguments",),
        folders={"testing": "torch/testing/_internal/generated"},
        has_local_units=True,
        programs={"generate_code": "python", "gen_annotated_fn_args": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "view_meta",
        "the Python binding of view metas",
        emitters=(".aten.view_meta",),
        folders={"functionalization": "torch/csrc/functionalization/generated"},
        has_local_units=True,
        programs={"generate_code": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "unboxing",
        "boxed functions, for builds without the dispatcher",
        emitters=(".aten.unboxing",),
        folders=_ATEN,
        checks=(Check(".aten.unboxing:check_selected"),),
        by_default=False,
        selects_as_aten=True,
        programs={"gen_unboxing": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "torch_stubs",
        "the stub files of torch itself, from a source tree",
        emitters=(".torch_stubs.files",),
        folders={"torch_stubs": ""},
        dialects=("deprecated", "docstrings", "stub_templates"),
        checks=(
            Check(".python.units:check_bindings"),
            Check(".torch_stubs.hints:check_written_hints"),
            Check(".torch_stubs.hints:check_result_classes"),
        ),
        imports=(".python.units",),
        by_default=False,
        programs={"gen_pyi": None},
        rule="torch_stub_files",
    ),
)

#: Name -> family: PyTorch's own, those of the guests, and those that plug-ins of a run add.
FAMILIES: Final[dict[str, Family]] = {
    family.name: family for rows in (_ROWS, *[rows.FAMILIES for rows in guest_rows("families")]) for family in rows
}

#: What a run makes unless it is asked for something else.
DEFAULT_FAMILIES: Final = tuple(family.name for family in _ROWS if family.by_default)


def chosen_families(only: Iterable[str] | None) -> tuple[str, ...]:
    """Families that a user asks for, with those generated with them; without a choice the default ones.

    >>> chosen_families(["python"])
    ('python', 'annotated', 'view_meta')
    """
    if not only:
        return tuple(name for name, family in FAMILIES.items() if family.by_default)
    wanted = {name for asked in only for name in (asked, *FAMILIES[asked].also_generates)}
    return tuple(name for name in FAMILIES if name in wanted)


def program_families(program: str, chosen: str | None = None) -> dict[str, str | None]:
    """Families that a program makes, each with what its flag calls the family.

    With `chosen`, only the family of that name for the flag, and those that the program always makes.

    >>> program_families("generate_code", "libtorch")
    {'autograd': 'libtorch', 'view_meta': None}
    """
    named = {name: family.programs[program] for name, family in FAMILIES.items() if program in family.programs}
    return {name: flag for name, flag in named.items() if chosen is None or flag in (chosen, None)}


def serves_libraries(families: Iterable[str]) -> bool:
    """Whether a run of these families is for operator libraries alone, without PyTorch's operators.

    A run for backends makes files for their own operators too.

    >>> serves_libraries(["headers"]), serves_libraries(["library"])
    (False, True)
    """
    rows = [FAMILIES[name] for name in families]
    return any(row.serves_libraries for row in rows) and not any(row.serves_backends for row in rows)


def file_options(name: str) -> tuple[str, ...]:
    """Options of which one must name a file that a family is made from; none for files of PyTorch's operators.

    >>> file_options("backend"), file_options("headers")
    (('backend',), ())
    """
    return _leading(name).file_options


def _leading(name: str) -> Family:
    """The family of a guest that a family is made with, itself if there is none: those of plug-ins serve the same."""
    family = FAMILIES[name]
    for serves in ("serves_backends", "serves_libraries"):
        if getattr(family, serves):
            return next(row for row in FAMILIES.values() if getattr(row, serves) and row.job_loader)
    return family


def job_loader(families: Iterable[str], *, has_backends: bool = False) -> JobLoader | None:
    """What loads the job of these families; None for that of PyTorch's operators alone.

    The job of a run that `has_backends`, or makes files for some, has what families for libraries are made from too.
    """
    rows = [_leading(name) for name in families]
    for_backends = [row for row in (FAMILIES.values() if has_backends else rows) if row.serves_backends]
    name = next((row.job_loader for row in for_backends or rows if row.job_loader), "")
    module, _, function = name.partition(":")
    return getattr(import_module(module), function) if module else None


def has_own_operators(families: Iterable[str]) -> bool:
    """Whether the operators of a run are those that files of the user name, and have none of PyTorch's files."""
    rows = [FAMILIES[name] for name in families]
    return any(row.job_loader and not row.serves_backends and not row.serves_libraries for row in rows)


def takes_all_operators(families: Iterable[str]) -> bool:
    """Whether a run of these families has all of PyTorch's operators in its catalog.

    >>> takes_all_operators(["headers"]), takes_all_operators(["executorch_headers"])
    (True, False)
    """
    return not serves_libraries(families) and not has_own_operators(families)


def has_local_units(families: Iterable[str]) -> bool:
    """Whether each unit of these families holds functions of one operation alone (see `Family`).

    >>> has_local_units(["headers", "python"]), has_local_units(["headers", "stubs"])
    (True, False)
    """
    return all(FAMILIES[name].has_local_units for name in families)


def families_with(folder: str) -> tuple[str, ...]:
    """Families that write to an output folder.

    >>> families_with("ops")
    ('headers',)
    """
    return tuple(name for name, family in FAMILIES.items() if folder in family.folders)


def build_folders(out: str, families: Iterable[str] | None = None) -> dict[str, str]:
    """Output folders of families (by default the usual ones) below `out`, laid out as PyTorch's build does.

    >>> build_folders("build")["ops"]
    'build/aten/src/ATen/ops'
    """
    places: dict[str, str] = {}
    for name in chosen_families(None) if families is None else families:
        places.update(FAMILIES[name].folders)
    return {name: f"{out}/{place}" if place else out for name, place in places.items()}


def dialects_of(families: Iterable[str], *, deferred: bool = True) -> frozenset[str]:
    """Names of the dialects that a run of these families loads besides those of every run.

    Unless `deferred`, without those that are deferred dialects of all families which load them.

    >>> sorted(dialects_of(["headers", "python"])), sorted(dialects_of(["headers", "python"], deferred=False))
    (['deprecated', 'derivatives'], [])
    """
    rows = [FAMILIES[name] for name in families]
    return frozenset(name for row in rows for name in row.dialects + (row.deferred_dialects if deferred else ()))


def family_inputs(families: Iterable[str]) -> frozenset[str]:
    """Inputs that these families read besides files of dialects and their templates."""
    return frozenset(name for family in families for name in FAMILIES[family].inputs)


def checks_of(families: Iterable[str], *, deferred: bool, tolerant: bool = False) -> list[CheckFunction]:
    """Checks of these families, each once."""
    checks = {
        check.function: check
        for name in families
        for check in FAMILIES[name].checks
        if check.deferred == deferred and (check.when_tolerant or not tolerant)
    }
    return [check.load() for check in checks.values()]


def import_modules(families: Iterable[str]) -> None:
    """Import what runs of these families use sooner or later.

    Few runs for backends have operators of their own, so their emitters are imported when they are needed.
    """
    names = list(families)
    has_backends = any(FAMILIES[name].serves_backends for name in names)
    for name in names:
        if has_backends and FAMILIES[name].serves_libraries:
            continue
        for module in (*FAMILIES[name].imports, *FAMILIES[name].emitters):
            if isinstance(module, str):
                family_module(module)


def emitters(job: Job, families: Iterable[str] = DEFAULT_FAMILIES) -> Iterator[AnyEmitter]:
    """Emitters of the given families, in the order of the table.

    Modules are imported when a family of theirs is asked for: a run that needs only headers starts faster.

    >>> from opwright.emit.emitter import Options
    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import parse_version
    >>> import opwright
    >>> job = opwright.Job(opwright.load(), Rules(parse_version("2.13.0")), Options())
    >>> [emitter.name for emitter in emitters(job, ["declarations_yaml"])]
    ['declarations_yaml']
    """
    for family in families:
        made_of = _leading(family).made_of
        if made_of and not getattr(job, made_of):
            continue
        for source in FAMILIES[family].emitters:
            make_emitters: EmitterSource = family_module(source).emitters if isinstance(source, str) else source
            yield from [emitter for emitter in make_emitters(job) if emitter.family == family]
