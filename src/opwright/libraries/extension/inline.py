"""Operators from a few lines of YAML and C++, built when a script or a notebook runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Final, NamedTuple

from opwright.files.lock import FolderLock
from opwright.incremental.identity import tool_identity
from opwright.libraries.extension.generated import GeneratedCode, check_kernels, write_code
from opwright.libraries.extension.kept import KeptResult, code_cache, find_kept, keep, short_hash
from opwright.libraries.extension.steps import BuildStep, StepFailed, compile_objects, run_steps
from opwright.libraries.extension.toolchain import Toolchain, find_toolchain, import_torch
from opwright.source import codes
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report
from opwright.source.text import SourceFile
from opwright.syntax.cpp import include_line

YAML_NAME: Final = "<inline yaml>"
CPP_NAME: Final = "<inline cpp>"
CUDA_NAME: Final = "<inline cuda>"
DERIVATIVES_NAME: Final = "<inline derivatives>"


class _Loaded(NamedTuple):
    """A library in this process: the folder of its build, and the modules that registered something for it."""

    folder: str
    modules: dict[str, ModuleType]


#: The modules of a library that register something.
_REGISTERING: Final = ("_fakes", "_overlap", "_autograd", "_autocast", "_kernels")


#: The libraries that this process has loaded, by namespace.
_LOADED: Final[dict[str, _Loaded]] = {}


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

    Raises BuildFailed with the mistakes in the texts, and Fault if PyTorch or a compiler is missing.

    >>> acme = inline(  # doctest: +SKIP
    ...     yaml="- {func: 'acme::twice(Tensor self) -> Tensor', dispatch: {CPU: twice}}",
    ...     cpp="namespace acme::native { at::Tensor twice(const at::Tensor& self) { return self + self; } }",
    ... )
    >>> acme.twice(torch.ones(2))  # doctest: +SKIP
    tensor([2., 2.])
    """
    texts = _Texts(yaml, cpp, cuda, derivatives)
    toolchain = find_toolchain(cuda=cuda is not None)
    key = texts.key(toolchain)
    top = code_cache()
    build = find_kept(top, key)
    if build is None:
        with FolderLock(os.path.join(top, "locks", key)):
            build = find_kept(top, key)
            if build is None:
                with _reported_mistakes():
                    build = _build(texts, toolchain, top, key, verbose=verbose)
    return _load(build.path, name)


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
    with tempfile.TemporaryDirectory(prefix=".build-", dir=top) as work:
        yaml = SourceFile(YAML_NAME, texts.yaml)
        code = write_code(yaml, derivatives, work)
        namespace = _only_namespace(code.namespaces)
        check_kernels([yaml], [*texts.kernels().values()])
        result = os.path.join(work, "result")
        os.mkdir(result)
        kernels = [_write_kernels(text, code, os.path.join(work, name)) for name, text in texts.kernels().items()]
        try:
            objects = compile_objects([*code.sources, *kernels], code, toolchain, work, verbose=verbose)
            shared = os.path.join(result, f"{namespace}.so")
            paths = tuple([compiled.path for compiled in objects])
            link = (*toolchain.compiler, *paths, "-o", shared, *toolchain.link)
            run_steps([BuildStep(shared, paths, link)], work, verbose=verbose)
        except StepFailed as error:
            raise BuildFailed(_diagnostics(str(error), [*texts.kernels().values()]), str(error)) from None
        for module in code.modules:
            shutil.copy(module, result)
        assert code.stamps is not None, "the inputs of the installed PyTorch are on this machine"
        return keep(top, key, code.stamps.with_others([compiled.stamps for compiled in objects]), result)


def _only_namespace(namespaces: Sequence[str]) -> str:
    """The only namespace. Raises Fault for none or several (E1205)."""
    if len(namespaces) == 1:
        return namespaces[0]
    if not namespaces:
        raise Fault.at(codes.NO_LIBRARY, "the YAML has no operators", help="add entries to it")
    quoted = " and ".join(f"`{namespace}`" for namespace in namespaces)
    message = f"the YAML has operators of {len(namespaces)} namespaces: {quoted}"
    raise Fault.at(codes.NO_LIBRARY, message, help="write one call for each namespace")


