"""What a diagnostic code means: its subject, the pages in `opwright/source/diagnostics`, and the codes of plug-ins.

Only commands that explain codes read the pages.
"""

from __future__ import annotations

import os
import re
from functools import cache
from textwrap import dedent
from typing import Final

from opwright.source import records
from opwright.source.records import NamedTuple

#: The first two digits of codes -> what they are about.
RANGES: Final = {
    line[:2]: line[3:]
    for line in """\
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
24 imports of libraries that exist
""".splitlines()
}

_FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(records.__file__)), "diagnostics")
#: Codes of plug-ins have a prefix of their own.
_PLUGIN_CODE_FORM: Final = re.compile(r"[A-Z]{2,}[0-9]{4}")
#: A page that ends with a link to another one goes on with the text of that one.
_LINK: Final = re.compile(r"\[([EW][0-9]{4})\]\(\1\.md\)\n\Z")
#: The codes of the active plug-ins.
PLUGIN_CODES: Final[dict[str, Code]] = {}


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

        >>> print(Code("ACME0001", "unknown colour", "    The colour is not in the table.").page)
        ACME0001: unknown colour
        <BLANKLINE>
        The colour is not in the table.
        """
        return f"{self.code}: {self.title}\n\n{dedent(self.explanation).strip(chr(10))}"


def is_plugin_code(code: str) -> bool:
    """Whether a text has the form of the codes of plug-ins: two or more upper-case letters, and four digits.

    >>> is_plugin_code("ACME0001"), is_plugin_code("E0312")
    (True, False)
    """
    return _PLUGIN_CODE_FORM.fullmatch(code) is not None


@cache
def _own_names() -> frozenset[str]:
    return frozenset(name.removesuffix(".md") for name in os.listdir(_FOLDER))


def code_names() -> tuple[str, ...]:
    """All codes, sorted: Opwright's own, and those of the active plug-ins."""
    return tuple(sorted([*_own_names(), *PLUGIN_CODES]))


def find_code(code: str) -> Code | None:
    """A code, written in any case, with its page; None when there is no such code.

    >>> find_code("e0001").title, find_code("E0000")
    ('the file does not exist', None)
    """
    code = code.strip().upper()
    return _own_code(code) if code in _own_names() else PLUGIN_CODES.get(code)


def all_codes() -> tuple[Code, ...]:
    """All codes with their pages, ordered by code."""
    return tuple([PLUGIN_CODES.get(name) or _own_code(name) for name in code_names()])


def _own_code(code: str) -> Code:
    with open(os.path.join(_FOLDER, f"{code}.md"), encoding="utf-8") as file:
        heading, _, text = file.read().partition("\n\n")
    link = _LINK.search(text)
    if link is not None:
        text = text[: link.start()] + _own_code(link[1]).explanation
    return Code(code, heading.partition(": ")[2], text)
