"""Reads what a process knows that imports modules: their operators, and which declared outputs their kernels prove."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from opwright.migrate.import_codes import MODULE_NOT_READ
from opwright.migrate.importing.programs import LIBRARY_SUFFIXES, MARK
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.limited import PROGRAM_SECONDS, TooSlow, run_limited
from opwright.source.child import python_command
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.terminal import slow
from opwright.syntax.python import is_module_name

_LAST_LINES: Final = 6
#: The place of what only a process says.
PROCESS: Final = SourcePlace("<process>", 0, 0)
_PROGRAMS: Final = "opwright.migrate.importing.programs"

_FORM_OF_ONE: Final = r"(?:like\(\w+\)|broadcast\(\w+(?:, \w+)+\)|\{size: \w+\.sizes\(\), dtype: \w+\.dtype\})"
#: How PyTorch prints the alias set that it makes for `Tensor!`.
_MADE_SET: Final = re.compile(r"\(\$\d+! -> \)")
#: What the program says of an operator.
_FORM: Final = re.compile(rf"{_FORM_OF_ONE}|\[{_FORM_OF_ONE}(?:, {_FORM_OF_ONE})*\]")

#: The namespace of an operator, its schema, tags, alias analysis, kernels, and what Python knows.
_Row: TypeAlias = "tuple[str, str, list[str], str, list[list[str]], list[str]]"
_Functions: TypeAlias = "list[tuple[str, str, list[str]]]"
_Registrations: TypeAlias = "tuple[list[_Row], dict[str, list[str]], dict[str, str], _Functions, list[str]]"


class LoadedOperator(NamedTuple):
    """What a process has of an operator: `kernels` are what they are, by key, and `places` where they are registered.

    A kernel is a `fallthrough`, or `boxed`, or empty. `in_python` is what `torch.library` has beside the dispatcher.
    """

    schema: str
    tags: frozenset[str]
    alias_analysis: str
    kernels: Mapping[str, str]
    places: Mapping[str, str]
    in_python: tuple[str, ...]


class LoadedLibrary(NamedTuple):
    """The operators that modules add to a process, and the others that they give kernels to, by key.

    `parsed` are schemas that others write, as PyTorch writes them. `scripted` are schemas of operators and methods that
    TorchScript alone has, and `signatures` what the texts of functions of modules say of arguments.
    """

    operators: Mapping[tuple[str, str], LoadedOperator]
    others: Mapping[str, Sequence[str]]
    parsed: Mapping[str, str]
    scripted: Sequence[str] = ()
    signatures: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({})

    @property
    def functions(self) -> Sequence[tuple[str, str]]:
        """The functions of modules that are no Python, each with the name of its module."""
        return [*self.signatures]


def loaded_library(modules: Sequence[str], schemas: Sequence[str] = ()) -> LoadedLibrary:
    """What modules, or libraries by their paths, register, as the dispatcher of a process of its own says.

    This runs the code of the modules. Raises Fault if they cannot be loaded.
    """
    answer = answer_of("registrations", schemas, modules)
    try:
        rows, others, parsed, functions, scripted = cast("_Registrations", answer)
        operators = dict(map(_loaded, rows))
        others = {str(key): [*map(str, names)] for key, names in others.items()}
        signatures = {(str(module), str(name)): [*map(str, texts)] for module, name, texts in functions}
        return LoadedLibrary(operators, others, parsed, [*map(str, scripted)], signatures)
    except (TypeError, ValueError, AttributeError):
        raise _not_an_answer(_importing(modules)) from None


def _loaded(row: _Row) -> tuple[tuple[str, str], LoadedOperator]:
    namespace, schema, tags, alias, kernels, in_python = row
    texts = [namespace, schema, alias, *tags, *in_python, *[text for kernel in kernels for text in kernel]]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    what = {key: kind for key, _, kind in kernels}
    places = {key: place for key, place, _ in kernels}
    name = schema.partition("(")[0]
    return (namespace, name), LoadedOperator(schema, frozenset(tags), alias, what, places, tuple(in_python))


def statements_of(loaded: LoadedLibrary) -> list[RegistrationStatement]:
    """The operators of a process as statements. The names of kernels are not known, so they stay by hand."""
    return [
        RegistrationStatement(
            namespace,
            name,
            PROCESS,
            _MADE_SET.sub("!", operator.schema),
            tuple(operator.kernels),
            by_hand=f"the kernels for {', '.join(operator.kernels)}" if operator.kernels else "",
            tags=tuple(sorted(operator.tags)),
            alias_analysis="" if operator.alias_analysis == "from_schema" else operator.alias_analysis,
        )
        for (namespace, name), operator in loaded.operators.items()
    ]


def proven_outputs(modules: Sequence[str], operators: Sequence[str]) -> dict[str, str]:
    """What `outputs` can say of operators, by their names, where kernels for Meta say the same of all samples.

    This runs the code of the modules, in a process of its own. Raises Fault if they cannot be imported.
    """
    answer = answer_of("outputs", operators, modules)
    forms = answer.items() if isinstance(answer, dict) else ()
    # The modules share the output of the process: only the forms that the program knows become YAML.
    return {name: form for name, form in forms if isinstance(form, str) and _FORM.fullmatch(form)}


def program_command(program: str, argument: object, modules: Sequence[str]) -> list[str]:
    """The words that run a program of `importing.programs`, as `-m` does, without the working folder.

    The folder of this package comes last, so that the modules are those that they would be without it.
    """
    home = str(Path(__file__).parents[3])
    run = f"import runpy\nrunpy.run_module({_PROGRAMS!r}, run_name='__main__', alter_sys=True)"
    text = f"import sys\nsys.path.append({home!r})\n{run}"
    return [*python_command(sys.executable, text), program, json.dumps(argument), *modules]


def is_module(name: str) -> bool:
    """Whether a name on the command line is that of a module or of a library to load, and of no source.

    >>> [is_module(name) for name in ("build/acme.so", "acme.no_such_folder", "csrc/ops.cpp", "a-b")]
    [True, True, False, False]
    """
    return name.endswith(LIBRARY_SUFFIXES) or (is_module_name(name) and not os.path.lexists(name))


def answer_of(program: str, argument: object, modules: Sequence[str], *, doing: str = "") -> object:
    """What a program of `importing.programs` answers, in a process of its own. Raises Fault if it fails.

    `doing` is what it does for messages, if this is more than to import the modules.
    """
    doing = doing or _importing(modules)
    try:
        done = run_program(program, argument, modules, doing)
    except TooSlow as fault:
        raise Fault.at(MODULE_NOT_READ, f"{doing} {fault}") from None
    marked = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not marked:
        raise Fault.at(MODULE_NOT_READ, f"{doing} failed: {last_words(done) or f'exit status {done.returncode}'}")
    try:
        answer: object = json.loads(marked[-1].removeprefix(MARK))
    except (ValueError, RecursionError):
        raise _not_an_answer(doing) from None
    return answer


def run_program(program: str, argument: object, modules: Sequence[str], doing: str) -> subprocess.CompletedProcess[str]:
    """Run a program of `importing.programs` to its end, however it ends. Raises TooSlow."""
    with slow(f"opwright: {doing}"):
        return run_limited(program_command(program, argument, modules), PROGRAM_SECONDS)


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """The last lines that a process says of an error, without the frames of C++ behind its text."""
    lines = [line for line in done.stderr.strip().splitlines() if not line.startswith(("frame #", "<omitting python"))]
    return " ".join(lines[-_LAST_LINES:])


def _importing(modules: Sequence[str]) -> str:
    return f"importing {', '.join(f'`{module}`' for module in modules)}"


def _not_an_answer(doing: str) -> Fault:
    return Fault.at(MODULE_NOT_READ, f"{doing} failed: something else printed the answer of the process")
