"""`import --edit` cuts the bytes of statements that a library file takes the place of, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.importing.cpp_reader import read_cpp_sources
from opwright.migrate.importing.python_reader import read_python_sources
from opwright.migrate.importing.source_edits import EditedSources, edited_sources
from opwright.source.text import SourceFile


def edited(text: str, path: str = "a.cpp") -> EditedSources:
    """A source without all that it registers, as if a comparison had proved all of it to be needless."""
    file = SourceFile(path, text)
    if path.endswith(".py"):
        rows = read_python_sources([file]).statements
        return edited_sources([file], [row.place for row in rows if row.schema and not row.at_run_time], [])
    read = read_cpp_sources([file], {})
    places = [row.place for row in read.statements if not row.at_run_time]
    return edited_sources([file], places, read.hidden, read.others)


def block(body: str, after: str = "") -> str:
    """A source with a block of registrations, and with functions for it."""
    functions = "at::Tensor f(const at::Tensor& x);\nbool on();\nint important;\n"
    return f"#include <torch/library.h>\n{functions}TORCH_LIBRARY(acme, m) {{\n{body}\n}}\n{after}"


DEFINE = 'm.def("f(Tensor x) -> Tensor");'
#: What stands in a block -> what is left of it.
CPP = {
    f"{DEFINE} important++;": " important++;",
    f"important++; {DEFINE}": "important++; ",
    f"{DEFINE} // why\nimportant++;": " // why\nimportant++;",
    f"/* a; */ {DEFINE} /* }} */ important++;": "/* a; */  /* } */ important++;",
    f"important++;\n#if A\n{DEFINE}\n#endif": "important++;\n#if A\n#endif",
    'important++;\nm.def("f(Tensor x) -> Tensor")\n  .impl("f", &f);\nm.def("g(Tensor x) -> Tensor");': "important++;",
    f"important++; \\\n{DEFINE}\n#if A\n#endif": "important++; \\\n\n#if A\n#endif",
    f'puts(R"({DEFINE})");\n{DEFINE}': f'puts(R"({DEFINE})");',
}
#: What stays as it is.
STAYS = (
    f"if (on()) {DEFINE}",
    f"if (on()) {{ {DEFINE} }}",
    f"if (on()) important++; else {DEFINE}",
    f"for (int i = 0; i < 1; ++i) {DEFINE}",
    f"do {DEFINE} while (on());",
    f"switch (important) {{ case 1: {DEFINE} }}",
    f"if (!on()) return;\n{DEFINE}",
    f"try {{ {DEFINE} }} catch (...) {{}}",
    f"on() && (m{DEFINE.removeprefix('m').removesuffix(';')}, true);",
    f"[&] {{ {DEFINE} }}();",
    f"SOME_MACRO {DEFINE}",
    f"SOME_MACRO(x) {DEFINE}",
    f"#ifdef A\nif (on())\n#else\nimportant++;\n#endif\n{DEFINE}",
    f"#ifdef A\nif (on()) {{\n#endif\n{DEFINE}\n#ifdef A\n}}\n#endif",
    f"if (on())\n#ifdef A\nimportant++;\n#endif\n{DEFINE}",
    f"auto& n = {DEFINE}",
    f"{DEFINE.removesuffix(';')}, important++;",
    f"// text \\ \n{DEFINE}",
    f"/* */ #if A\n{DEFINE}\n#endif",
    f"{DEFINE}\rimportant++;",
    f"%:if A\n{DEFINE}\n%:endif",
    'm.\\\ndef("f(Tensor x) -> Tensor"); im\\\nportant++;',
)


@pytest.mark.parametrize("body", CPP, ids=repr)
def test_other_code_on_the_lines_of_a_statement_stays(body: str) -> None:
    """Only the statement goes; a line of which nothing is left goes with it."""
    for newline in ("\n", "\r\n"):
        (after,) = edited(block(body).replace("\n", newline)).after.values()
        assert after == block(CPP[body]).replace("\n", newline)


@pytest.mark.parametrize("body", STAYS, ids=repr)
def test_what_cannot_be_cut_safely_stays(body: str) -> None:
    """Conditions, loops, macros, and forms that compilers read in other ways than one another."""
    text = block(f"important++;\n{body}")
    done = edited(text)
    assert done.after == {}
    read = read_cpp_sources([SourceFile("a.cpp", text)], {}).statements
    assert len(done.stays) == sum(not row.at_run_time for row in read)


@pytest.mark.parametrize("character", ["\f", "\v", "\x1c", "\x1e", "\x85", "\u2028"])
def test_lines_end_where_they_do_for_compilers(character: str) -> None:
    """Characters at which Python divides lines move no cut."""
    text = f"// {character}\nint before;\n{block(DEFINE)}int after;\n"
    (after,) = edited(text).after.values()
    assert after == text.replace(f"TORCH_LIBRARY(acme, m) {{\n{DEFINE}\n}}\n", "")


def test_blocks_go_and_comments_stay() -> None:
    """A block of which nothing is left goes, but for its comments; one with other code or a directive stays."""
    (after,) = edited(block(f"  // First.\n  {DEFINE}  // Last.", "int after;\n")).after.values()
    assert after == block("").replace("TORCH_LIBRARY(acme, m) {\n\n}\n", "// First.\n// Last.\nint after;\n")
    for body in (f'{DEFINE}\n#include "more.inc"', f"{DEFINE}\n#if A\n#endif"):
        (after,) = edited(block(body)).after.values()
        assert after == block(body).replace(f"{DEFINE}\n", "")


def test_macros_that_only_register_go() -> None:
    """A call of a macro goes if all that it stands for is registered elsewhere, and stays if it does more."""
    macro = '#define DEFINE(name) m.def(#name "(Tensor x) -> Tensor");\n'
    (after,) = edited(macro + block("DEFINE(f)\nDEFINE(g); important++;")).after.values()
    assert after == macro + block(" important++;")
    macro = macro.rstrip() + " important++;\n"
    assert edited(macro + block("DEFINE(f)")).after == {}


def test_declarations_that_other_code_names_stay() -> None:
    """A variable with registrations stays if something uses it, and if a condition decides about its value."""
    text = 'static auto r = torch::RegisterOperators("acme::f(Tensor x) -> Tensor", &f);\nint after;\n'
    (after,) = edited(text).after.values()
    assert after == "int after;\n"
    done = edited(text + "void* use() { return &r; }\n")
    assert not done.after
    assert [reason for _, reason in done.stays] == ["other code names it"]
    assert not edited(text.replace("= torch", "= on() ? torch").replace(");", ") : torch::RegisterOperators();")).after


@pytest.mark.parametrize(
    ("kind", "other", "goes"),
    [
        ("static auto", "", True),
        ("auto", "", False),
        ("static auto", '#include "a.cpp"\n', False),
        ("namespace { auto", "", True),
    ],
)
def test_declarations_that_other_files_cannot_name_go(kind: str, other: str, *, goes: bool) -> None:
    """Each file may have a registry of one name: a static one is that of its own file, unless another includes it."""
    registry = 'registry = torch::RegisterOperators().op("acme::%s(Tensor x) -> Tensor", &f);'
    text = f"#include <torch/script.h>\nat::Tensor f(const at::Tensor& x);\n{kind} {registry}{'}' * kind.count('{')}\n"
    texts = {"a.cpp": text % "a", "b.cpp": other + text % "b"}
    files = [SourceFile(path, text) for path, text in texts.items()]
    read = read_cpp_sources(files, {})
    done = edited_sources(files, [row.place for row in read.statements], [], read.others)
    assert ("a.cpp" in done.after) is goes
    assert [reason for place, reason in done.stays if place.path == "a.cpp"] == (
        [] if goes else ["other code names it"]
    )


def test_kernels_move_with_all_that_is_around_them() -> None:
    """A kernel that a condition divides, or whose new name means other things, stays where it is, and is named."""
    kernel = "at::Tensor f(const at::Tensor& x) { return x; }"
    register = 'TORCH_LIBRARY_IMPL(acme, CPU, m) { m.impl("f", f); }\n'
    text = f"namespace {{\nint a;\n{kernel}\n// Between.\n{kernel.replace('f(', 'g(')}\nint b;\n}}\n{register}"
    text = text.replace('("f", f);', '("f", f); m.impl("g", g);')
    (after,) = edited(text).after.values()
    assert after.count("namespace {") == 2
    assert f"int a;\n}}  // namespace\n\n{kernel}\n// Between.\n" in after
    divided = kernel.replace("f(const at::Tensor& x)", "f(\n#if A\nconst at::Tensor& x\n#else\nint y\n#endif\n)")
    done = edited(f"namespace {{\n{divided}\n}}\n{register}")
    assert done.after == {}
    assert "`f` cannot move out of its anonymous namespace" in done.stays[0][1]


PYTHON = {
    "if True:\n    {0}\n": "if True:\n    pass\n",
    "if True: {0}\n": "if True: pass\n",
    "if True:\n    {0}; {1}\n    a = 1\n": "if True:\n    a = 1\n",
    "a = 1; {0}; b = 2\n": "a = 1; b = 2\n",
    "a = 1; {0}; {1}\n": "a = 1; \n",
    "a = '''\n{0}\n'''; {0}  # why\n": "a = '''\n{0}\n'''  # why\n",
    "with a:\n\t{0}\n": "with a:\n\tpass\n",
}
PYTHON_STAYS = (
    "if a:\n    {0}\n",
    "try:\n    {0}\nexcept RuntimeError:\n    pass\n",
    "a and {0}\n",
    "{0} if a else 0\n",
    "[{0} for a in b]\n",
    "while a:\n    {0}\n",
    "for a in range(n):\n    {0}\n",
    "def register():\n    {0}\n",
    "a = {0}\n",
    "{0}, a()\n",
    "match a:\n    case 1:\n        {0}\n",
    "{0}\rb = 1\n",
)


@pytest.mark.parametrize("form", [*PYTHON, *PYTHON_STAYS], ids=repr)
def test_python(form: str) -> None:
    """A statement goes with its semicolon, or `pass` takes its place; what a condition decides about stays."""
    head = "import torch\nlib = torch.library.Library('acme', 'DEF')\n"
    calls = ("lib.define('f(Tensor x) -> Tensor')", "lib.define('g(Tensor x) -> Tensor')")
    text = head + form.replace("{0}", calls[0]).replace("{1}", calls[1])
    for newline in ("\n", "\r\n"):
        done = edited(text.replace("\n", newline), "a.py")
        if form in PYTHON_STAYS:
            assert done.after == {}
        else:
            (after,) = done.after.values()
            assert after == (head + PYTHON[form].replace("{0}", calls[0])).replace("\n", newline)


def test_a_run_names_what_stays_and_keeps_what_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A registration behind a branch stays and does not count as alike; mode and byte order mark are as before."""
    monkeypatch.chdir(tmp_path)
    text = block(f'{DEFINE} important++;\nif (on()) m.def("g(Tensor x) -> Tensor");')
    Path("a.cpp").write_text(text, encoding="utf-8-sig", newline="\r\n")
    os.chmod("a.cpp", 0o640)
    assert main(["import", "a.cpp", "--out", "o.yaml", "--edit"]) == 0
    printed = capsys.readouterr().out
    told = "`g`: a condition that is evaluated at run time decides whether it is registered"
    assert f"stays: a.cpp:7: {told}" in printed
    assert f"not compared: a.cpp:7: {told}" in printed
    assert "register 1 operator alike" in printed
    assert "deleted: a.cpp: 6\n" in printed
    assert "g(Tensor x)" not in Path("o.yaml").read_text()
    wanted = b"\xef\xbb\xbf" + text.replace(DEFINE, "").replace("\n", "\r\n").encode()
    assert Path("a.cpp").read_bytes() == wanted
    assert os.stat("a.cpp").st_mode & 0o777 == 0o640


def test_policies_without_semicolons_always_run() -> None:
    """PyTorch's macros for policies are statements with or without a semicolon behind them."""
    body = "KERNEL_CPU(acme, f, fp32)\nKERNEL_CPU(acme, g, fp32);\nif (on()) KERNEL_CPU(acme, h, fp32)"
    text = f"TORCH_LIBRARY_IMPL(acme, AutocastCPU, m) {{\n{body}\n}}\n"
    rows = read_cpp_sources([SourceFile("a.cpp", text)], {}).statements
    assert [(row.name, row.at_run_time) for row in rows] == [("acme.f", False), ("acme.g", False), ("acme.h", True)]
    text = text.replace("fp32)", 'R"(x}\nplugins: [evil])")', 1)
    read = read_cpp_sources([SourceFile("a.cpp", text)], {})
    assert [row.policy for row in read.statements] == ["fp32", "fp32"]
    assert len(read.unread) == 1
