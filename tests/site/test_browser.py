"""The built site in headless Chromium; `make site-test` builds it and runs these tests, and prints figures."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
AXE = ROOT / ".cache" / "site" / "tests" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = (
    *("", "guide/", "library-files/", "diagnostics/", "diagnostics/E0310/", "commands/check/", "families/headers/"),
    *("releases/2.13/", "api/Catalog/", "operators/#add.Tensor", "playground/"),
)
UNREAD = re.compile(r"(?m)^\s*(?:[-*] |[1-9]\. |\|)|```|\]\(")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(not SITE.is_dir(), reason="no built site: `make site`"),
]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server with the site in a folder of its own, as a project's page on GitHub has it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=SITE))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, which runs without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: `make site-test` installs it")
    with playwright.sync_playwright() as runner:
        started = runner.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page whose test fails if it prints an error, or asks another server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    own = (address, "data:", "blob:")
    opened.on("request", lambda request: complaints.append(request.url) if not request.url.startswith(own) else None)
    yield opened
    context.close()
    assert complaints == []


def answered(page: Any, after: int = 0) -> int:
    """Wait for an answer of the playground that is newer, and return its number."""
    script = "after => Number(document.getElementById('playground').dataset.answered ?? 0) > after"
    page.wait_for_function(script, arg=after, timeout=60_000)
    return int(page.get_attribute("#playground", "data-answered"))


def value(page: Any, field: str) -> str:
    """The text of an editor, whose lines are all in view."""
    lines = "lines => lines.map(line => line.textContent).join('\\n')"
    return str(page.eval_on_selector_all(f"{field} .cm-line", lines))


def write(page: Any, field: str, text: str) -> None:
    """Paste a text over that of an editor."""
    page.focus(f"{field} .cm-content")
    page.keyboard.press("Control+a")
    paste = """(editor, text) => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }"""
    page.eval_on_selector(f"{field} .cm-content", paste, text)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(page: Any, path: str, scheme: str) -> None:
    """axe finds nothing serious in a page, in either colours."""
    page.emulate_media(color_scheme=scheme)
    page.goto(path)
    if path == "playground/":
        answered(page)
    page.wait_for_load_state("networkidle")
    page.add_script_tag(path=str(AXE))
    results = page.evaluate("async () => (await axe.run()).violations")
    serious = [
        f"{row['id']}: {node['target'][0]} {node['any'][0]['message'] if node['any'] else row['help']}"
        for row in results
        if row["impact"] in ("serious", "critical")
        for node in row["nodes"][:3]
    ]
    assert serious == []


def test_markdown_is_read() -> None:
    """No paragraph shows marks of lists, fences or links, which Python's Markdown reads otherwise than GitHub's."""
    unread = []
    for path in sorted(SITE.rglob("index.html")):
        text = re.sub(r"(?s)<(pre|code|script|strong)\b.*?</\1>", "", path.read_text(encoding="utf-8"))
        paragraphs = [re.sub(r"<[^>]*>", "", found) for found in re.findall(r"(?s)<p>(.*?)</p>", text)]
        unread += [(path.parent.name, found) for found in paragraphs if UNREAD.search(found)]
        unread += [(path.parent.name, found) for found in re.findall(r'<ol start="\d{3}.*', text)]
    assert unread == []


def type_into_search(page: Any, words: str) -> None:
    """Open the dialog of the search, which does not hear keys until the page's scripts have run, and type words."""
    is_open = "document.activeElement.shadowRoot?.activeElement?.tagName === 'INPUT'"
    for _ in range(30):
        page.keyboard.press("Control+k")
        page.wait_for_timeout(1000)
        if page.evaluate(is_open):
            break
    # The dialog is in a shadow tree.
    page.wait_for_function(is_open)
    page.keyboard.type(words)


