"""The page of a report: it needs nothing besides itself, and it works in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opwright.tools.coverage import formats
from tests.tools.coverage.reports import report_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: Functions for the scripts of tests: `type` writes into the search, `press` presses a key where the focus is.
HELPERS = """
const byId = id => document.getElementById(id);
const type = text => { byId("search").value = text; byId("search").dispatchEvent(new Event("input")); };
const press = key => (document.activeElement || document.body).dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const check = (group, name) => document.querySelector(`input[name="${group}"][value="${name}"]`).click();
const rows = () => [...document.querySelectorAll("tr.row")].map(row => row.operator.name);
const focused = () => (({ operator, id }) => operator ? operator.name : id)(document.activeElement);
const shown = () => byId("shown").textContent;
"""


@pytest.fixture(scope="module")
def text() -> str:
    """The page of a small backend with a fallback."""
    report = report_of("tanh relu_ mul.out linear", fallback="cpu")
    return formats.render_page(report, report.records)


@pytest.fixture(scope="module")
def browser() -> str:
    """A browser that runs without a screen."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or pytest.skip("there is no browser")


def run_in(browser: str, folder: Path, text: str, script: str, *, state: str = "", dark: bool = False) -> list[Any]:
    """What a function with this body returns in the page, after the page's script."""
    file = folder / "page.html"
    ending = f"<script>{{{HELPERS}\ndocument.body.dataset.result = JSON.stringify((() => {{{script}}})());}}</script>"
    file.write_text(text.replace("</body>", f"{ending}</body>"), encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--virtual-time-budget=3000",
        "--dump-dom",
        f"file://{file}{state and '#' + state}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'data-result="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2000:]
    result: list[Any] = json.loads(html.unescape(found[1]))
    return result


def test_the_page_needs_nothing_else(text: str) -> None:
    """The page loads nothing, and forbids itself to: all styles, scripts and data are in it."""
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", text)
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert "fetch(" not in text


def test_names_do_not_become_markup() -> None:
    """A name of a file or of a backend with markup in it stays a text."""
    report = report_of("tanh")._replace(backend="<b>&", path="</script><script>alert(1)</script>")
    text = formats.render_page(report, report.records[:3])
    assert f"<title>&lt;b&gt;&amp; on PyTorch {report.release}</title>" in text
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert text.count("</script>") == 2


def test_all_operators_are_there_and_few_are_drawn(browser: str, tmp_path: Path, text: str) -> None:
    """The page counts all operators, draws the first, and the rest while the reader moves on."""
    script = """
      const first = rows().length;
      document.querySelector("tr.row").focus();
      for (let step = 0; step < 400; step++) press("ArrowDown");
      return [shown(), first, rows().length, rows().indexOf(focused())];
    """
    assert run_in(browser, tmp_path, text, script) == ["3,101 of 3,101", 150, 450, 400]


def test_search_and_filters_choose_operators(browser: str, tmp_path: Path, text: str) -> None:
    """Words are searched in names, schemas and kernels; filters of one group add up, those of two groups narrow."""
    script = """
      type("TANH");
      const names = rows();
      type("acme::");
      const kernels = rows();
      type("");
      check("status", "kernel");
      const kernel = shown();
      check("status", "by_functional");
      const both = shown();
      check("backward", "works");
      const narrow = rows();
      byId("clear").click();
      return [names.includes("tanh_backward"), kernels, kernel, both, narrow, shown(), focused()];
    """
    names, kernels, kernel, both, narrow, all_again, focus = run_in(browser, tmp_path, text, script)
    assert names
    assert sorted(kernels) == ["linear", "mul.out", "relu_", "tanh"]
    assert kernel == "4 of 3,101"
    assert int(both.split()[0]) > 4
    assert {"tanh", "tanh_"} <= set(narrow)
    assert "mul.out" not in narrow
    assert (all_again, focus) == ("3,101 of 3,101", "search")


def test_keys_move_through_the_operators(browser: str, tmp_path: Path, text: str) -> None:
    """`/` goes to the search, arrows to the operators, Enter opens and closes details, Escape goes back and clears."""
    script = """
      const steps = [];
      press("/"); steps.push(focused());
      type("tanh");
      press("ArrowDown"); press("ArrowDown"); steps.push(focused() === rows()[1]);
      press("ArrowUp"); steps.push(focused() === rows()[0]);
      press("Enter");
      const details = document.querySelector("tr.more");
      steps.push(details.textContent.includes("aten::") || details.textContent.includes("tanh("));
      press("Enter"); steps.push(document.querySelector("tr.more") === null);
      press("Escape"); steps.push(focused());
      press("Escape"); steps.push(byId("search").value);
      return steps;
    """
    assert run_in(browser, tmp_path, text, script) == ["search", True, True, True, True, "search", ""]


def test_details_explain_an_operator(browser: str, tmp_path: Path, text: str) -> None:
    """Details have the schema, the kernel, what the formula calls, and the traps with their help."""
    script = """
      type("linear(");
      const row = [...document.querySelectorAll("tr.row")].find(row => row.operator.name === "linear");
      row.click();
      return [document.querySelector("tr.more").innerText];
    """
    details = run_in(browser, tmp_path, text, script)[0]
    assert "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor" in details
    assert "acme::linear" in details
    assert "linear_backward" in details
    assert "which the backend lacks" in details


def test_an_address_keeps_the_choices(browser: str, tmp_path: Path, text: str) -> None:
    """A link with search and filters shows what its sender saw."""
    script = "return [byId('search').value, rows(), location.hash];"
    state = "q=tanh&status=kernel%2Cby_functional"
    value, names, address = run_in(browser, tmp_path, text, script, state=state)
    assert value == "tanh"
    assert sorted(names) == ["tanh", "tanh.out", "tanh_"]
    assert address == f"#{state}"


def test_columns_sort(browser: str, tmp_path: Path, text: str) -> None:
    """A click on the head of a column sorts by it, another one in the other direction."""
    script = """
      const heads = document.querySelectorAll("th button");
      heads[4].click();
      const most = document.querySelector("tr.row").operator.kinds.length;
      const order = heads[4].closest("th").ariaSort;
      heads[0].click(); heads[0].click();
      return [most > 0, order, rows()[0]];
    """
    assert run_in(browser, tmp_path, text, script) == [True, "ascending", "zeros_like.out"]


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system_and_the_reader(browser: str, tmp_path: Path, text: str, dark: bool) -> None:
    """The page is dark on systems with dark colours, and a button changes that."""
    script = """
      const light = () => getComputedStyle(document.body).backgroundColor;
      const before = light();
      byId("theme").click();
      return [before, light()];
    """
    colours = run_in(browser, tmp_path, text, script, dark=dark)
    expected = ["rgb(247, 248, 250)", "rgb(18, 21, 28)"]
    assert colours == (expected[::-1] if dark else expected)


def test_the_page_is_fast(browser: str, tmp_path: Path, text: str) -> None:
    """A search of all operators takes less than a quarter of a second, on slow machines too."""
    script = """
      const started = performance.now();
      for (const word of ["a", "ab", "abs", "", "conv"]) type(word);
      return [(performance.now() - started) / 5];
    """
    assert run_in(browser, tmp_path, text, script)[0] < 250
