"""The table of diagnostic codes: one row for each kind of fault, with the page that explains it.

A package that finds faults registers its rows where it defines its rules, so that a code, its title and its
explanation stand beside the rule. The table only collects them, and imports nothing.

The first two digits of a code name its subject, see `RANGES`. Warnings take the same ranges with a `W`.
"""

from __future__ import annotations

import re

from opwright.source.named_tuple import NamedTuple

__all__ = [
    "RANGES",
    "Code",
    "add_plugin_code",
    "all_codes",
    "find_code",
    "is_plugin_code",
    "register",
    "register_warning",
    "remove_plugin_code",
]

_RANGES = """\
00 files, usage and output
01 YAML
02 the schema language
03 one entry of `native_functions.yaml`
04 rules between entries, groups and tags
05 releases and inputs
06 templates and building
07 selection and flags
08 C shims
09 derivatives
10 Python bindings and deprecated signatures
11 operator libraries
12 building operator libraries
13 backend files
14 generated code of backends
15 coverage of backends
16 lazy tensors
17 static runtime and mobile upgraders
18 selections of operators
19 ExecuTorch
20 stub files of torch
21 comparisons of releases and inputs
22 checks beyond the reference
23 plug-ins
"""

#: The first two digits of codes -> what they are about.
RANGES = {line[:2]: line[3:] for line in _RANGES.splitlines()}

_CODE_FORM = re.compile(r"[EW][0-9]{4}")
#: Codes of plug-ins have a prefix of their own.
_PLUGIN_CODE_FORM = re.compile(r"[A-Z]{2,}[0-9]{4}")
_TABLE: dict[str, Code] = {}


class Code(NamedTuple):
    """One kind of fault: its code (`E0312`), a title in a few words, and a page of text that explains it.

    The page says what the fault means, why it matters, shows an example and the fix.
    """

    code: str
    title: str
    explanation: str

    @property
    def page(self) -> str:
        """The whole page: the code and title, then the explanation without the indentation of its source.

        >>> print(Code("E9900", "unknown colour", "    The colour is not in the table.").page)
        E9900: unknown colour
        <BLANKLINE>
        The colour is not in the table.
        """
        import textwrap  # Only a command that explains a code needs it.

        return f"{self.code}: {self.title}\n\n{textwrap.dedent(self.explanation).strip()}"


def register(row: Code) -> str:
    """Adds a row to the table and gives its code back, to be kept in a constant.

    Raises ValueError when the code is malformed, has no title or explanation, or is taken: each is a bug of ours.

    >>> UNKNOWN_COLOUR = register(Code("E9901", "unknown colour", "The colour is not in the table."))
    >>> UNKNOWN_COLOUR
    'E9901'
    """
    if not _CODE_FORM.fullmatch(row.code):
        raise ValueError(f"a diagnostic code is E or W and four digits, not {row.code!r}")
    if row.code[1:3] not in (*RANGES, "99"):
        raise ValueError(f"diagnostic code {row.code} is in no range")
    if not row.title.strip() or not row.explanation.strip():
        raise ValueError(f"diagnostic code {row.code} needs a title and an explanation")
    if row.code in _TABLE:
        raise ValueError(f"diagnostic code {row.code} is registered twice: {_TABLE[row.code].title!r}, {row.title!r}")
    _TABLE[row.code] = row
    return row.code


def is_plugin_code(code: str) -> bool:
    """Whether a text has the form of the codes of plug-ins: two or more upper-case letters, and four digits.

    >>> is_plugin_code("ACME0001"), is_plugin_code("E0312")
    (True, False)
    """
    return _PLUGIN_CODE_FORM.fullmatch(code) is not None


def add_plugin_code(row: Code) -> None:
    """Adds the code of a plug-in, which has the form of such codes, to the table."""
    _TABLE[row.code] = row


def remove_plugin_code(code: str) -> None:
    """Removes the code of a plug-in that is no longer active."""
    _TABLE.pop(code, None)


def register_warning(error: str) -> str:
    """Adds the code of a warning about what is an error, with that code, in runs that are not tolerant.

    >>> register_warning(register(Code("E9902", "unknown shade", "The shade is not in the table.")))
    'W9902'
    """
    row = _TABLE[error]
    sentence = f"PyTorch's generator lets this pass; elsewhere it is an error, {error}."
    return register(Code(f"W{error[1:]}", row.title, f"\n{sentence}\n\n{row.explanation.lstrip(chr(10))}"))


def find_code(code: str) -> Code | None:
    """The row of a code, written in any case, or None when no imported module registers it.

    >>> find_code("E0000") is None
    True
    """
    return _TABLE.get(code.strip().upper())


def all_codes() -> tuple[Code, ...]:
    """All rows that the modules imported so far have registered, ordered by code."""
    return tuple(_TABLE[code] for code in sorted(_TABLE))
