"""Random C++ and Python sources in pieces: what registers something by itself, and what has to stay."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Piece(NamedTuple):
    """A piece of a source. Of the kinds `cut`, `head` and `tail` it may go; `divider` is between statements of Python.

    A `head` goes with all that may go up to its `tail`.
    """

    text: str
    kind: str = "keep"


#: Characters at which Python divides lines, and no compiler does.
ODD: Final = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
CODE: Final = (
    "important++;",
    'puts("m.def(\\"z(Tensor x) -> Tensor\\"); } {");',
    'puts(R"x( } m.def("z(Tensor x) -> Tensor"); )" )x");',
    "char sign = ';'; char brace = '}';",
    "if (on()) { important++; }",
    "for (int i = 0; i < 2; ++i) important++;",
    "auto call = [&](int n) { return n; };",
    "#if A\nimportant++;\n#endif\n",
    "#if A\nimportant++;\n#else\nif (on()) important++;\n#endif\n",
    "#define LATER(n) m.def(n); }\n",
    '#include "more.inc"\n',
    "important++; \\\n",
    "SOME(important);",
    "{ important++; }",
    "switch (important) { case 1: important++; }",
)
COMMENTS: Final = (
    "// m.def(); } { \" '\n",
    "/* m.def(); } { */",
    "/* \"\n' */",
    "// goes on \\\n m.def();\n",
    f"// {ODD}\n",
    f"/* {ODD} */",
)
BRANCHES: Final = (
    "if (on()) {0}",
    "if (on()) {{ {0} }}",
    "if (on()) important++; else {0}",
    "for (int i = 0; i < 1; ++i) {0}",
    "while (on()) {{ {0} }}",
    "do {0} while (on());",
    "try {{ {0} }} catch (...) {{}}",
    "SOME_MACRO {0}",
    "[&] {{ {0} }}();",
    "#if A\nif (on())\n#else\nimportant++;\n#endif\n{0}",
)
#: What makes it uncertain how compilers read a file.
UNCERTAIN: Final = (
    "// end \\ \nint odd;\n",
    "int a;\rint b;\n",
    "// ??/\nint odd;\n",
    "/**/ #define C\n",
    "int \\\nodd;im\\\nt x;\n",
)


class Sources:
    """Makes sources. Names of operators are those of the run."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0

    def _schema(self) -> str:
        self._number += 1
        return f"f{self._number}(Tensor x) -> Tensor"

    def _statement(self) -> str:
        schema = self._schema()
        forms = (
            f'm.def("{schema}");',
            f'm.def(\n    "{schema}"\n  );',
            f'm.def(R"({schema})");',
            f'm.def("{schema[:4]}" "{schema[4:]}" /* }} */);',
            f'm . def ( "{schema}" ) ;',
            f'm.def("{schema}") // ;\n  ;',
            f'm.def( \\\n "{schema}");',
            f'm.def("{schema}").def("{self._schema()}");',
            f"DEFINE({schema.partition('(')[0]});",
        )
        return self._chance.choice(forms)

    def _block(self) -> Iterator[Piece]:
        yield Piece("TORCH_LIBRARY_FRAGMENT(cuts, m) {", "head")
        yield Piece(self._space())
        has_returned = False
        for _ in range(self._chance.randint(1, 6)):
            kind = self._chance.random()
            if kind < 0.45:
                yield Piece(self._statement(), "keep" if has_returned else "cut")
            elif kind < 0.6:
                yield Piece(self._chance.choice(BRANCHES).format(self._statement()))
            elif kind < 0.65:
                yield Piece(f"MORE({self._schema().partition('(')[0]});")
            elif kind < 0.7 and not has_returned:
                yield Piece("if (!on()) return;")
                has_returned = True
            elif kind < 0.9:
                yield Piece(f"\n{self._chance.choice(CODE)}")
            else:
                yield Piece(self._chance.choice(COMMENTS))
            yield Piece(self._space())
        yield Piece("}", "tail")

    def _space(self) -> str:
        return self._chance.choice(("\n", " ", "\n\n", "\t", "\n\f", "\n  ", "\n  "))

    def cpp(self) -> list[Piece]:
        """A source of C++."""
        pieces = [
            Piece("#include <torch/library.h>\nint important; bool on();\n"),
            Piece('#define DEFINE(name) m.def(#name "(Tensor x) -> Tensor")\n'),
            Piece('#define MORE(name) m.def(#name "(Tensor x) -> Tensor"); important++\n'),
        ]
        for _ in range(self._chance.randint(1, 4)):
            pieces += [Piece("\n"), *self._block(), Piece(self._space())]
            pieces.append(
                Piece(self._chance.choice((*COMMENTS, "int a() { return 1; }", 'auto s = R"(\n} m.def(")";\n')))
            )
        if self._chance.random() < 0.06:
            pieces.append(Piece("\n" + self._chance.choice(UNCERTAIN)))
        return [*pieces, Piece("\n")]

    def _call(self) -> str:
        schema = self._schema()
        forms = (
            f"lib.define('{schema}')",
            f"lib.define(\n        '{schema}',\n)",
            f'lib.define("""{schema}""")',
            f"lib.define('{schema}', tags=(torch.Tag.core,))",
            f"torch.library.define('cuts::{schema.partition('(')[0]}', '({schema.partition('(')[2]}')",
            f"lib.define('{schema[:4]}' \\\n  '{schema[4:]}')",
        )
        return self._chance.choice(forms)

    def python(self) -> list[Piece]:
        """A source of Python."""
        pieces = [Piece("import torch\nlib = torch.library.Library('cuts', 'FRAGMENT')\na = n = 1\n")]
        forms: tuple[Callable[[], list[Piece]], ...] = (
            lambda: [Piece(self._call(), "cut"), Piece("\n")],
            lambda: [Piece(self._call(), "cut"), Piece("  # lib.define('z')\n")],
            lambda: [Piece("a = 1"), Piece(";", "divider"), Piece(self._call(), "cut"), Piece("\n")],
            lambda: [Piece(self._call(), "cut"), Piece(";", "divider"), Piece(" a = 2\n")],
            lambda: [
                Piece("a = '''\nlib.define()\n'''"),
                Piece(";", "divider"),
                Piece(self._call(), "cut"),
                Piece("\n"),
            ],
            lambda: [Piece("if True:\n    "), Piece(self._call(), "cut"), Piece("\n")],
            lambda: [Piece("with a: "), Piece(self._call(), "cut"), Piece("\n")],
            lambda: [Piece(f"if a:\n    {self._call()}\n")],
            lambda: [Piece(f"try:\n    {self._call()}\nexcept RuntimeError:\n    pass\n")],
            lambda: [Piece(f"a and {self._call()}\n")],
            lambda: [Piece(f"def g{self._number}():\n    return {self._call()}\n")],
            lambda: [Piece(f"for a in range(n):\n    {self._call()}\n")],
            lambda: [Piece(f"a = {self._call()}\n")],
            lambda: [Piece(f"# {ODD}\n")],
            lambda: [Piece(f"a = '{ODD[-3:]}{{'\n")],
            lambda: [Piece("\f\n")],
            lambda: [Piece("a = 1; \\\nb = 2\n")],
        )
        for _ in range(self._chance.randint(2, 12)):
            pieces += self._chance.choice(forms)()
        return pieces