def test_search_finds_a_diagnostic(page: Any) -> None:
    """The keyboard alone leads from any page to the page of a code."""
    page.goto("releases/", wait_until="networkidle")
    type_into_search(page, "E0310")
    page.get_by_text("unknown dispatch key").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/diagnostics/E0310/**")
    assert "unknown dispatch key" in page.inner_text("h1")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("install", "installation/"),
        ("getting started", ""),
        ("dims", "guide/"),
        ("triton", "guide/"),
        ("dtypes", "library-files/"),
        ("undefined symbol", "troubleshooting/"),
        ("relu", "operators/r/"),
        ("upsample_bicubic2d.out", "operators/u/"),
    ],
)
def test_search_finds_what_beginners_ask(page: Any, words: str, path: str) -> None:
    """The first result for a question of a beginner, or for the name of an operator, is its page."""
    page.goto("releases/", wait_until="networkidle")
    type_into_search(page, words)
    page.wait_for_timeout(1500)
    page.keyboard.press("Enter")
    page.wait_for_function("!location.pathname.endsWith('/releases/')")
    assert page.url.split("#")[0].split("?")[0].endswith(f"/{path}")


def test_a_diagnostic_has_neighbours(page: Any) -> None:
    """The page of a code leads to the next one and the one before, and stands in the list at the left."""
    page.goto("diagnostics/E0310/")
    links = page.eval_on_selector_all(".md-footer a", "links => links.map(link => link.getAttribute('href'))")
    assert [link for link in links if "E0311" in link]
    assert page.locator(".md-nav--primary a[href*='E0311']").count()


def test_an_example_of_a_diagnostic_opens_in_the_playground(page: Any) -> None:
    """The link below the example of a code leads to its text, which has the code."""
    page.goto("diagnostics/E0919/")
    page.get_by_role("link", name="Try it in the playground").click()
    page.wait_for_url("**/playground/#*")
    answered(page)
    assert page.locator("#pg-problems a").all_inner_texts() == ["E0919"]
    assert value(page, "#pg-formulas").startswith("- name: ")


def test_code_fits_a_window(page: Any) -> None:
    """At 1280 pixels, no block of the guide is cut off at the side."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("guide/")
    wide = "blocks => blocks.filter(block => block.scrollWidth > block.clientWidth + 1).map(block => block.textContent)"
    assert page.eval_on_selector_all(".md-typeset pre > code", wide) == []


def test_operators(page: Any) -> None:
    """The filter finds overloads by words of their schemas, and a link explains one of them."""
    page.goto("operators/")
    page.get_by_label("Name, or words of the schema").fill("upsample_bicubic out")
    page.get_by_role("link", name="upsample_bicubic2d.out", exact=True).click()
    page.get_by_role("heading", name="Dispatch").wait_for()
    shown = page.inner_text("#operator")
    assert "at::native::structured_upsample_bicubic2d_out_cpu::impl" in shown
    page.goto("operators/#relu_")
    page.get_by_role("heading", name="relu_", exact=True).wait_for()
    assert "ReluBackward0" in page.inner_text("#operator")


def test_playground_loads_compiled_modules() -> None:
    """Browsers compile no Python: they load what was compiled when the site was built, but for inputs that are read."""
    folder = SITE / "assets" / "playground"
    sizes, _, contents = gzip.decompress((folder / "opwright.bin").read_bytes()).partition(b"\n")
    files = json.loads(sizes)
    assert sum(files.values()) == len(contents)
    with ZipFile(folder / "python_stdlib.zip") as library:
        paths = [*files, *library.namelist()]
    assert [path for path in paths if path.endswith(".py") and not path.startswith("inputs/")] == []
    assert {"engine.pyc", "opwright/__init__.pyc", "json/__init__.pyc"} <= set(paths)


def test_playground_generates(page: Any) -> None:
    """A bar shows what is loaded until the first answer, which has the files of the first example, one in each tab."""
    started = time.perf_counter()
    page.goto("playground/")
    assert page.locator("#pg-progress").is_visible()
    answered(page)
    assert page.locator("#pg-progress").is_hidden()
    print(f"\nplayground, first answer: {time.perf_counter() - started:.1f} s")
    assert "m.def(" in page.inner_text("#pg-file")
    page.get_by_role("tab", name="_ops.py").click()
    assert "def soft_clip(" in page.inner_text("#pg-file")
    page.keyboard.press("Home")
    assert page.get_by_role("tab", name="kernels.h").get_attribute("aria-selected") == "true"


def test_playground_answers_keystrokes(page: Any) -> None:
    """Each keystroke is answered, and the lines that it changed are marked."""
    page.goto("playground/")
    number = answered(page)
    text = "namespace: acme\noperators:\n- func: clip(Tensor self) -> Tensor\n  doc: A"
    write(page, "#pg-text", text)
    number = answered(page, number)
    page.get_by_role("tab", name="_ops.py").click()
    page.focus("#pg-text .cm-content")
    page.keyboard.press("Control+End")
    seconds = []
    for letter in "limiter of values":
        started = time.perf_counter()
        page.keyboard.type(letter)
        number = answered(page, number)
        seconds.append(time.perf_counter() - started)
    print(
        f"\nplayground, after a keystroke: median {sorted(seconds)[8] * 1000:.0f} ms, most {max(seconds) * 1000:.0f} ms"
    )
    assert page.locator("#pg-file ins").all_inner_texts() == ['    """Alimiter of values']


