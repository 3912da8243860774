"""Compiler with its arguments for the installed PyTorch, the first error that it prints, and headers of names."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from runpy import run_path
from threading import Thread
from types import ModuleType
from typing import Any, Final, NamedTuple

from opwright.cpp.text import include_line
from opwright.libraries import library_codes
from opwright.source.diagnostic import Fault

#: An error of GCC, Clang, NVCC or MSVC with its place, and the lines that show it; a symbol that a linker lacks
#: or has twice; or what NVCC and its assembler refuse as a whole.
_ERROR: Final = re.compile(
    r"^(?:\S.*?(?::\d+:\d+|\(\d+(?:,\d+)?\)) ?: (?:fatal )?error\b.*(?:\n +\d* *\|.*)*"
    r"|.*undefined (?:reference|symbol).*|.*multiple definition of .*"
    r"|(?:nvcc|ptxas|nvlink)\b.*?\b(?:fatal|error) *:.*)$",
    re.MULTILINE,
)

#: A symbol of the libraries of OpenMP, of GCC and of Clang, that a linker lacks.
_OPENMP: Final = re.compile(r"undefined (?:reference|symbol).*\b(?:GOMP_|omp_|__kmpc_)\w+")
#: A function of Python that a linker lacks.
_PYTHON: Final = re.compile(r"undefined (?:reference|symbol).*\b_?Py(?:[A-Z]\w*)?_\w+")
#: A function of a namespace that a linker lacks.
_UNDEFINED: Final = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?((?:\w+::)*\w+)::(\w+)\(")
#: What GCC, Clang or MSVC say of a name of PyTorch whose header is not included.
_UNKNOWN_NAME: Final = re.compile(
    r"['‘](\w+)['’] is not a member of ['‘](?:at|c10)(?:::cuda)?['’]"
    r"|no (?:member|type) named '(\w+)' in namespace '(?:at|c10)(?:::cuda)?'"
    r"|'(\w+)': is not a member of '(?:at|c10)(?:::cuda)?'"
    # A macro of PyTorch that is not defined; GCC, Clang and MSVC.
    r"|['‘]((?:AT|C10|TORCH|STD|THO)_\w+)['’] was not declared|use of undeclared identifier '((?:AT|C10|THO)_\w+)'"
    r"|'((?:AT|C10|THO)_\w+)': identifier not found"
)
#: What they say of an operator such as `+` between tensors, or a tensor and a number, whose header is not included.
_UNKNOWN_OPERATOR: Final = re.compile(
    r"no match for ['‘]operator.*at::Tensor|invalid operands to binary expression \(.*at::Tensor"
    r"|: '(?:const )?at::Tensor' does not define this operator"
)
#: What they say of the class of a structured kernel that is defined outside of the namespace of kernels.
_STRUCTURED: Final = re.compile(r"['‘](structured_\w+)['’](?: has not been declared|: )|identifier '(structured_\w+)'")
#: A header of CUDA that is missing.
_CUDA_HEADER: Final = re.compile(r"\bfatal error: ['\"]?(?:cuda(?:_runtime\w*)?|c10/cuda/impl/cuda_cmake_macros)\.h\b")
_OPENMP_HELP: Final = """

The linker needs `-fopenmp` too: write `extra_link_args=["-fopenmp"]` beside `extra_compile_args`."""
_PYTHON_HELP: Final = """

A source or a header includes `torch/extension.h`, which needs Python: include `torch/types.h`, or `torch/all.h`."""
_TWICE_HELP: Final = """

If a header defines it, write `inline` before it: several generated sources include the headers of kernels."""
_STRUCTURED_HELP: Final = """

The generated header declares `{}` in the namespace of kernels: write the function in it, as in
`namespace acme::native {{`."""
_CUDA_HELP: Final = """

