"""Macros and conditions of C++ sources are what a compiler's preprocessor makes of them."""

from __future__ import annotations

import itertools
import random
import re
import subprocess

import pytest

from opwright.source.span import SourceText
from opwright.syntax.budget import SourceBudget
from opwright.syntax.cpp_source import parse_cpp
from opwright.syntax.cpp_tokens import MacroExpander, cpp_tokens

DEFINITIONS = """\
#define EMPTY
#define ONE 1
#define SELF SELF + 1
#define CALLS ID
#define ID(x) x
#define PAIR(x, y) [x, y]
#define TEXT(x) #x
#define TEXTS(...) #__VA_ARGS__
#define GLUE(x, y) x##y
#define GLUES(x, y) x ## y ## _ ## x
#define LATER(x) GLUE(x, _cpu)
#define IN(x) ID(x) TEXT(x) x
#define NONE() none
#define MANY(first, ...) first(__VA_ARGS__)
#define TRAILING(format, ...) f(format, ##__VA_ARGS__)
#define LINES(x) \\
  x; /* a comment */ \\
  x
#define OPEN(x) PAIR(x
"""
CALLS = [
    "ONE EMPTY SELF", "CALLS(ONE)", "ID", "ID (2)", "ID()", "ID((1, 2))", "PAIR(a, b)", "PAIR(f(1, 2), {3})", "PAIR(,)",
    'TEXT("a\\"b\\\\c")', "TEXT()", "TEXT('\"')", "TEXTS(a, b)", "TEXTS()", "GLUE(a, b)",
    "GLUE(, b)", "GLUE(a,)", "GLUE(ONE, 2)", "GLUE(O, NE)", "GLUES(a, b)", "LATER(ONE)", "IN(ONE)", "NONE()", "NONE",
    "MANY(f)", "MANY(f, 1, (2, 3))", "TRAILING(a)", "TRAILING(a, b, c)", "LINES(ONE)", "OPEN(1), 2)", "ID(ID)(3)",
    "ID(ID(ID(ONE)))", "PAIR(ID(ONE), GLUE(x, 1))", "x.y->z::w", "1.5e-3f 0x1F 1'000", 'R"(a "b" ))" u8"c" L\'d\'',
    "MANY(TEXT, ONE)", "PAIR(TEXT(ONE), EMPTY)",
]  # fmt: skip


def preprocessed(text: str, *options: str) -> str:
    """What the compiler's preprocessor makes of a text."""
    command = ["g++", "-E", "-P", "-w", "-x", "c++", "-std=gnu++17", *options, "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def words_of(text: str) -> list[str]:
    """The tokens of a text."""
    return [token.text for token in cpp_tokens(text)]


def random_macros(seed: int) -> tuple[str, list[str]]:
    """Definitions of macros that use one another, and calls of them."""
    chance = random.Random(seed)
    parts = ["x", "y", "+", "A", "B(x)", "C(x, y)", "D(x, A)", "(y)", "x, y", "#x", "x ## y", "E", "[x]"]
    bodies = [" ".join(chance.choices(parts, k=chance.randint(0, 4))) for _ in range(4)]
    names = ("A", "B(x)", "C(x, y)", "D(x, ...)")
    plain = [
        re.sub(r"#x|x ## y", "x", bodies[0]),
        *[body.replace(" ## y", "").replace("#y", "y") for body in bodies[1:2]],
    ]
    bodies = [*plain, bodies[2], re.sub(r"\by\b", "__VA_ARGS__", bodies[3])]
    definitions = "".join([f"#define {name} {body}\n" for name, body in zip(names, bodies, strict=True)])
    given = ["a", "A", "b", "", "E"]
    calls = [
        f"{name}({', '.join([*chance.choices(given, k=count - 1), 'b'])})"
        for name, count in (("B", 1), ("C", 2), ("D", 2), ("D", 3))
        for _ in range(3)
    ]
    return definitions, ["A", *calls]


#: Seeds for which `##` joins no tokens that make none, an error for compilers.
SEEDS = (0, 1, 2, 3, 4, 6, 7, 9, 10, 11)


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_macros_stand_for_what_a_compiler_reads(seed: int | None) -> None:
    """Calls of macros, with all their forms of arguments, become the tokens that the preprocessor makes of them."""
    definitions, calls = (DEFINITIONS, CALLS) if seed is None else random_macros(seed)
    macros = {macro.name: macro for macro in parse_cpp("f.h", definitions).macros}
    expander = MacroExpander(macros, SourceBudget(SourceText("f.h", definitions)))
    ours = [[token.text for token in expander.expanded(list(cpp_tokens(call)))] for call in calls]
    theirs = preprocessed(definitions + "".join([f"{call}\n@@\n" for call in calls])).split("@@")[: len(calls)]
    different = [
        f"{call}: {own}, not {words_of(their)}"
        for call, own, their in zip(calls, ours, theirs, strict=True)
        if own != words_of(their)
    ]
    assert different == []


BRANCHES = """\
#ifndef GUARD_H
#define GUARD_H
a0
#if defined(A)
a1
# if defined(B) && !defined(C)
a2
# elif defined(C)
a3
# else
a4
# endif
a5
#elif defined(B)
a6
#else
#ifdef C // a comment
a7
#else
a8
#endif
#ifndef B
a9
#endif
#endif
#if 0
b0
#else
b1
#endif
#if 1
b2
#else
b3
#endif
#endif
"""


@pytest.mark.parametrize("defined", [chosen for count in range(4) for chosen in itertools.combinations("ABC", count)])
def test_conditions_are_those_under_which_a_compiler_reads(defined: tuple[str, ...]) -> None:
    """A compiler reads a token exactly if all its conditions hold."""
    tokens = parse_cpp("f.h", BRANCHES).tokens
    kept = [token.text for token in tokens if all(holds(condition, defined) for condition in token.conditions)]
    assert kept == preprocessed(BRANCHES, *[f"-D{name}" for name in defined]).split()


def holds(condition: str, defined: tuple[str, ...]) -> bool:
    """Whether a condition of the preprocessor holds for these macros."""
    text = re.sub(r"defined\((\w+)\)", lambda match: str(match[1] in defined), condition)
    value = eval(text.replace("&&", " and ").replace("||", " or ").replace("!", " not "))
    return bool(value)


#: Blocks that each branch of a condition opens or closes, or only one.
BLOCKS = {
    "class": "#ifdef A\nstruct X : Y {\n#else\nstruct Z X : Y {\n#endif\nint f() { return 1; } };\nint g();\n",
    "loop": "void f() {\n#ifdef A\nwhile (a) {\n#elif B\nfor (i = 0; i < n; ++i) {\n#else\n{\n#endif\nh(); } }\n",
    "nested": "#ifdef A\nint f() { if (a) {\n#else\n#ifdef B\nint g() { {\n#else\nint h() { {\n#endif\n#endif\n} }\n",
    "closed": "void f() { {\n#ifdef A\n} }\n#else\n} }\n#endif\nint g();\n",
    "closed and opened": "void f() { if (a) {\n#ifdef A\n} else {\n#else\n} if (b) {\n#endif\n} }\nint g();\n",
    "alone": "void f() {\n#ifdef A\nif (a) {\n#endif\nb();\n#ifdef A\n}\n#endif\n}\nint g();\n",
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_blocks_are_those_of_the_first_branch(text: str) -> None:
    """The tokens are those of the preprocessor if the condition of the first branch holds."""
    tokens = [token.text for token in parse_cpp("f.cpp", text).tokens]
    assert tokens == words_of(preprocessed(text, "-DA"))
