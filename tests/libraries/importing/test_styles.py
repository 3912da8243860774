"""Styles of registration, each with a namespace of its own in `styles`: none is silent, and none is falsely alike."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.migrate.importing.process import loaded_library
from opwright.migrate.importing.run import ImportRequest, read_operators, write_import
from opwright.source.diagnostic import Fault

STYLES = Path(__file__).parent / "styles"
#: The sources with styles, by the first letter of the names of these.
SOURCES = {
    "s": "styles.cpp",
    "p": "styles.py",
    "t": "further.cpp",
    "q": "further.py",
    "u": "latest.cpp",
    "v": "latest.py",
}
#: The kernels that `custom_op` registers beside those that a source names.
BY_CUSTOM_OP = ("Autograd", "ADInplaceOrView", "Meta")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the styles, from which processes import."""
    copy = tmp_path / "sources"
    copy.mkdir()
    for path in STYLES.iterdir():
        shutil.copy(path, copy / path.name.removesuffix(".txt"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(copy))
    return copy


def build(source: Path, library: Path) -> None:
    """Compile a source into a library that PyTorch loads."""
    paths = pytest.importorskip("torch.utils.cpp_extension")
    includes = [word for path in paths.include_paths() for word in ("-isystem", path)]
    (folder,) = paths.library_paths()[:1]
    words = ["-O0", "-std=c++20", "-fPIC", "-shared", "-w", f"-L{folder}", "-ltorch", "-ltorch_cpu", "-lc10"]
    subprocess.run(["g++", str(source), "-o", str(library), *includes, *words], check=True)


@pytest.fixture
def modules(sources: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The modules and the libraries of all styles, which are built."""
    for name in ("styles", "further", "latest", "second"):
        build(sources / f"{name}.cpp", sources / f"built_{name}.so")
    monkeypatch.setenv("T18", str(sources / "built_second.so"))
    built = [str(sources / f"built_{name}.so") for name in ("styles", "further", "latest")]
    return ("styles", "further_late", "latest", *built)


def test_places_of_each_style_are_named(sources: Path) -> None:
    """Of each style, the operators are read, or a place says that something was not."""
    read = read_operators(ImportRequest((str(sources),), (), {}, "o.yaml"))
    namespaces = {operator.namespace for operator in read.imported.operators}
    texts = [(sources / path).read_text() for path in SOURCES.values()]
    names = {name for text in texts for name in re.findall(r"\b[sptquv]\d\d\b", text)}
    assert len(names) >= 240
    for name in sorted(names - namespaces):
        path = SOURCES[name[0]]
        rows = (sources / path).read_text().splitlines()
        told = {place.first for place, _ in read.imported.left if place.path.endswith(path)}
        assert any(name in "".join(rows[max(number - 3, 0) : number]).lower() for number in told), name


#: Registrations that stand in a file alone, of operators of another one.
LONE = [
    'static auto h = c10::Dispatcher::singleton().registerImpl({"lone::f", ""}, key, kernel, schema, nullptr, "x");',
    'static int n = aoti_torch_library_impl(library, "f", &boxed);',
    'void more(Lib& l) { l . impl ("f", c10::DispatchKey::AutogradCPU, &same); }',
    'static auto& done = library->impl("f", &same);',
    'static auto t = torch::class_<Thing>("lone", "Thing");',
    "from torch import library\nlibrary.define('lone::g', '(Tensor x) -> Tensor')",
    "import torch\n@torch.ops.lone.f.default.py_impl(torch._C.DispatchKey.AutogradCPU)\ndef f(x): return x",
    "import torch\ntorch.ops.lone.f.default.py_kernels[key] = lambda x: x",
    "import torch\nm = torch._C._dispatch_library('IMPL', 'lone', '')",
    "from torch._library.custom_ops import CustomOpDef\ng = CustomOpDef('lone', 'g', schema, lambda x: x)",
    "from a import lib\nlib.define('g(Tensor x) -> Tensor')",
    "import a\na.lib . impl ('f', lambda x: x, 'AutogradCPU')",
]


@pytest.mark.parametrize("text", LONE)
def test_files_with_one_registration_alone_are_read(text: str, tmp_path: Path) -> None:
    """A file without the usual words is not silent: it is read, or its place is named."""
    in_python = "import " in text
    (tmp_path / "b.py" if in_python else tmp_path / "b.cpp").write_text(f"{text}\n")
    (tmp_path / "a.cpp").write_text('TORCH_LIBRARY(lone, m) { m.def("f(Tensor x) -> Tensor"); }\n')
    (tmp_path / "a.py").write_text("from torch.library import Library\nlib = Library('lone', 'FRAGMENT')\n")
    read = read_operators(ImportRequest((str(tmp_path),), (), {}, "o.yaml"))
    places = [place for place, _ in read.imported.left] + [row.place for row in read.statements]
    assert any(os.path.basename(place.path).startswith("b.") for place in places)


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
@pytest.mark.skipif(sys.platform != "linux", reason="the compiler is called as on Linux")
def test_no_style_is_silent_or_falsely_alike(sources: Path, modules: tuple[str, ...]) -> None:
    """Each operator and each kernel of the process is in the file or named, and no silence counts as equality."""
    loaded = loaded_library(modules)
    assert len({namespace for namespace, _ in loaded.operators}) >= 230
    request = ImportRequest((str(sources),), modules, {}, "o.yaml")
    written = write_import(request, force=False)
    assert written.told is not None
    text = Path("o.yaml").read_text()
    told = "\n".join([*written.told.lines, written.told.summary, *[reason for _, reason in written.left]])
    unmentioned, unnamed = [], []
    for (namespace, name), operator in loaded.operators.items():
        prefix = "" if f"\nnamespace: {namespace}\n" in text else f"{namespace}::"
        entry = re.search(rf"func: {prefix}{re.escape(operator.schema)}(?:\n  .*)*", text)
        if f"`{namespace}::{name}`" not in told and entry is None:
            unmentioned.append(f"{namespace}::{name}")
        by_hand = entry is None or "manual_kernel_registration" in entry[0]
        if entry is not None and not by_hand:
            unnamed += [f"{namespace}::{name} {key}" for key in operator.kernels
                        if key not in entry[0] and f"`{namespace}::{name}`: no source that was read has" not in told
                        and not (key == "CompositeImplicitAutograd" and "dispatch" not in entry[0])]  # fmt: skip
    assert not unmentioned
    assert not unnamed
    for scripted in ("t10::f", "torch.classes.t11.Thing.get", "torch.classes.s62.Thing.get"):
        assert f"not explained: `{scripted}`: TorchScript alone has it" in told


#: What styles use of the other files, by the file with the styles.
OTHER_FILES = {
    "styles.cpp": r"(?i)more",
    "styles.py": r"NAMES|TABLE|\bBase\b|_of\b|key_of_device|register_more|more_styles",
    "further.cpp": r"T30|dlopen",
    "further.py": r"further_names|kernel_|NS|plain_of_names|q13|q18",
    "latest.cpp": "(?!)",
    "latest.py": "(?!)",
}


def pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """The styles of a source: the name, what stands before all of them, and the style."""
    first: dict[str, int] = {}
    for match in re.finditer(r"(?i)\b([sptquv]\d\d)(?=\b|_|[a-z])", text):
        first.setdefault(match[1].lower(), text.rindex("\n", 0, match.start()) + 1)
    starts = [*first.values(), len(text)]
    for number, name in enumerate(first):
        yield name, text[: starts[0]], text[starts[number] : starts[number + 1]]


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
@pytest.mark.skipif(sys.platform != "linux", reason="the compiler is called as on Linux")
def test_no_style_by_itself_is_falsely_alike(sources: Path, modules: tuple[str, ...]) -> None:
    """Without the process, an operator of which nothing is named has each kernel of the process."""
    operators = loaded_library(modules).operators
    alike, false = 0, []
    for source, other_files in OTHER_FILES.items():
        for name, head, style in pieces((sources / source).read_text()):
            folder = Path(name)
            folder.mkdir()
            (folder / source).write_text(head + style)
            if re.search(other_files, style):
                for path in [*sources.glob("more*"), *sources.glob("further_*.py"), *sources.glob("*.ipp")]:
                    shutil.copy(path, folder)
                if name == "t18":
                    shutil.copy(sources / "second.cpp", folder)
            with contextlib.suppress(Fault):
                read = read_operators(ImportRequest((str(folder),), (), {}, "o.yaml"))
                for operator, loaded in operators.items():
                    rows = [row for row in read.statements if (row.namespace, row.name) == operator]
                    if operator[0] != name or not rows or any(row.is_unread or row.at_run_time for row in rows):
                        continue
                    alike += 1
                    keys = {key for row in rows for key in row.keys}
                    by_custom_op = any(row.registrar for row in rows)
                    false += [f"{'::'.join(operator)} {key}" for key in loaded.kernels
                              if key not in keys and not (by_custom_op and key in BY_CUSTOM_OP)]  # fmt: skip
    assert not false
    assert alike >= 40