The installed PyTorch, or the compiler, has no CUDA. A kernel for `CUDA` of which builds without it know nothing is
written as `CUDA: {kernel: NAME, if: defined(USE_CUDA)}`."""
_UNDEFINED_HELP: Final = """

No source that was compiled defines a function `{1}` with these parameters in the namespace `{0}`."""


def first_error(text: str) -> str | None:
    """The first error in the output of a compiler or a linker, None if there is none that is known.

    One about OpenMP says what is missing, since flags for the compiler do not reach the linker. One about a function of
    Python says which header needs it: operators do without, and are linked without it. One about a name of
    PyTorch says which header to include: sources see the headers of single operators, and not `ATen/ATen.h`. One about
    a function says in which namespace it has to be.

    >>> first_error("note\\nk.cpp:2:3: error: 'x' was not declared\\n    2 | x;\\n      | ^\\nk.cpp:9:1: error: more")
    "k.cpp:2:3: error: 'x' was not declared\\n    2 | x;\\n      | ^"
    >>> print(first_error("ld: kernels.o: undefined reference to `acme::native::scale(at::Tensor const&)'\\n"))
    ld: kernels.o: undefined reference to `acme::native::scale(at::Tensor const&)'
    <BLANKLINE>
    No source that was compiled defines a function `scale` with these parameters in the namespace `acme::native`.
    >>> first_error("ld: kernels.o: undefined reference to `PyModule_Type'\\n").splitlines()[-1]
    'A source or a header includes `torch/extension.h`, which needs Python: include `torch/types.h`, or `torch/all.h`.'
    >>> first_error("nvcc fatal   : Unknown option '-g0'\\n")
    "nvcc fatal   : Unknown option '-g0'"
    >>> first_error("ptxas error   : Entry function 'k' uses too much shared data (0xc400 bytes, 0xc000 max)\\n")
    "ptxas error   : Entry function 'k' uses too much shared data (0xc400 bytes, 0xc000 max)"
    """
    match = _ERROR.search(text)
    if match is None:
        return None
    undefined = _UNDEFINED.search(match[0])
    header = missing_header(match[0])
    advice = f"\n\nAdd `{include_line(header)}`." if header else ""
    if _OPENMP.search(match[0]):
        advice = _OPENMP_HELP
    elif _PYTHON.search(match[0]):
        advice = _PYTHON_HELP
    elif "multiple definition of" in match[0]:
        advice = _TWICE_HELP
    elif _CUDA_HEADER.search(match[0]):
        advice = _CUDA_HELP
    elif structured := _STRUCTURED.search(match[0]):
        advice = _STRUCTURED_HELP.format(structured[1] or structured[2])
    elif undefined is not None:
        advice = _UNDEFINED_HELP.format(*undefined.groups())
    return match[0] + advice


def undefined_function(error: str) -> str:
    """The function of a namespace that an error of a linker misses; empty if it is about something else.

    >>> undefined_function("ld: kernels.o: undefined reference to `acme::native::scale(at::Tensor const&)'")
    'scale'
    """
    undefined = _UNDEFINED.search(error)
    return "" if undefined is None else undefined[2]


def missing_header(error: str) -> str:
    """Header whose declarations an error of the compiler misses; empty if none is known."""
    if _UNKNOWN_OPERATOR.search(error):
        return "ATen/TensorOperators.h"
    unknown = _UNKNOWN_NAME.search(error)
    return "" if unknown is None else header_of(unknown[unknown.lastindex or 0])


def needs_cpp_library(path: str) -> bool:
    """Whether a shared object names the shared library of C++, of GCC or of Clang, among those that it needs."""
    with open(path, "rb") as stream:
        return re.search(rb"\0lib(?:std)?c\+\+\.so\.", stream.read()) is not None


@contextmanager
def remembered_output() -> Iterator[list[bytes]]:
    """Remember what the process and its children print meanwhile, which is printed as ever; pieces of it, in order."""
    pieces: list[bytes] = []
    streams = [_Copy(stream, pieces) for stream in (1, 2)]
    try:
        yield pieces
    finally:
        for stream in streams:
            stream.close()


class _Copy:
    """A file descriptor whose output goes through a pipe."""

    def __init__(self, descriptor: int, pieces: list[bytes]) -> None:
        self._descriptor, self._pieces = descriptor, pieces
        _flush()
        self._original = os.dup(descriptor)
        self._end, start = os.pipe()
        os.dup2(start, descriptor)
        os.close(start)
        self._thread = Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        while piece := os.read(self._end, 1 << 16):
            self._pieces.append(piece)
            os.write(self._original, piece)

    def close(self) -> None:
        """Let the output go where it went, after all of it has been copied."""
        _flush()
        os.dup2(self._original, self._descriptor)
        self._thread.join(timeout=5)
        os.close(self._end)
        os.close(self._original)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


#: The C++ standard of PyTorch's headers.
STANDARD: Final = "c++20"

#: What generated code is compiled with: it includes the headers of single operators.
DEFINITIONS: Final = ("AT_PER_OPERATOR_HEADERS",)

#: With this macro, headers of the stable ABI declare what needs CUDA: the current stream.
USE_CUDA: Final = "USE_CUDA"

_COMPILERS: Final = ("c++", "g++", "clang++")
_OPTIMIZATION: Final = ("-O2", "-g0", "-fPIC")


class Toolchain(NamedTuple):
    """A compiler, with the arguments that compile a source and link a shared object, and a text that identifies both.

    `compiler` are the words that call it, and `nvcc` those that compile a source with CUDA's compiler, if it is asked
    for. The arguments for linking make symbols that nobody defines an error.
    """

    compiler: tuple[str, ...]
    compile: tuple[str, ...]
    link: tuple[str, ...]
    identity: str
    nvcc: tuple[str, ...] = ()


def import_torch() -> ModuleType:
    """Module of PyTorch. Raises Fault if it cannot be imported (E1201)."""
    try:
        return import_module("torch")
    except (ImportError, OSError) as error:
        raise Fault.at(
            library_codes.BUILD_NO_TORCH,
            f"PyTorch cannot be imported: {error}",
            help="install PyTorch in the environment that builds the library",
        ) from None


def torch_version_file() -> str:
    """Path of `torch/version.py`; PyTorch is not imported. Raises Fault if there is none (E1201)."""
    package = find_spec("torch")
    origin = None if package is None else package.origin
    return os.path.join(os.path.dirname(origin or str(import_torch().__file__)), "version.py")


def is_for_rocm() -> bool:
    """Whether the installed PyTorch is built for ROCm; it is not imported. Raises Fault if there is none (E1201)."""
    return run_path(torch_version_file()).get("hip") is not None


def include_folder() -> str:
    """Folder of the headers that Opwright brings; `opwright --include-dir` prints it."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "include")


