"""Candidates: files of Python, C++ and CUDA, shared objects, and installed packages."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from importlib.util import find_spec
from typing import Any, Final

import yaml

from opwright.libraries import library_codes
from opwright.libraries.extension.inline import BuildFailed, build_texts
from opwright.libraries.judge.entry import JudgedEntry
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

_LIBRARIES: Final = (".so", ".dylib", ".pyd", ".dll")
_SOURCES: Final = (".cpp", ".cc", ".cxx", ".cu")
_CANDIDATE: Final = re.compile(r"(?P<path>.+?)(?:::(?P<function>\w+(?:::\w+)*))?", re.DOTALL)


class Candidate(NamedTuple):
    """A candidate: what the user named, its kind, its path, and the function in it that is judged, if one is named.

    The kinds are `python`, `library`, `source` and `module`. `package` is the path of the generated module that
    imports those which register more than a library does. `folder` is where a module is.
    """

    name: str
    kind: str
    path: str
    function: str = ""
    libraries: tuple[str, ...] = ()
    package: str = ""
    folder: str = ""

    @property
    def is_library(self) -> bool:
        """Whether the user named a shared object."""
        return self.kind == "library"

    @property
    def is_sanitized(self) -> bool:
        """Whether the candidate is a shared object that was built with AddressSanitizer."""
        return self.is_library and any(b"__asan_init" in _content(path) for path in self.libraries)

    def loading_line(self, operator: str, form: str) -> str:
        """A line of Python that names the candidate `candidate`."""
        if self.kind == "python":
            find = (
                f"spec = importlib.util.spec_from_file_location('candidate', {self.path!r}); "
                "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)"
            )
            find = f"import importlib.util; {find}"
        elif self.kind == "module":
            find = f"module = importlib.import_module({self.path!r})"
        else:
            paths = list(self.libraries)
            find = f"import ctypes; [torch.ops.load_library(path) for path in {paths!r}]"
            # What is built from a source registers its operators when it is asked to.
            find += f"; [getattr(ctypes.CDLL(path), 'opwright_register', int)(1) for path in {paths!r}]"
        if form == "operator":
            named = (self.function or operator).replace("::", ".")
            return f"{find}; candidate = torch.ops.{named}"
        name = self.function or operator.rpartition("::")[2].partition(".")[0]
        return f"{find}; candidate = module.{name}"


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def find_candidate(text: str) -> Candidate:
    """The candidate that a text names: a path or a package, and after `::` a function in it. Raises Fault (E1213)."""
    match = _CANDIDATE.fullmatch(text)
    path, function = (match["path"], match["function"] or "") if match else (text, "")
    if os.path.isfile(path):
        whole = os.path.abspath(path)
        if path.endswith(_LIBRARIES):
            # Generated modules beside it register what operators do in traces.
            return Candidate(text, "library", whole, function, (whole,), _package(os.path.dirname(whole)))
        if path.endswith(_SOURCES):
            return Candidate(text, "source", whole, function)
        return Candidate(text, "python", whole, function)
    if re.fullmatch(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", path) and not path.endswith((".py", ".so", ".cpp", ".cu")):
        return Candidate(text, "module", path, function, folder=_home(path.partition(".")[0]))
    raise Fault.at(
        library_codes.NO_ENTRY, f"there is no candidate `{path}`", help="name a file, or an installed package"
    )


def _home(module: str) -> str:
    """The folder that a module is in for this process; empty if there is none."""
    spec = find_spec(module)
    if spec is None:
        return ""
    path = next(iter(spec.submodule_search_locations or ()), spec.origin or "")
    return os.path.dirname(os.path.abspath(path))


class NotBuilt(Exception):
    """Raised with the reason why a candidate could not be built, and whether that is a mistake of the candidate."""

    def __init__(self, text: str, *, is_mistake: bool) -> None:
        super().__init__(text)
        self.is_mistake: Final = is_mistake


#: The flags for AddressSanitizer.
SANITIZED: Final = ("-fsanitize=address", "-fno-omit-frame-pointer", "-g1")


def sanitizer_environment() -> dict[str, str]:
    """The variables with which a process loads code with AddressSanitizer. Raises NotBuilt if there is none."""
    runtimes = []
    for name in ("libasan.so", "libstdc++.so"):
        command = [*shlex.split(os.environ.get("CXX", "c++")), f"-print-file-name={name}"]
        try:
            path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotBuilt(f"the compiler cannot be asked: {error}", is_mistake=False) from None
        if not os.path.isabs(path):
            raise NotBuilt(f"the compiler has no {name}", is_mistake=False)
        runtimes.append(path)
    options = "detect_leaks=0:allocator_may_return_null=1:handle_segv=1"
    return {"LD_PRELOAD": " ".join(runtimes), "ASAN_OPTIONS": options}


def built(candidate: Candidate, entry: JudgedEntry, *, is_sanitized: bool = False) -> Candidate:
    """A source of kernels as the shared object that generated code and a compiler make of it. Raises NotBuilt.

    The source defines the kernel of the entry as generated headers declare it. They are included already.
    """
    flags = SANITIZED if is_sanitized else ()
    text = SourceFile.read(candidate.path).text
    is_cuda = candidate.path.endswith(".cu")
    declared = _only_entry(entry, "CUDA" if is_cuda else "CPU")
    try:
        folder = build_texts(declared, "" if is_cuda else text, cuda=text if is_cuda else None, flags=flags)
    except BuildFailed as error:
        raise NotBuilt(f"the compiler refuses the candidate: {error}"[:3000], is_mistake=bool(error.output)) from None
    except Fault as error:
        raise NotBuilt(f"the candidate cannot be built here: {error.diagnostic.message}", is_mistake=False) from None
    shared = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".so")]
    return candidate._replace(libraries=tuple(shared), package=_package(folder))


def _package(folder: str) -> str:
    """The generated module of a folder that imports the others; empty if there is none."""
    path = os.path.join(folder, "_ops.py")
    return path if os.path.isfile(path) else ""


def has_kernel(entry: JudgedEntry) -> bool:
    """Whether the entry says that the operator has a kernel for the tensors of workers."""
    return entry.function.has_composite_kernel or any(key.name == "CPU" for key in entry.function.kernels)


def _only_entry(entry: JudgedEntry, key: str) -> str:
    """The text of a library file that has this entry alone, whose kernel has the name of the operator."""
    document: Any = yaml.safe_load(entry.file.text)
    head = {} if isinstance(document, list) else {name: document[name] for name in document if name != "operators"}
    head.pop("derivatives", None)
    entries = document if isinstance(document, list) else document["operators"]
    name = entry.name.text
    (own,) = [item for item in entries if item["func"].partition("(")[0].rpartition("::")[2] == name]
    kernel = next(iter(entry.function.kernels.values())).name
    own = {**own, "dispatch": {key: kernel if kernel.isidentifier() else entry.function.name.unambiguous}}
    return json.dumps({**head, "operators": [own]} if head else [own], indent=1)