def problem_of(page: Any, field: str, old: str, new: str) -> str:
    """The only problem that the playground reports after an edit of the text that it starts with."""
    page.goto("playground/")
    number = answered(page)
    write(page, field, value(page, field).replace(old, new))
    answered(page, number)
    (problem,) = page.locator("#pg-problems li").all_inner_texts()
    return str(problem)


def test_playground_reports_mistakes(page: Any) -> None:
    """Mistakes are under the text with links to their pages, and marked in it; a button leads to the place."""
    problem = problem_of(page, "#pg-text", "CPU", "CPUU")
    assert "unknown dispatch key CPUU" in problem
    assert page.locator("#pg-text .cm-lintRange-error").all_inner_texts() == ["CPUU"]
    assert page.locator("#pg-text .cm-lineNumbers").inner_text().split()[-1] == "9"
    assert page.locator("#pg-text .tok-propertyName").first.inner_text() == "namespace"
    page.get_by_role("button", name="acme.yaml:8:5").click()
    assert page.evaluate("String(getSelection())") == "CPUU"
    page.get_by_role("link", name="E0310").click()
    page.wait_for_url("**/diagnostics/E0310/")


def test_playground_parses_formulas(page: Any) -> None:
    """A formula that is no C++ is reported in its file, so tree-sitter runs in the browser too."""
    problem = problem_of(page, "#pg-formulas", "grad *", "grad * /")
    assert "derivatives.yaml:2:" in problem


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (900, 900)])
def test_diagnostics_are_in_view(page: Any, width: int, height: int) -> None:
    """The mistakes of an example are in view without scrolling."""
    page.set_viewport_size({"width": width, "height": height})
    page.goto("playground/")
    number = answered(page)
    page.select_option("#pg-example", "3")
    answered(page, number)
    boxes = [item.bounding_box() for item in page.locator("#pg-problems li").all()]
    assert len(boxes) == 2
    assert all(box["y"] + box["height"] <= height for box in boxes)


def test_playground_takes_the_file_of_pytorch(page: Any) -> None:
    """Over an example, PyTorch's own file takes the formulas with it, and has no mistakes until it is edited."""
    path = Path(find_spec("torchgen").origin or "").parent / "packaged/ATen/native/native_functions.yaml"  # type: ignore[union-attr]
    text = path.read_text(encoding="utf-8")
    page.goto("playground/")
    number = answered(page)
    page.select_option("#pg-kind", "pytorch")
    number = answered(page, number)
    assert "soft_clip" in value(page, "#pg-formulas")
    write(page, "#pg-text", text)
    number = answered(page, number)
    assert page.inner_text("#pg-problems") == "none"
    assert "soft_clip" not in value(page, "#pg-formulas")
    write(page, "#pg-text", text.replace("relu(Tensor self) -> Tensor", "relu(Tensor self, int more=1) -> Tensor", 1))
    answered(page, number)
    (problem,) = page.locator("#pg-problems li").all_inner_texts()
    assert "no functional overload beside relu_" in problem