def find_toolchain(*, cuda: bool = False) -> Toolchain:
    """The machine's compiler, for the installed PyTorch, and that of CUDA if the library has kernels for it.

    Raises Fault if one of them is missing (E1201, E1202).
    """
    torch = import_torch()
    compiler = find_compiler()
    root = os.path.dirname(os.path.abspath(str(torch.__file__)))
    headers = os.path.join(root, "include")
    folders = (include_folder(), headers, os.path.join(headers, "torch", "csrc", "api", "include"))
    abi = f"_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    extra = os.environ.get("CXXFLAGS", "").split()
    arguments = (
        f"-std={STANDARD}",
        *_OPTIMIZATION,
        *[f"-D{name}" for name in (*DEFINITIONS, abi)],
        # PyTorch's headers are no concern of the author, whatever warnings are asked for.
        *[f"-isystem{folder}" for folder in folders],
        *extra,
    )
    libraries = os.path.join(root, "lib")
    link = ("-shared", f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch", "-ltorch_cpu", "-lc10")
    strict = () if sys.platform == "darwin" else ("-Wl,--no-undefined",)
    statuses = [os.stat(word) for word in compiler if os.path.isabs(word)]
    programs = [f"{status.st_size} {status.st_mtime_ns}" for status in statuses]
    identity = f"{compiler} {programs}, PyTorch {torch.__version__} {torch.version.git_version}"
    toolchain = Toolchain(compiler, arguments, (*link, *strict), identity)
    return _with_cuda(toolchain) if cuda else toolchain


def _with_cuda(toolchain: Toolchain) -> Toolchain:
    """The toolchain with CUDA's compiler, called as PyTorch calls it. Raises Fault if it is missing (E1202)."""
    extension = cuda_extension("", [], "the CUDA text")
    builder = import_module("torch.utils.cpp_extension")
    if builder.IS_HIP_EXTENSION:
        help = "build it from a source that ends in `.cu`, with `opwright.setuptools`"
        raise Fault.at(library_codes.NO_COMPILER, "the CUDA text is not translated for ROCm", help=help)
    program = os.path.join(builder.CUDA_HOME, "bin", "nvcc")
    if not os.path.exists(program):
        message = f"CUDA_HOME has no compiler `{program}`"
        raise Fault.at(library_codes.NO_COMPILER, message, help="set it to a folder of CUDA with `bin/nvcc`")
    common = [word for word in toolchain.compile if word.startswith(("-std=", "-D"))]
    given = [word.removeprefix("-isystem") for word in toolchain.compile if word.startswith("-isystem")]
    folders = [f"-isystem={folder}" for folder in (*given, *extension.include_dirs)]
    flags = (*builder.COMMON_NVCC_FLAGS, *builder._get_cuda_arch_flags(), "-O2", f"-D{USE_CUDA}")
    host = ("-ccbin", toolchain.compiler[-1], "-Xcompiler", "-fPIC")
    libraries = (*[f"-L{folder}" for folder in extension.library_dirs], "-lcudart", "-lc10_cuda", "-ltorch_cuda")
    status = os.stat(program)
    return toolchain._replace(
        link=(*toolchain.link, *libraries),
        identity=f"{toolchain.identity}, {program} {status.st_size} {status.st_mtime_ns}",
        nvcc=(program, *common, *folders, *flags, *host),
    )


def cuda_extension(name: str, sources: Sequence[str], first: str, **options: Any) -> Any:  # noqa: ANN401
    """The extension that PyTorch makes of sources and options, of which the first for CUDA is named in messages.

    Raises Fault if they cannot be compiled here (E1202).
    """
    torch, builder = import_torch(), import_module("torch.utils.cpp_extension")
    if torch.version.cuda is None and torch.version.hip is None:
        message = f"{first} needs a PyTorch for CUDA, and the installed one is for the CPU"
        raise Fault.at(library_codes.NO_COMPILER, message, help="install the other one, or leave the source out")
    if "TORCH_CUDA_ARCH_LIST" not in os.environ and builder.CUDA_HOME is not None and not torch.cuda.is_available():
        message = f"{first} is compiled for the GPUs of this machine, which has none"
        raise Fault.at(library_codes.NO_COMPILER, message, help="set TORCH_CUDA_ARCH_LIST to theirs, as `8.0 9.0+PTX`")
    try:
        return builder.CUDAExtension(name, [*sources], **options)
    except OSError as error:
        message = f"{first} is compiled where CUDA is ({' '.join(str(error).split())})"
        raise Fault.at(
            library_codes.NO_COMPILER, message, help="set CUDA_HOME to its folder, or leave the source out"
        ) from None


def find_compiler() -> tuple[str, ...]:
    """Words that call the compiler, programs by their paths. Raises Fault if there is none (E1202)."""
    named = os.environ.get("CXX", "")
    # A program may call another one: `ccache g++`.
    for words in [shlex.split(named)] if named else [[program] for program in _COMPILERS]:
        path = shutil.which(words[0])
        if path is not None and sys.platform != "win32":
            return (path, *[shutil.which(word) or word for word in words[1:]])
    raise Fault.at(
        library_codes.NO_COMPILER,
        f"the C++ compiler `{named}`, which CXX names, does not exist" if named else "there is no C++ compiler",
        help="install GCC or Clang, or name one with CXX",
    )


#: Names that no header is called after, and the header that declares them; a name ends with `*` for all that begin so.
_DECLARED: Final = {
    "AT_DISPATCH_*": "ATen/Dispatch.h",
    "parallel_for": "ATen/Parallel.h",
    "parallel_reduce": "ATen/Parallel.h",
    "get_num_threads": "ATen/Parallel.h",
    "getCurrentCUDAStream": "ATen/cuda/CUDAContext.h",
    "getCurrentDeviceProperties": "ATen/cuda/CUDAContext.h",
    "CUDAGuard": "c10/cuda/CUDAGuard.h",
    "OptionalCUDAGuard": "c10/cuda/CUDAGuard.h",
    "C10_CUDA_*": "c10/cuda/CUDAException.h",
    "PackedTensorAccessor*": "ATen/core/TensorAccessor.h",
    "TensorAccessor": "ATen/core/TensorAccessor.h",
    "TensorIteratorConfig": "ATen/TensorIterator.h",
    "AccumulateType": "ATen/AccumulateType.h",
    "acc_type": "ATen/AccumulateType.h",
    "opmath_type": "ATen/OpMathType.h",
    "THO_DISPATCH_*": "torch/headeronly/core/Dispatch.h",
    "STD_TORCH_CHECK*": "torch/headeronly/util/Exception.h",
}
#: Functions of PyTorch's stable API, which one header declares.
_STABLE_FUNCTION: Final = re.compile(r"\btorch::stable::\w+\s*\(")
_STABLE_FUNCTIONS: Final = "torch/csrc/stable/ops.h"
#: Names of `at` and `c10`, and macros.
_NAME: Final = re.compile(r"\b(?:at|c10)::(?:cuda::|native::)?(\w+)|\b([A-Z][A-Z0-9]+_[A-Z0-9_]+)\b|\b(opmath_type)\b")
_QUOTED: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


def header_of(name: str) -> str:
    """Header of the installed PyTorch that declares a function, class or macro of it; empty if none is known.

    Functions and classes have headers of their names.
    """
    named = next((header for key, header in _DECLARED.items() if _is_key(key, name)), "")
    headers = [named] if named else [f"ATen/ops/{name}.h", f"ATen/{name}.h", f"c10/util/{name}.h", f"c10/core/{name}.h"]
    return next(filter(_exists, headers), "")


def _is_key(key: str, name: str) -> bool:
    return name.startswith(key[:-1]) if key.endswith("*") else name == key


def _exists(header: str) -> bool:
    package = find_spec("torch")
    folders = [] if package is None else package.submodule_search_locations or []
    return any(os.path.isfile(os.path.join(folder, "include", header)) for folder in folders)


def named_headers(text: str) -> list[str]:
    """Headers that declare what a C++ text names, apart from those that it includes.

    >>> named_headers('#include <ATen/ops/relu.h>\\nauto a = at::gelu(at::relu(x)); // at::cat')
    ['ATen/ops/gelu.h']
    """
    code = _QUOTED.sub(" ", text)
    names = dict.fromkeys([next(filter(None, groups)) for groups in _NAME.findall(code)])
    headers = [header_of(name) for name in names]
    if _STABLE_FUNCTION.search(code) and _exists(_STABLE_FUNCTIONS):
        headers.append(_STABLE_FUNCTIONS)
    return [header for header in dict.fromkeys(headers) if header and f"<{header}>" not in text]
