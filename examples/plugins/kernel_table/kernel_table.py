"""A Markdown page for each dispatch key, with the kernels that operators have for it: a file for each unit."""

from __future__ import annotations

from opwright.plugin import Emitter, Family, FilePerUnit, FragmentContext, Job, NativeFunction, Plugin

#: The name of a dispatch key, and its operators, each with the name of its kernel.
Page = tuple[str, tuple[tuple[NativeFunction, str], ...]]


def pages(job: Job) -> list[Page]:
    """The dispatch keys with kernels. Units are tuples of texts and operators, so they have fingerprints."""
    rows: dict[str, list[tuple[NativeFunction, str]]] = {}
    for function in job.catalog:
        for key, kernel in function.kernels.items():
            rows.setdefault(key.name, []).append((function, kernel.name))
    return [(key, tuple(own)) for key, own in sorted(rows.items())]


def fill(page: Page, context: FragmentContext) -> dict[str, str | list[str]]:
    """The slots of the template for a dispatch key."""
    key, rows = page
    lines = [f"| `{function.namespace}::{function.name}` | `{kernel}` |" for function, kernel in rows]
    return {"key": key, "release": str(context.rules.version), "count": f"{len(rows):,}", "rows": lines}


def emitters(job: Job) -> list[Emitter[Page]]:
    """One emitter, which makes a page for each dispatch key from a template of the plug-in."""
    del job
    return [
        Emitter(
            name="kernel_table",
            family="kernel_table",
            template="kernel_table:page.md",
            folder="kernels",
            units=pages,
            fragment=fill,
            layout=FilePerUnit(lambda page: f"{page[0]}.md"),
        )
    ]


FAMILY = Family("kernel_table", "tables of kernels by key", emitters=[emitters], folders={"kernels": "kernels"})
plugin = Plugin("kernel_table", api=1, version="1.0", families=[FAMILY], templates="templates")
