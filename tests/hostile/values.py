"""Hostile values: texts that end a string, a comment, a line or a name in some language of the outputs.

Each has the mark where code would begin, and few other letters: an output has the mark in strings and comments alone.
"""

from __future__ import annotations

from random import Random
from typing import Final

#: What tells the text of a hostile value from all other text, in any case of letters.
MARK: Final = "zqx9"

_CODE: Final = f"static int {MARK} = 1;"

#: What ends something in C++, Python, YAML, CMake, Starlark, Meson, Ninja, TOML or a shell.
_ENDS: Final = (
    "\n",
    "\r",
    "\r\n",
    "\v",
    "\f",
    "\0",
    "\x1b",
    "\x85",
    "\u2028",
    "\u2029",
    "\u202e",
    "\ufeff",
    '"',
    "'",
    '"""',
    "'''",
    '""',
    '\\"',
    "\\'",
    "\\",
    "\\\\",
    "\\\n",
    "\\n",
    "\\u000a",
    "\\x22",
    "??/\n",
    '??/"',
    "??'",
    "*/",
    "/*",
    "//",
    "#",
    "#}",
    "<!--",
    ">",
    ">\n",
    '">\n',
    "<",
    ")",
    ");",
    ')"',
    ')";',
    ')__"',
    'R"(',
    "]]",
    "]=]",
    "}",
    "};",
    "} // ",
    "{",
    "{}",
    "{0}",
    "{name}",
    "{call}",
    "{{",
    "%",
    "%s",
    "%(x)s",
    "%}",
    "$",
    "$$",
    "$x",
    "${x}",
    "$(x)",
    "@x@",
    "`",
    "`x`",
    ";",
    ":",
    "::",
    ": ",
    ",",
    "|",
    "||",
    "&&",
    "=",
    "->",
    " ",
    "\t",
    "...",
    "../",
    "/",
    "~",
    "é",
    "\U0001f600",
    "&a",
    "*a",
    "!!python/object:x ",
)

#: Texts without a mark before the end: what begins there hides the text after it.
_LAST: Final = (f"{MARK}\\", f'{MARK}"', f"{MARK}'", f'{MARK}"""', f"{MARK}/*", f"{MARK}//", f"{MARK}??/", f"{MARK}$")

#: Texts that are whole statements of some language.
_WHOLE: Final = (
    f"a.h>\n{_CODE}\n#include <b.h",
    f'a.h"\n{_CODE}\n#include "b.h',
    f"a.h\n#define {MARK} 1",
    f'"; {_CODE} //',
    f'"); {_CODE} ("',
    f"*/ {_CODE} /*",
    f')"; {_CODE} R"(',
    f"x() {{}} {_CODE}",
    f"x {{}} {_CODE} namespace y",
    f"x; {_CODE}",
    f"x, int {MARK}",
    f"x({MARK})",
    f"x<{MARK}>",
    f"x::{MARK}()",
    f"x\\\n{_CODE}",
    f"x #{MARK}",
    f"x\n{_CODE}\n//",
    f"x\r{_CODE}\r//",
    f'"""\nimport {MARK}\n"""',
    f"'''\nimport {MARK}\n'''",
    f"x\nimport {MARK}",
    f"x; import {MARK}",
    f"x'\nmessage('{MARK}')\n'",
    f"x\nmessage('{MARK}')",
    f"x\n  command = {MARK}\nbuild y: z",
    f"x | {MARK} || y: z",
    f'x"\nload("{MARK}", "y")\n"',
    f'x")\nset({MARK} "',
    f"x;{MARK}",
    f"x${{{MARK}}}",
    f"x$({MARK})",
    f"x`{MARK}`",
    f'x"\n[{MARK}]\ny = "',
    f"__import__('{MARK}')",
    f"{{{MARK}}}",
    f"${{{MARK}}}",
    f"/dev/{MARK}/../null",
    f"../../{MARK}",
    f"{MARK}\ud800",
    MARK + "\0",
    MARK * 600,
)

#: All hostile values.
VALUES: Final = (*_WHOLE, *_LAST, *[f"{MARK}{end}{MARK}" for end in _ENDS], *[f"{end}{_CODE}" for end in _ENDS])


def hostile_value(random: Random, original: str) -> str:
    """A hostile value in the place of a text, after it, before it or inside it."""
    value = random.choice(VALUES)
    match random.randrange(4):
        case 0:
            return value
        case 1:
            return original + value
        case 2:
            return value + original
    middle = random.randrange(len(original) + 1)
    return original[:middle] + value + original[middle:]
