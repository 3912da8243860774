"""Kernels are compared with C++ sources before a compiler is called, and only certain differences are reported."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opwright.libraries.extension.generated import check_kernels
from opwright.libraries.extension.inline import BuildFailed, inline
from opwright.source.diagnostic import Diagnostic, FaultsFound
from opwright.source.text import SourceFile
from tests.compile.conftest import program

__all__ = ["program"]

LIBRARY = SourceFile(
    "library.yaml",
    "namespace: acme\noperators:\n- func: scale(Tensor self, float by) -> Tensor\n  dispatch: {CPU: scale_cpu}\n",
)
WANTED = "acme::native::scale_cpu(at::Tensor const&, double)"

#: What sources of kernels use of PyTorch, for a compiler that has to be quick.
PRELUDE = """\
#include <cstdint>
#include <optional>
namespace at { struct Tensor {}; }
namespace torch { using at::Tensor; }
"""
BODY = "{ return self; }"

#: Sources with a function of the kernel's name, and whether a reader can be certain that it is none.
SOURCES = {
    "right": (f"at::Tensor scale_cpu(const at::Tensor& self, double by) {BODY}", False),
    "other namespace of the type": (f"torch::Tensor scale_cpu(const torch::Tensor& self, double by) {BODY}", False),
    "using": (f"using at::Tensor; Tensor scale_cpu(const Tensor& self, const double) {BODY}", False),
    "east const": (f"at::Tensor scale_cpu(at::Tensor const& self, double const by) {BODY}", False),
    "global names": (f"::at::Tensor scale_cpu(const ::at::Tensor& self, double by) {BODY}", False),
    "alias": (f"using real = double; at::Tensor scale_cpu(const at::Tensor& self, real by) {BODY}", False),
    "typedef": (f"typedef double real; at::Tensor scale_cpu(const at::Tensor& self, real by) {BODY}", False),
    "alias of a reference": (
        f"using In = const at::Tensor&; at::Tensor scale_cpu(In self, double by) {BODY}",
        False,
    ),
    "decltype": (f"at::Tensor scale_cpu(const at::Tensor& self, decltype(1.0) by) {BODY}", False),
    "trailing result": (f"auto scale_cpu(const at::Tensor& self, double by) -> at::Tensor {BODY}", False),
    "default": (f"at::Tensor scale_cpu(const at::Tensor& self, double by = 1.0) {BODY}", False),
    "attribute": (f"at::Tensor scale_cpu(const at::Tensor& self, [[maybe_unused]] double by) {BODY}", False),
    "macro as a type": (
        f"#define REAL double\nat::Tensor scale_cpu(const at::Tensor& self, REAL by) {BODY}",
        False,
    ),
    "macro as parameters": (
        f"#define TAKEN const at::Tensor& self, double by\nat::Tensor scale_cpu(TAKEN) {BODY}",
        False,
    ),
    "macro behind a parameter": (
        f"#define AND_BY , double by\nat::Tensor scale_cpu(const at::Tensor& self AND_BY) {BODY}",
        False,
    ),
    "macro as the name": (
        f"#define NAME scale_cpu\nat::Tensor NAME(const at::Tensor& self, double by) {BODY}",
        False,
    ),
    "macro as a function": (
        "#define DEFINE(name, type) at::Tensor name(const at::Tensor& self, type by) { return self; }\n"
        "DEFINE(scale_cpu, float)\nDEFINE(scale_cpu, double)",
        False,
    ),
    "macro beside an overload": (
        "#define DEFINE(name) at::Tensor name(const at::Tensor& self, double by) { return self; }\n"
        f"DEFINE(scale_cpu)\nat::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}",
        False,
    ),
    "macro with a pasted name": (
        "#define DEFINE(type) type scale_cpu(const type& self, double by) { return self; }\n"
        f"DEFINE(at::Tensor)\nat::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}",
        False,
    ),
    "overload": (
        f"at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}\n"
        f"at::Tensor scale_cpu(const at::Tensor& self, double by) {BODY}",
        False,
    ),
    "overload declared elsewhere": (
        f"at::Tensor scale_cpu(const at::Tensor& self, double by);\n"
        f"at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}",
        False,
    ),
    "condition": (
        f"#ifdef WIDE\nat::Tensor scale_cpu(const at::Tensor& self, double by) {BODY}\n"
        f"#else\nat::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}\n#endif",
        False,
    ),
    "condition inside": (
        f"at::Tensor scale_cpu(const at::Tensor& self,\n#ifndef NARROW\ndouble by\n#else\nfloat by\n#endif\n) {BODY}",
        False,
    ),
    "template": (f"template <class T> at::Tensor scale_cpu(const at::Tensor& self, T by) {BODY}", False),
    "template beside": (
        f"template <class T> at::Tensor scale_cpu(const T& self) {BODY}\n"
        f"at::Tensor scale_cpu(const at::Tensor& self, double by) {BODY}",
        False,
    ),
    "static": (f"static at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}", False),
    "anonymous": (f"namespace {{ at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY} }}", False),
    "inner namespace": (f"namespace more {{ at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY} }}", False),
    "class": (f"struct Owner {{ at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY} }};", False),
    "namespace of a macro": (
        "#define ACME_BEGIN namespace inner {\n#define ACME_END }\nACME_BEGIN\n"
        f"at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}\nACME_END\n"
        f"inline auto* user = &inner::scale_cpu;",
        False,
    ),
    "exported": (
        '#define ACME_EXPORT __attribute__((visibility("default")))\n'
        f"ACME_EXPORT at::Tensor scale_cpu(const at::Tensor& self, double by) {BODY}",
        False,
    ),
    "renamed": (
        f"#define scale_cpu narrow_cpu\nat::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}\n"
        f"#undef scale_cpu\n#define make(f) at::Tensor f(const at::Tensor& self, double by) {BODY}\nmake(scale_cpu)",
        False,
    ),
    "call": ("inline void user() { extern int scale_cpu(float); }", False),
    "another type": (f"at::Tensor scale_cpu(const at::Tensor& self, float by) {BODY}", True),
    "by value": (f"at::Tensor scale_cpu(at::Tensor self, double by) {BODY}", True),
    "reference to a number": (f"at::Tensor scale_cpu(const at::Tensor& self, const double& by) {BODY}", True),
    "not const": (f"at::Tensor scale_cpu(at::Tensor& self, double by) {BODY}", True),
    "missing argument": (f"at::Tensor scale_cpu(const at::Tensor& self) {BODY}", True),
    "new argument": (f"at::Tensor scale_cpu(const at::Tensor& self, double by, int64_t n) {BODY}", True),
    "new argument with a default": (
        f"at::Tensor scale_cpu(const at::Tensor& self, double by, bool twice = false) {BODY}",
        True,
    ),
    "optional": (f"at::Tensor scale_cpu(const at::Tensor& self, std::optional<double> by) {BODY}", True),
    "pointer": ("at::Tensor scale_cpu(const at::Tensor* self, double by) { return *self; }", True),
    "empty": ("at::Tensor scale_cpu(const at::Tensor& self, float by) {}", True),
    "long words": (f"at::Tensor scale_cpu(const at::Tensor& self, unsigned long) {BODY}", True),
}


def reported(text: str) -> list[Diagnostic]:
    """What is reported of a source."""
    try:
        check_kernels([LIBRARY], [SourceFile("kernels.cpp", text)])
    except FaultsFound as error:
        return list(error.diagnostics)
    return []


@pytest.mark.thorough
def test_only_what_the_linker_misses_is_reported(program: str, tmp_path: Path) -> None:
    """What is reported is defined in no object that a compiler makes of the source, and what is certain is reported."""
    wrong = []
    for number, (name, (text, is_certain)) in enumerate(SOURCES.items()):
        source = tmp_path / f"{number}.cpp"
        source.write_text(f"{PRELUDE}namespace acme::native {{\n{text}\n}}\n")
        done = subprocess.run(
            [program, "-std=c++17", "-c", source.name, "-o", f"{number}.o"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (name, done.stderr)
        symbols = subprocess.run(["nm", "-C", f"{number}.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
        is_defined = any(f" T {WANTED}" in line or f" W {WANTED}" in line for line in symbols.stdout.splitlines())
        found = reported(source.read_text())
        if bool(found) is not is_certain or (found and is_defined):
            wrong.append((name, is_defined, [diagnostic.message for diagnostic in found]))
    assert not wrong


def test_both_places_are_named() -> None:
    """The message has the entry and the wanted type, and the place of the function with the type that it has."""
    (diagnostic,) = reported(f"\nnamespace acme::native {{\n{SOURCES['another type'][0]}\n}}")
    assert diagnostic.code == "E1210"
    assert diagnostic.message == "`acme::native::scale_cpu` is wanted as `at::Tensor (const at::Tensor &, double)`"
    kernel, function = diagnostic.labels
    assert (kernel.span.file.path, kernel.span.text) == ("library.yaml", "scale_cpu")
    assert function.span.file.path == "kernels.cpp"
    assert function.span.text == "at::Tensor scale_cpu(const at::Tensor& self, float by)"
    assert function.text == "is defined as `at::Tensor (const at::Tensor&, float)`"


@pytest.mark.parametrize(
    ("entry", "source"),
    [
        ("  if: WITH_SCALE", ""),
        ("  manual_kernel_registration: True", ""),
        ("  dispatch: {CPU: other_cpu}", ""),
        ("", "at::Tensor scale_cpu(const at::Tensor& self, double by);"),
    ],
)
def test_headers_and_conditions_count(tmp_path: Path, entry: str, source: str) -> None:
    """Nothing is reported of kernels of some builds, or if a header that a source includes declares the right type."""
    text = LIBRARY.text if source else LIBRARY.text.replace("  dispatch: {CPU: scale_cpu}", entry)
    (tmp_path / "scale.h").write_text(f"namespace acme::native {{ {source} }}")
    kernels = tmp_path / "kernels.cpp"
    kernels.write_text(f'#include "scale.h"\nnamespace acme::native {{ {SOURCES["another type"][0]} }}')
    check_kernels([SourceFile("library.yaml", text)], [SourceFile.read(str(kernels))])


def test_inline_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`inline` ends before it calls the compiler, with both places."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(BuildFailed, match=r"(?s)error\[E1210\].*<inline yaml>:4.*<inline cpp>:1") as failed:
        inline(LIBRARY.text, f"namespace acme::native {{ {SOURCES['missing argument'][0]} }}")
    assert not failed.value.output
