"""Reads what a process knows that imports modules: their operators, and which declared outputs their kernels prove."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

from opwright.migrate.importing.programs import MARK
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.source.child import python_command
from opwright.source.codes import MODULE_NOT_READ
from opwright.source.diagnostic import Fault
from opwright.source.limited import PROGRAM_SECONDS, TooSlow, run_limited
from opwright.source.terminal import slow

_LAST_LINES: Final = 6
_PROGRAMS: Final = "opwright.migrate.importing.programs"

_FORM_OF_ONE: Final = r"(?:like\(\w+\)|broadcast\(\w+(?:, \w+)+\)|\{size: \w+\.sizes\(\), dtype: \w+\.dtype\})"
#: What the program says of an operator.
_FORM: Final = re.compile(rf"{_FORM_OF_ONE}|\[{_FORM_OF_ONE}(?:, {_FORM_OF_ONE})*\]")

#: The namespace of an operator, its schema, keys and tags.
_Row: TypeAlias = "tuple[str, str, list[str], list[str]]"


def read_modules(modules: Sequence[str]) -> list[RegistrationStatement]:
    """What modules register for keys that `dispatch` names. The names of kernels are not known, so they stay by hand.

    This runs the code of the modules, in a process of its own. Raises Fault if they cannot be imported.
    """
    answer = answer_of("registrations", [key.name for key in LIBRARY_KEYS.values()], modules)
    try:
        return list(map(_registration, cast("list[_Row]", answer)))
    except (TypeError, ValueError, AttributeError):
        raise _not_an_answer(_importing(modules)) from None


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


def answer_of(program: str, argument: object, modules: Sequence[str], *, doing: str = "") -> object:
    """What a program of `importing.programs` answers, in a process of its own. Raises Fault if it fails.

    `doing` is what it does for messages, if this is more than to import the modules.
    """
    command = program_command(program, argument, modules)
    doing = doing or _importing(modules)
    try:
        with slow(f"opwright: {doing}"):
            done = run_limited(command, PROGRAM_SECONDS)
    except TooSlow as fault:
        raise Fault.at(MODULE_NOT_READ, f"{doing} {fault}") from None
    marked = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not marked:
        lines = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise Fault.at(MODULE_NOT_READ, f"{doing} failed: {lines or f'exit status {done.returncode}'}")
    try:
        answer: object = json.loads(marked[-1].removeprefix(MARK))
    except (ValueError, RecursionError):
        raise _not_an_answer(doing) from None
    return answer


def _importing(modules: Sequence[str]) -> str:
    return f"importing {', '.join(f'`{module}`' for module in modules)}"


def _not_an_answer(doing: str) -> Fault:
    return Fault.at(MODULE_NOT_READ, f"{doing} failed: something else printed the answer of the process")


def _registration(row: _Row) -> RegistrationStatement:
    namespace, schema, keys, tags = row
    if not all(isinstance(text, str) for text in (namespace, schema, *keys, *tags)):
        raise TypeError
    by_hand = f"the kernels for {', '.join(keys)}" if keys else ""
    name = schema.partition("(")[0]
    return RegistrationStatement(
        namespace, name, SourcePlace("<process>", 0, 0), schema, tuple(keys), by_hand=by_hand, tags=tuple(tags)
    )
