"""Operators from a few lines of YAML and C++, built when a script or a notebook runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Final, NamedTuple

from opwright.cpp.text import include_line
from opwright.files.lock import folder_lock
from opwright.incremental.identity import tool_identity
from opwright.libraries import library_codes
from opwright.libraries.extension.formula_errors import failed_findings, formula_at
from opwright.libraries.extension.generated import GeneratedCode, write_code
from opwright.libraries.extension.kept import KeptResult, code_cache, find_kept, keep, short_hash, with_others
from opwright.libraries.extension.kernel_types import check_kernel_types
from opwright.libraries.extension.live import load_library
from opwright.libraries.extension.steps import BuildStep, StepFailed, compile_objects, run_steps
from opwright.libraries.extension.toolchain import Toolchain, find_toolchain, missing_header, named_headers
from opwright.libraries.operator_library import OperatorLibrary
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report
from opwright.source.span import Span
from opwright.source.terminal import say_rendered
from opwright.source.text import SourceFile

YAML_NAME: Final = "<inline yaml>"
CPP_NAME: Final = "<inline cpp>"
CUDA_NAME: Final = "<inline cuda>"
DERIVATIVES_NAME: Final = "<inline derivatives>"


class BuildFailed(FaultsFound):
    """Mistakes in the texts of a library. As text, they are reported with the lines in which they are.

    `output` is what the compiler wrote, if it was called.
    """

    output: str

    def __init__(self, diagnostics: Sequence[Diagnostic], output: str = "") -> None:
        super().__init__(diagnostics)
        self.output = output

    def __str__(self) -> str:
        return "\n" + render_report(self.diagnostics, color=False) + ("\n" + self.output if self.output else "")


class _Texts(NamedTuple):
    """What the user wrote."""

    yaml: str
    cpp: str
    cuda: str | None
    derivatives: str | None

    def kernels(self) -> dict[str, SourceFile]:
        """The texts with kernels, by the names of the sources that they become."""
        cuda = {} if self.cuda is None else {"inline_cuda.cu": SourceFile(CUDA_NAME, self.cuda)}
        return {"inline.cpp": SourceFile(CPP_NAME, self.cpp), **cuda}

    def key(self, toolchain: Toolchain) -> str:
        """A name that other texts, another compiler, PyTorch or Opwright, or other arguments change.

        The working folder is part of it: the texts name files by their paths from there.
        """
        return short_hash(*map(repr, (self, toolchain, tool_identity(), os.getcwd())))


def inline(
    yaml: str,
    cpp: str,
    *,
    cuda: str | None = None,
    derivatives: str | None = None,
    name: str | None = None,
    verbose: bool = False,
) -> ModuleType:
    """Build the operators of a library file's text with the C++ text of their kernels, and load them.

    Gives a module with a Python function for each operator. `cuda` is the text of kernels for `CUDA`, which `nvcc`
    compiles. `derivatives` is the text of a `derivatives.yaml` for the operators. `name` is that of the module, by
    default the namespace of the operators. With `verbose`, print the commands of the build.

    The texts can use PyTorch's tensors, and the library's operators and kernels are declared; it includes what
    else it needs, such as `ATen/ops/add.h`. The result is kept in the user's cache folder, where the next process that
    asks for the same finds it, unless a file changed that the texts name or include. Processes that build the same wait
    for one of them.

    A call with another text for the same namespace replaces its operators, as a cell of a notebook does that runs
    again: calls, gradients, fakes and compiled functions use the new ones. Warnings about the texts are printed when
    they are built.

    Raises BuildFailed with the mistakes in the texts, and Fault if PyTorch or a compiler is missing.

    >>> acme = inline(  # doctest: +SKIP
    ...     yaml="- {func: 'acme::twice(Tensor self) -> Tensor', dispatch: {CPU: twice}}",
    ...     cpp="namespace acme::native { at::Tensor twice(const at::Tensor& self) { return self + self; } }",
    ... )
    >>> acme.twice(torch.ones(2))  # doctest: +SKIP
    tensor([2., 2.])
    """
    return load_library(build_texts(yaml, cpp, cuda=cuda, derivatives=derivatives, verbose=verbose), name)


def build_texts(
    yaml: str,
    cpp: str,
    *,
    cuda: str | None = None,
    derivatives: str | None = None,
    verbose: bool = False,
    flags: tuple[str, ...] = (),
) -> str:
    """Build what `inline` loads. Gives the folder with the shared object and the modules. Raises what `inline` does.

    `flags` are more flags for the C++ compiler, which also links.
    """
    texts = _Texts(yaml, cpp, cuda, derivatives)
    toolchain = find_toolchain(cuda=cuda is not None)
    toolchain = toolchain._replace(compile=(*toolchain.compile, *flags), link=(*toolchain.link, *flags))
    key = texts.key(toolchain)
    top = code_cache()
    build = find_kept(top, key)
    if build is None:
        with folder_lock(os.path.join(top, "locks", key)):
            build = find_kept(top, key)
            if build is None:
                with _reported_mistakes():
                    build = _build(texts, toolchain, top, key, verbose=verbose)
    return build.path


@contextlib.contextmanager
def _reported_mistakes() -> Iterator[None]:
    """Raise the mistakes in the texts as one exception that shows them."""
    try:
        yield
    except BuildFailed:
        raise
    except FaultsFound as error:
        raise BuildFailed(error.diagnostics) from None
    except Fault as error:
        raise BuildFailed([error.diagnostic]) from None


def _build(texts: _Texts, toolchain: Toolchain, top: str, key: str, *, verbose: bool) -> KeptResult:
    """Make the folder with the shared object and the Python modules, complete or not at all."""
    derivatives = None if texts.derivatives is None else SourceFile(DERIVATIVES_NAME, texts.derivatives)
    sink = Diagnostics()
    with tempfile.TemporaryDirectory(prefix=".build-", dir=top) as work:
        code, libraries = write_code(SourceFile(YAML_NAME, texts.yaml), derivatives, work, sink)
        namespace = _only_namespace(code.namespaces)
        check_kernel_types(libraries, [*texts.kernels().values()], sink)
        sink.raise_if_errors()
        result = os.path.join(work, "result")
        os.mkdir(result)
        kernels = [_write_kernels(text, code, os.path.join(work, name)) for name, text in texts.kernels().items()]
        try:
            objects = compile_objects([*code.sources, *kernels], code, toolchain, work, verbose=verbose)
            shared = os.path.join(result, f"{namespace}.so")
            paths = tuple([compiled.path for compiled in objects])
            link = (*toolchain.compiler, *paths, "-o", shared, *toolchain.link, *_hidden_symbols(work))
            run_steps([BuildStep(shared, paths, link)], work, verbose=verbose)
        except StepFailed as error:
            raise BuildFailed(_diagnostics(str(error), texts, code, libraries, sink), str(error)) from None
        if len(sink):
            say_rendered(render_report(sink.sorted(), color=False) + "\n")
        for module in code.modules:
            shutil.copy(module, result)
        assert code.stamps is not None, "the inputs of the installed PyTorch are on this machine"
        return keep(top, key, with_others(code.stamps, [compiled.stamps for compiled in objects]), result)


def _only_namespace(namespaces: Sequence[str]) -> str:
    """The only namespace. Raises Fault for none or several (E1205)."""
    if len(namespaces) == 1:
        return namespaces[0]
    if not namespaces:
        raise Fault.at(library_codes.NO_LIBRARY, "the YAML has no operators", help="add entries to it")
    quoted = " and ".join(f"`{namespace}`" for namespace in namespaces)
    message = f"the YAML has operators of {len(namespaces)} namespaces: {quoted}"
    raise Fault.at(library_codes.NO_LIBRARY, message, help="write one call for each namespace")


def _write_kernels(text: SourceFile, code: GeneratedCode, path: str) -> str:
    """Write a source with a text of the user, whose lines the compiler counts as the user does. Gives its path."""
    headers = [header for header in code.headers if os.path.basename(header) in ("kernels.h", "ops.h")]
    with open(path, "w", encoding="utf-8") as stream:
        included = [os.path.relpath(header, code.include) for header in headers]
        stream.writelines([f"{include_line(header)}\n" for header in (*included, *named_headers(text.text))])
        stream.write(f'#line 1 "{text.path}"\n{text.text}\n')
    return path


def _hidden_symbols(work: str) -> tuple[str, ...]:
    """Arguments of the linker with which a shared object shares no symbol with others of its process.

    Variables of inline functions and templates are else one for all versions of a library: the first one's.
    """
    if sys.platform == "darwin":
        return ()
    path = os.path.join(work, "symbols")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("{ global: opwright_register; local: *; };\n")
    return (f"-Wl,--version-script={path}",)


#: An error of the C++ compiler, or of CUDA's, which names no column.
_COMPILER_ERROR: Final = re.compile(r"^(\S.*?)(?::(\d+):(\d+)|\((\d+)\)): (?:fatal )?error: (.*)$", re.MULTILINE)
_UNDEFINED: Final = re.compile(r"undefined (?:reference to [`']|symbol: )([^'\n]+)")


def _diagnostics(
    output: str, texts: _Texts, code: GeneratedCode, libraries: Sequence[OperatorLibrary], findings: Diagnostics
) -> list[Diagnostic]:
    """What was found before the compiler ran, and errors in the output of compiler and linker.

    These are errors in the user's texts, formulas included, and kernels that are missing.
    """
    sink = Diagnostics()
    sink.extend(failed_findings(findings))
    by_name = {text.path: text for text in texts.kernels().values()}
    for name, line, column, line_alone, message in _COMPILER_ERROR.findall(output):
        if name in by_name:
            span = _span_in(by_name[name], int(line or line_alone), int(column or 0))
        elif name in code.sources and column:
            generated = SourceFile.read(name).text
            formula = formula_at(libraries, generated, int(line), int(column))
            if formula is None or any(_overlaps(formula, diagnostic.span) for diagnostic in sink.sorted()):
                continue
            span = formula
        else:
            continue
        header = missing_header(message)
        sink.error(library_codes.COMPILER_ERROR, message, span, help=f"add `{include_line(header)}`" if header else "")
    for kernel in dict.fromkeys(_UNDEFINED.findall(output)):
        sink.error(
            library_codes.UNDEFINED,
            f"`{kernel}` is declared and not defined",
            help="define it in this namespace and with these types",
        )
    if not sink.has_errors:
        sink.error(library_codes.COMPILER_ERROR, "the C++ compiler reports errors, which follow")
    return list(sink.sorted())


def _span_in(text: SourceFile, line: int, column: int) -> Span:
    """The word at a place of a text, or what a line has if there is no column."""
    *before, row = text.text.splitlines(keepends=True)[:line] or [""]
    start = sum(map(len, before)) + (column - 1 if column else len(row) - len(row.lstrip()))
    word = re.compile(r"\w*" if column else r".*").match(text.text, start)
    return text.span(start, max(start + 1, word.end()) if word else start)


def _overlaps(formula: Span, other: Span | None) -> bool:
    return other is not None and formula.file is other.file and formula.start < other.end and other.start < formula.end