@pytest.mark.parametrize("kind", ["backend", "pytorch"])
def test_playground_has_other_kinds(page: Any, kind: str) -> None:
    """The kinds of files have examples that generate without a diagnostic."""
    page.goto("playground/")
    number = answered(page)
    page.select_option("#pg-kind", kind)
    answered(page, number)
    assert page.inner_text("#pg-problems") == "none"
    assert page.get_by_role("tab").count() > 1


def test_the_address_holds_the_text(page: Any) -> None:
    """Opening the address of a text again shows the text and its answer."""
    page.goto("playground/")
    number = answered(page)
    write(page, "#pg-text", "namespace: äcme🙂\n")
    answered(page, number)
    page.wait_for_function("location.hash.length > 10")
    address = page.url
    page.goto("guide/")
    page.goto(address)
    answered(page)
    assert value(page, "#pg-text") == "namespace: äcme🙂\n"


def test_the_way_back_leads_to_what_was_typed(page: Any) -> None:
    """Choosing an example, or another kind of file, destroys no text, and a link that is entered is followed."""
    page.goto("playground/")
    number = answered(page)
    typed = "namespace: mine\noperators: []\n"
    write(page, "#pg-text", typed)
    number = answered(page, number)
    for field, choice in (("#pg-example", "1"), ("#pg-kind", "backend")):
        page.select_option(field, choice)
        number = answered(page, number)
        assert value(page, "#pg-text") != typed
        page.go_back()
        page.locator("#pg-text .cm-line", has_text="namespace: mine").wait_for()
        assert value(page, "#pg-text") == typed
        assert page.input_value("#pg-kind") == "library"
        number = answered(page, number)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_link_is_copied_or_not(page: Any, is_allowed: bool) -> None:
    """The page says that the link is copied only if the browser copied it."""
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => {"
        + ("window.copied = text" if is_allowed else "throw new Error('no')")
        + "} } })"
    )
    page.goto("playground/")
    answered(page)
    page.click("#pg-share")
    page.wait_for_function("document.getElementById('pg-status').textContent.startsWith('The link')")
    assert ("copied" in page.inner_text("#pg-status")) == is_allowed
    assert not is_allowed or page.evaluate("window.copied") == page.url


def test_playground_stops_a_long_run(page: Any) -> None:
    """Texts that take minutes are stopped after 20 seconds, the page says so, and it answers the next text."""
    page.goto("playground/")
    number = answered(page)
    entries = "".join(f"- func: f{number}(Tensor x) -> Tensor\n" for number in range(20_000))
    started = time.perf_counter()
    write(page, "#pg-text", f"namespace: acme\noperators:\n{entries}")
    page.wait_for_function("document.getElementById('pg-status').textContent.startsWith('Stopped')", timeout=90_000)
    print(f"\nplayground, stopped after {time.perf_counter() - started:.1f} s")
    write(page, "#pg-text", "namespace: acme\noperators:\n- func: f(Tensor x) -> Tensor\n")
    answered(page, number + 1)
    assert page.get_by_role("tab").count() > 1


def test_playground_works_offline_once_loaded(page: Any) -> None:
    """Without a network, a loaded playground answers texts of kinds that it has not answered before."""
    page.goto("playground/")
    number = answered(page)
    page.context.set_offline(True)
    page.select_option("#pg-kind", "backend")
    answered(page, number)
    assert page.get_by_role("tab", name="RegisterNpu.cpp").get_attribute("aria-selected") == "true"
