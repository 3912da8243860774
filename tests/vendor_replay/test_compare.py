from __future__ import annotations

import pytest

from tests.vendor_replay.compare import DifferenceKind, FileComparison, Verdict, compare_file, compare_files
from tests.vendor_replay.items import items_of

HEADER = """\
#pragma once
#include <acme/types.h>
// The kernels.
namespace acme {
namespace native {
struct Kernels {
static at::Tensor add(const at::Tensor & self, double by=1);
static void fill(at::Tensor & self, ::std::optional<bool> mask={});
};
} // namespace native
} // namespace acme
"""


def compared(ours: str) -> FileComparison:
    """The comparison of a generated header with the vendor's."""
    return compare_file("Kernels.h", HEADER, ours)


def difference(old: str, new: str) -> tuple[DifferenceKind, str, int]:
    """What is different after a replacement: kind, name, and how many of the two functions are equal."""
    comparison = compared(HEADER.replace(old, new))
    assert comparison.verdict is Verdict.different
    (found,) = comparison.differences
    return found.kind, found.name, comparison.equal


def test_identical_files() -> None:
    """A file with the same bytes is identical, and each function is counted."""
    assert compared(HEADER) == FileComparison("Kernels.h", Verdict.identical, 2, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// The kernels.\n", "/* Kernels; of { Acme. */\n\n"),
        ("namespace acme {\nnamespace native {", "namespace acme::native {"),
        ("<acme/types.h>", '"acme/types.h"'),
        ("at::Tensor & self, double by=1", "at::Tensor& self,\n    double by = 1"),
        ("#pragma once\n", ""),
    ],
)
def test_equal_up_to_layout(old: str, new: str) -> None:
    """Comments, spaces, quotes of headers and the form of namespaces are layout."""
    comparison = compared(HEADER.replace(old, new))
    assert comparison == FileComparison("Kernels.h", Verdict.layout, 2, 2)


def test_equal_up_to_order() -> None:
    """The same declarations in another order are equal up to order, but not in another class."""
    lines = HEADER.splitlines()
    lines[6], lines[7] = lines[7], lines[6]
    assert compared("\n".join(lines)).verdict is Verdict.order
    assert compared(HEADER.replace("struct Kernels", "struct Others")).equal == 0


@pytest.mark.parametrize(
    ("old", "new", "kind", "name"),
    [
        ("double by=1", "double factor=1", DifferenceKind.parameter, "add"),
        ("double by=1", "double by=2", DifferenceKind.default, "add"),
        ("double by=1", "int64_t by=1", DifferenceKind.signature, "add"),
        ("static void fill(", "static int64_t fill(", DifferenceKind.signature, "fill"),
        ("optional<bool> mask={}", "optional<bool> mask=::std::nullopt", DifferenceKind.default, "fill"),
    ],
)
def test_functions_that_differ(old: str, new: str, kind: DifferenceKind, name: str) -> None:
    """A function of the same name is the same function: its parameter, default or signature differs."""
    assert difference(old, new) == (kind, name, 1)


def test_items_that_one_file_has() -> None:
    """What only one of the files has is named, functions or not."""
    line = "static void fill(at::Tensor & self, ::std::optional<bool> mask={});\n"
    assert difference(line, "") == (DifferenceKind.theirs, "fill", 1)
    assert difference(line, line + "static void clear();\n") == (DifferenceKind.ours, "clear", 2)
    assert difference("#include <acme/types.h>\n", "") == (DifferenceKind.theirs, "#include <acme/types.h>", 2)


def test_overloads_are_paired_with_the_nearest() -> None:
    """Of several functions with one name, those with the most words in common are each other's."""
    theirs = "void add(int by);\nvoid add(const at::Tensor & self, int by);\n"
    ours = "void add(const at::Tensor & input, int by);\nvoid add(int by);\n"
    (found,) = compare_file("add.h", theirs, ours).differences
    assert found.kind is DifferenceKind.parameter


def test_missing_files() -> None:
    """A file that was not generated is missing, and none of its functions is equal."""
    assert compare_file("Kernels.h", HEADER, None) == FileComparison("Kernels.h", Verdict.missing, 2, 0)


def test_declarations_in_another_file() -> None:
    """What one generated file lacks and another has too much is in another place."""
    theirs = {"a.h": "void add();\nvoid fill();\n", "b.h": "void mul();\n"}
    ours = {"a.h": "void add();\n", "b.h": "void mul();\nvoid fill();\n"}
    kinds = [found.kind for comparison in compare_files(theirs, ours) for found in comparison.differences]
    assert kinds == [DifferenceKind.elsewhere, DifferenceKind.elsewhere]


def test_lines_of_other_files() -> None:
    """The items of files that are not C++ are their lines."""
    theirs = "import acme\n\nacme.add = ops.add\nacme.mul = ops.mul\n"
    ours = "# Made.\nimport acme\nacme.mul = ops.mul\nacme.add  = ops.add\n"
    comparison = compare_file("ops.py", theirs, ours)
    assert comparison == FileComparison("ops.py", Verdict.order, 3, 3)


def test_directives_are_items() -> None:
    """A function inside another condition is in the same scope, and the condition itself is compared."""
    text = "#if FEATURE \\\n  >= 2\nvoid add();\n#endif\n"
    assert [item.text for item in items_of("a.h", text)] == ["#if FEATURE >= 2", "#endif", "void add ( )"]
    assert [item.name for item in items_of("a.h", text)] == ["", "", "add"]
