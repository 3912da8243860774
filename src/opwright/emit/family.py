"""Family of files: what a user can ask for by name, with all that programs need to know about it."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from opwright.source.records import frozen_fields

# Programs read the table before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import KW_ONLY
    from types import ModuleType
    from typing import Final, TypeAlias

    from opwright.emit.emitter import EmitterSource, Job
    from opwright.source.diagnostic import Diagnostics

    CheckFunction: TypeAlias = Callable[[Job, Diagnostics], None]

#: The template of what `Register{Key}.cpp` has of each unit.
REGISTRATIONS: Final = "templates/RegisterDispatchDefinitions.ini"

#: The stubs that PyTorch brings itself, by their paths in its package.
OWN_STUBS: Final = "torch/*.pyi"


#: The behaviour of the releases whose own files Opwright makes.
PYTORCH_FILES: Final = "pytorch_files"


def family_module(name: str) -> ModuleType:
    """Module that a row of a family names: below `opwright.emit` if the name begins with a dot."""
    return import_module(name, "opwright.emit")


@frozen_fields
class Check:
    """A check of a whole job, which reports what keeps the emitters of a family from making their files.

    `function` is a function that takes the job and a sink, or the name of one as `module:name`. With
    `when_tolerant` false, runs that let pass what PyTorch's generator lets pass leave it out. A `deferred`
    check needs the deferred dialects of its family, and is made when these are loaded.
    """

    function: str | CheckFunction
    _: KW_ONLY
    when_tolerant: bool = True
    deferred: bool = False

    def load(self) -> CheckFunction:
        """Function itself."""
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        check: CheckFunction = getattr(family_module(module), name)
        return check


@frozen_fields
class Family:
    """A family of files: what a user can ask for by name.

    `emitters` are the modules that make the files, or functions from a job to emitters, and `imports` those that
    loading and checking for them need; a name that begins with a dot is below `opwright.emit`. `dialects` are those
    that it loads besides the dialects of every run; few of its emitters need the `deferred_dialects`, so a process
    which makes other files need not load them. `inputs` are those that it reads besides files of dialects and its
    templates. `folders` are the output folders it writes to, with the place of each below the folder of a build.
    `also_generates` are made too when a user asks for this family. A run without a choice makes those that are
    `by_default`. Where one `selects_as_aten`, a selection may name operators as if all were in the namespace
    `aten`. One that `serves_libraries` makes files for operator libraries; its runs do not load PyTorch's operators
    unless another family `serves_backends`. The `job_loader`, named as `module:name`, loads the job of families
    that have more or other operators than those of PyTorch's files, from what `load_job` takes; families that serve
    the same have the same one. `file_options` are the options of which one must name a file that such a family is
    made from, and `made_of` is the field of the job without which it makes nothing. Where one `has_local_units`,
    each unit of its emitters holds functions of one operation alone, and file slots have of all operators only what
    each operation adds to them, such as an `#include`, so that a run after an edit need not load the other
    operations. `programs` has the programs besides `opwright generate` that make it, each with what its flag calls
    the family; None where the program always makes it. `rule` is the behaviour of releases for which Opwright makes
    the family; without one it does so for all. `plugin` is the plug-in that adds the family; empty for Opwright's
    own.
    """

    name: str
    help: str
    _: KW_ONLY
    emitters: Sequence[str | EmitterSource]
    folders: Mapping[str, str]
    imports: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    deferred_dialects: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    also_generates: tuple[str, ...] = ()
    by_default: bool = True
    selects_as_aten: bool = False
    serves_libraries: bool = False
    serves_backends: bool = False
    job_loader: str = ""
    file_options: tuple[str, ...] = ()
    made_of: str = ""
    has_local_units: bool = False
    programs: Mapping[str, str | None] = MappingProxyType({})
    rule: str = ""
    plugin: str = ""
