"""What `opwright explain` prints of operators of all kinds, as whole texts."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright.backends.dispatch.resolution import overloads_named
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import ExplainRequest, load_jobs
from opwright.tools.explain.records import SECTIONS, Explanation
from opwright.tools.explain.text import Painter, render, render_overloads
from tests.text_files import write_texts

FOLDER = Path(__file__).with_name("texts")
LIBRARY = SourceFile(
    "acme.yaml",
    """\
namespace: acme
operators:
- func: scale(Tensor self, float by=2) -> Tensor
  autocast: fp32
  if: defined(USE_ACME)
  dispatch:
    CPU:
    - kernel: scale_wide
      when: self.numel() > 8
      if: defined(USE_AVX)
      priority: 2
    - kernel: scale_plain
    CUDA: {python: "acme.kernels:scale"}
- func: stop(Tensor self) -> ()
  dispatch: CPU, CUDA
""",
)
STABLE = SourceFile(
    "acme.yaml",
    """\
namespace: acme
abi: stable
operators:
- func: scale(Tensor self, float by=2) -> Tensor
  dispatch: CPU, CUDA
""",
)
BORROWED = SourceFile(
    "acme.yaml",
    """\
namespace: acme
abi: dlpack
operators:
- func: scale(Tensor self, Tensor? mask, int[] sizes, float by=2) -> (Tensor scaled, Tensor count)
  dispatch: {CPU: scale_cpu, CUDA: scale_cuda}
  dims: {self: "*b", mask: "*b", scaled: "*b", count: ""}
""",
)


class Case(NamedTuple):
    """Operators whose explanations are in a file, with sections, and the library that has them."""

    names: tuple[str, ...]
    sections: tuple[str, ...] = tuple(SECTIONS)
    library: SourceFile | None = None


CASES = {
    "arithmetic": Case(("add.out",)),
    "views": Case(("split.Tensor",), ("schema", "operation", "dispatch", "signatures", "derivative")),
    "synthesized": Case(("view_copy.out",), ("schema", "operation", "dispatch", "signatures")),
    "structured": Case(("cat", "sgn.out"), ("schema", "operation", "signatures")),
    "fields": Case(("all.dims_out", "resize_", "empty_quantized", "set_data"), ("schema", "operation", "python")),
    "gradients": Case(
        (
            "native_dropout",
            "_foreach_add_.List",
            "cummax",
            "detach",
            "equal",
            "_test_autograd_multiple_dispatch.fullcoverage",
        ),
        ("derivative",),
    ),
    "library": Case(("acme::scale", "acme::stop"), library=LIBRARY),
    "stable": Case(("acme::scale",), ("dispatch", "signatures", "python"), STABLE),
    "borrowed": Case(("acme::scale",), ("dispatch", "signatures"), BORROWED),
}


def explanations(case: Case) -> list[Explanation]:
    """The explanations of the operators, with all sections."""
    libraries = () if case.library is None else (case.library,)
    explained = next(load_jobs(ExplainRequest(case.names, open_inputs("auto"), libraries=libraries), Diagnostics()))
    return [explain(overloads_named(name, explained.job.catalog)[0], explained, case.sections) for name in case.names]


def home() -> str:
    """The folder of packages, to which paths are relative."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return os.path.dirname(os.path.dirname(spec.origin))


def text_of(name: str) -> str:
    """The texts of a case."""
    painter = Painter(home=home())
    return "\n".join([render(explanation, painter) for explanation in explanations(CASES[name])])


def update() -> None:
    """Write the files."""
    write_texts(FOLDER, {f"{name}.txt": text_of(name) for name in CASES})


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_texts_are_those_of_the_files(name: str) -> None:
    """Each section shows what the file shows; `make cases` writes the files."""
    assert text_of(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


STYLES = {"\x1b[1m": "title", "\x1b[1;34m": "key", "\x1b[2m": "note"}


def test_colours_and_links_change_no_text() -> None:
    """Without escape sequences, a painted text is a plain one; titles, keys, notes and places have theirs."""
    (explanation,) = explanations(Case(("all.dims_out",), ("operation", "derivative")))
    plain = render(explanation, Painter(home=home()))
    painted = render(explanation, Painter(color=True, links=True, home=home()))
    parts = re.findall(r"(\x1b\[[\d;]+m)(.*?)\x1b\[0m", painted)
    styled = {kind: [text for style, text in parts if STYLES[style] == kind] for kind in STYLES.values()}
    assert styled == {
        "title": ["aten::all.dims_out", "Operation", "Gradients"],
        "key": ["  functional  ", "  out         ", "  tags: "],
        "note": [
            "PyTorch 2.13.0",
            "other overloads: all.dim, all.dims, all.out, all, all.all_out",
        ],
    }
    uri = Path(explanation.entry.file).resolve().as_uri()
    place = f"{os.path.relpath(explanation.entry.file, home())}:{explanation.entry.line}"
    assert painted.count(f"\x1b]8;;{uri}\x1b\\{place}\x1b]8;;\x1b\\") == painted.count("\x1b]8;;file:") == 1
    unlinked = painted.replace(f"\x1b]8;;{uri}\x1b\\", "").replace("\x1b]8;;\x1b\\", "")
    assert re.sub(r"\x1b\[[\d;]*m", "", unlinked) == plain
    away = explanation._replace(entry=explanation.entry._replace(file="/no/such/file.yaml"))
    assert "\x1b]8;;" not in render(away, Painter(links=True))
    assert f"  {away.entry.file}:" in render(away, Painter(home="/no/suc"))


def test_columns_limit_lines() -> None:
    """Lines break between words and between parameters, where a terminal is narrow."""
    (explanation,) = explanations(Case(("all.dims_out",), ("signatures", "python")))
    lines = {columns: render(explanation, Painter(columns=columns, home=home())).splitlines() for columns in (40, 120)}
    assert len(lines[40]) > len(lines[120])
    texts = ["".join(" ".join(text).split()) for text in lines.values()]
    assert texts[0] == texts[1]
    assert max(map(len, lines[120])) <= 120
    # Each parameter that fits has a line of its own, or is behind another one.
    assert [line for line in lines[40] if len(line) > 40 and ", " in line] == []


OVERLOADS = """\
relu has 3 overloads:

  relu(Tensor self) -> Tensor
      {file}:{lines[0]}

  relu_(Tensor(a!) self) -> Tensor(a!)
      {file}:{lines[1]}

  relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      synthesized; {file}:{lines[2]}

`opwright explain aten::relu` explains one of them, `--all` explains all.
"""


def test_overloads_are_listed() -> None:
    """A name of several overloads gets their schemas, with their places."""
    listed = explanations(Case(("relu", "relu_", "relu.out"), ()))
    lines = [explanation.entry.line for explanation in listed]
    text = OVERLOADS.format(file="torchgen/packaged/ATen/native/native_functions.yaml", lines=lines)
    assert render_overloads("relu", listed, Painter(home=home())) == text
