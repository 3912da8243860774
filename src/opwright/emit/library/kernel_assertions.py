"""Assertions that compare kernels with signatures of their own with the schemas of their operators."""

from __future__ import annotations

from typing import Final

from opwright.source.named_tuple import NamedTuple

#: Stands for a type that the stable API lacks, with which nothing is compared.
AS_DECLARED: Final = "::opwright::as_declared"


class Expected(NamedTuple):
    """What an operator expects of a kernel: arguments with their types, and results as type and as messages show them.

    `templates` is the namespace of the templates that compare, which a header of the interface has.
    """

    operator: str
    arguments: tuple[tuple[str, str], ...]
    results: str
    shown_results: str
    templates: str


def kernel_assertions(kernel: str, name: str, expected: Expected) -> str:
    """The assertions about a kernel, under a name of their own. In a template, compilers show both types."""
    what = f"the kernel `{kernel.removeprefix('::')}` of `{expected.operator}` must"
    count = len(expected.arguments)
    rows = [(f"has_parameters<Kernel, {count}>", f"{what} take {count} arguments")]
    rows += [
        (f"takes<Kernel, {number}, {type}>", f"{what} take `{argument}` as `{type}`, or as what this converts to")
        for number, (argument, type) in enumerate(expected.arguments)
        if type != AS_DECLARED
    ]
    rows.append((f"gives<Kernel, {expected.results}>", f"{what} give `{expected.shown_results}`"))
    assertions = [f'  static_assert({expected.templates}::{test},\n      "{message}");' for test, message in rows]
    head = ["template <class Kernel>", f"static constexpr bool {name}_fits() {{"]
    return "\n".join([*head, *assertions, "  return true;", "}", f"static_assert({name}_fits<decltype({kernel})>());"])
