"""Sources that ask `opwright port` for too much: it answers in seconds, with little memory, and says where it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from opwright.cli.main import main
from opwright.libraries.extension.toolchain import Toolchain
from opwright.migrate.porting import compile_check, run
from opwright.migrate.porting.compile_check import CompiledPort, CompileError
from opwright.migrate.porting.run import PortRequest, compiled_port, port_sources
from opwright.source.diagnostic import Fault
from opwright.source.span import SourceText
from opwright.syntax import budget
from opwright.syntax.budget import SourceBudget
from opwright.syntax.cpp_functions import statements
from opwright.syntax.cpp_source import read_cpp
from tests.fuzz.run import memory_limit

#: Texts whose work was the square of their length, or more memory than a machine has.
_QUICK = {
    "unclosed launches": "a" + "<" * 30_000,
    "blocks that do not end": "TORCH_LIBRARY(a, m) {\n" * 5_000,
    "many blocks": "TORCH_LIBRARY(a, m) {}\n" * 5_000,
    "macros": "#define M(a) a.size(0); at::empty({1});\n" * 2_000,
    "launches": "k<<<1, 2>>>(a);\n" * 12_000,
}
_TOO_MUCH = {
    "unclosed templates": "void f() { " + "a<" * 1_500_000 + " }\n",
    "characters": "int x;\n" * 600_000,
}


def _port(text: str, folder: Path) -> None:
    (folder / "a.cpp").write_text(text)
    port_sources(PortRequest((str(folder),), "", "", (2, 10), "[]"))


@pytest.mark.thorough
@pytest.mark.alone
@pytest.mark.parametrize("text", _QUICK.values(), ids=_QUICK)
def test_time_and_memory_follow_the_length(text: str, tmp_path: Path) -> None:
    """The work for a text is not the square of its length."""
    start = time.process_time()
    with memory_limit(400):
        _port(text, tmp_path)
    assert time.process_time() - start < 8


@pytest.mark.thorough
@pytest.mark.alone
def test_errors_of_a_long_source_are_placed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find the lines of the source for many errors takes no time for each pair of an error and a line."""
    (tmp_path / "a.cpp").write_text(
        "#include <torch/all.h>\n" + "int at::Tensor(a, b, c); at::Tensor f(int);\n" * 10_000
    )
    request = PortRequest((str(tmp_path),), "", "", (2, 10), "[]")
    ported = port_sources(request)
    lines = ported.files[0].after.count(b"\n")
    errors = [CompileError(ported.files[0].path, line, "no") for line in range(2, lines + 1)]
    monkeypatch.setattr(run, "compile_ported", lambda *_: CompiledPort(errors, {}, "2.13"))
    start = time.process_time()
    checked, compiled = compiled_port(ported, request)
    assert time.process_time() - start < 2
    assert {error.line for error in compiled.errors} >= set(range(2, 10_002))
    assert not checked.files[0].done - {1}


@pytest.mark.thorough
@pytest.mark.alone
@pytest.mark.parametrize("text", _TOO_MUCH.values(), ids=_TOO_MUCH)
def test_too_much_work_is_a_diagnostic(text: str, tmp_path: Path) -> None:
    """A source that needs gigabytes is E0006 at a place in it."""
    with memory_limit(1_500), pytest.raises(Fault) as raised:
        _port(text, tmp_path)
    assert raised.value.diagnostic.code == "E0006"
    assert raised.value.diagnostic.span is not None
    assert raised.value.diagnostic.span.start > 100_000


def _read(text: str, folder: Path) -> None:
    list(statements(read_cpp("a.cpp", text)))


@pytest.mark.parametrize("read", [_port, _read])
def test_a_source_has_seconds(
    read: Callable[[str, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that takes more than its seconds is E0006, for what ports it and what reads its statements."""
    monkeypatch.setattr(budget, "SOURCE_SECONDS", -1)
    with pytest.raises(Fault) as raised:
        read("int f() { return 1; }\n" * 2_000, tmp_path)
    assert raised.value.diagnostic.code == "E0006"
    assert "seconds" in raised.value.diagnostic.message


def test_places_in_bytes() -> None:
    """A place in bytes is that of the same character."""
    comment = "// \u00e4\u00f6\n"
    source = SourceBudget(SourceText("a.cpp", f"{comment}int x;"), in_bytes=True)
    fault = source.fault("no", len(comment.encode()))
    assert fault.diagnostic.span is not None
    assert fault.diagnostic.span.line == 2
    assert fault.diagnostic.span.column == 1


@pytest.mark.parametrize("index", ["Slice", "Slice{}", "Slice<int>", "Slice(", "None(", "Ellipsis::x"])
def test_indices_that_are_no_calls(index: str, tmp_path: Path) -> None:
    """An index that only has the name of a slice is code that stays, or is ported, and no error of the program."""
    _port(f"at::Tensor f(at::Tensor x) {{ return x.index({{{index}}}); }}\n", tmp_path)


def test_a_name_that_no_file_has_is_passed_over(tmp_path: Path) -> None:
    """An include directive may name what no system takes as a path."""
    _port('#include "a\0b.h"\nat::Tensor f(const at::Tensor& x) { return x + x; }\n', tmp_path)


def test_a_compiler_has_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source whose compiler does not end is named, and the others are compiled."""
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\ncase "$*" in *slow.cpp) sleep 600 & wait;; esac\n')
    compiler.chmod(0o755)
    toolchain = Toolchain((str(compiler),), (), (), "", ())
    monkeypatch.setattr(compile_check, "find_toolchain", lambda: toolchain)
    monkeypatch.setattr(compile_check, "import_torch", lambda: SimpleNamespace(__version__="2.13.0"))
    monkeypatch.setattr(compile_check, "PROGRAM_SECONDS", 2)
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("slow", "quick"):
        (sources / f"{name}.cpp").write_text("#include <torch/all.h>\nint f(at::Tensor a) { return a.size(0); }\n")
    assert main(["port", "--stable", str(sources), "--check"]) in (0, 1)
    output = "".join(capsys.readouterr())
    assert output.count("not compiled: ") == 1
    assert f"not compiled: {sources / 'slow.cpp'}: the compiler took more than 2 seconds" in output