def _write_kernels(text: SourceFile, code: GeneratedCode, path: str) -> str:
    """Write a source with a text of the user, whose lines the compiler counts as the user does. Gives its path."""
    headers = [header for header in code.headers if os.path.basename(header) in ("kernels.h", "ops.h")]
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines([f"{include_line(os.path.relpath(header, code.include))}\n" for header in headers])
        stream.write(f'#line 1 "{text.path}"\n{text.text}\n')
    return path


#: An error of the C++ compiler in a text, or of CUDA's, which names no column.
_COMPILER_ERROR: Final = re.compile(
    rf"^({CPP_NAME}|{CUDA_NAME})(?::(\d+):(\d+)|\((\d+)\)): (?:fatal )?error: (.*)$", re.MULTILINE
)
_UNDEFINED: Final = re.compile(r"undefined (?:reference to [`']|symbol: )([^'\n]+)")


def _diagnostics(output: str, texts: Sequence[SourceFile]) -> list[Diagnostic]:
    """Errors in the output of compiler and linker: those in the user's texts, and kernels that are missing."""
    sink = Diagnostics()
    by_name = {text.path: text for text in texts}
    for name, line, column, line_alone, message in _COMPILER_ERROR.findall(output):
        text = by_name[name]
        *before, row = text.text.splitlines(keepends=True)[: int(line or line_alone)] or [""]
        start = sum(map(len, before)) + (int(column) - 1 if column else len(row) - len(row.lstrip()))
        word = re.compile(r"\w*" if column else r".*").match(text.text, start)
        end = max(start + 1, word.end()) if word else start
        sink.error(codes.COMPILER_ERROR, message, text.span(min(start, len(text.text)), min(end, len(text.text))))
    for kernel in dict.fromkeys(_UNDEFINED.findall(output)):
        sink.error(
            codes.UNDEFINED,
            f"`{kernel}` is declared and not defined",
            help="define it in this namespace and with these types",
        )
    if not sink.has_errors:
        sink.error(codes.COMPILER_ERROR, "the C++ compiler reports errors, which follow")
    return list(sink.sorted())


def _load(folder: str, name: str | None) -> ModuleType:
    """Load a built library once, and make the module of its functions. Raises Fault for a second version (E1206)."""
    torch = import_torch()
    shared = next(entry for entry in sorted(os.listdir(folder)) if entry.endswith(".so"))
    namespace = shared.removesuffix(".so")
    loaded = _LOADED.get(namespace)
    if loaded is not None and loaded.folder != folder:
        raise Fault.at(
            codes.LOADED_TWICE,
            f"another version of the library `{namespace}` is loaded in this process",
            help="restart the process, or change the namespace",
        )
    name = name or namespace
    if loaded is None:
        torch.ops.load_library(os.path.join(folder, shared))
        # What Python registers can be registered once in a process, whatever names its modules get.
        paths = {module: os.path.join(folder, f"{module}.py") for module in _REGISTERING}
        modules = {module: _module(path, f"{name}.{module}") for module, path in paths.items() if os.path.exists(path)}
        loaded = _Loaded(folder, modules)
        _LOADED[namespace] = loaded
    for registering, loaded_module in loaded.modules.items():
        sys.modules.setdefault(f"{name}.{registering}", loaded_module)
    return _module(os.path.join(folder, "_ops.py"), name, folder)


def _module(path: str, name: str, *folders: str) -> ModuleType:
    """The Python module of a generated file, under a name; with folders, it is a package whose modules are there."""
    spec = spec_from_file_location(name, path, submodule_search_locations=list(folders) or None)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # `torch.compile` imports the modules of the functions that it traces. An installed package keeps its name.
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module
