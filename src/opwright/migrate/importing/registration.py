"""What a source registers: schemas and kernels, each with its place."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.migrate.import_codes import NO_REGISTRATIONS
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile


class SourcePlace(NamedTuple):
    """Lines of a source, from 1 on, the last one included.

    `at` is the character at which the statement begins, where lines of Windows count as others do; -1 if no statement
    of the source alone stands for what is there.
    """

    path: str
    first: int
    last: int
    at: int = -1

    def __str__(self) -> str:
        return f"{self.path}:{self.first}"


class RegistrationStatement(NamedTuple):
    """A statement that registers an operator, a kernel, or both.

    `name` is the operator with its overload, without the namespace. `schema` is the text of the schema from the
    name on, empty for a statement that registers a kernel alone. `keys` are those of the kernel, and `kernel` is
    its C++ name from the global namespace on; it is empty for one without a name that generated code could use, of
    which `by_hand` has the text. A `policy` of autocast takes the place of a kernel. `parameters` are the types of the
    kernel, if its source was read. A statement that `is_bound` is of a module of pybind11, and registers no operator.
    All `conditions` of the preprocessor hold at the place. `notes` say what is uncertain. A kernel that `records`
    gradients applies the class of autograd of this name. `python_module` is what `set_python_module` says before a
    definition, and `registrar` the function of `torch.library` that defines the operator, if it registers more than
    the statement says. `alias_analysis` is that of a definition, empty for what its schema says. `names` are those of
    the kernel's parameters, and `checks` the conditions that it checks before anything else, with these names. A
    condition that is evaluated `at_run_time` decides whether it registers anything. One that `is_unread` stands for
    code that may register a kernel for the keys, and was not read. What a kernel `gives` is the result of this
    operator, which may record gradients; of a function of a module that `loses` gradients, calls show that results have
    none. A `refusal` says why no library file can have the statement.
    """

    namespace: str
    name: str
    place: SourcePlace
    schema: str = ""
    keys: tuple[str, ...] = ()
    kernel: str = ""
    by_hand: str = ""
    tags: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    is_stable: bool = False
    notes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    policy: str = ""
    is_bound: bool = False
    records: str = ""
    python_module: str = ""
    registrar: str = ""
    alias_analysis: str = ""
    names: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    at_run_time: bool = False
    is_unread: bool = False
    gives: str = ""
    loses: str = ""
    refusal: str = ""

    @property
    def operator(self) -> tuple[str, str]:
        """The namespace, and the name with the overload."""
        return self.namespace, self.name


def no_registrations(
    message: str, help: str, unread: Sequence[tuple[SourcePlace, str]], files: Sequence[SourceFile]
) -> Fault:
    """The fault of sources that register nothing (E2401), at the first place with something that was not read."""
    texts = {file.path: file for file in files}
    for place, reason in unread:
        file = texts.get(place.path)
        if file is not None and place.first:
            line = min(place.first, file.line_count)
            start = file.offset(line)
            span = file.span(start, start + len(file.line_text(line)))
            return Fault.at(NO_REGISTRATIONS, message, span, label=reason, help=help)
    return Fault.at(NO_REGISTRATIONS, message, help=help)
