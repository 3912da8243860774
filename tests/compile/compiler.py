"""The machine's C++ compiler, used as an author of an extension of PyTorch uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Compiler", "compiler_program", "sanitizer_variables", "torch_folder"]

#: What a syntax check may take, and with it a whole file at this level: the machine may be busy.
_TIME_LIMIT = 900


def compiler_program() -> str | None:
    """The C++ compiler that `CXX` names, or the first of the usual ones; None where there is none."""
    candidates = (os.environ.get("CXX"), "g++", "c++", "clang++")
    return next(filter(None, map(shutil.which, filter(None, candidates))), None)


def sanitizer_variables() -> dict[str, str]:
    """The environment in which a Python without AddressSanitizer loads libraries that are built with it."""
    # The sanitizer wants the library with exceptions to be there before it starts.
    names = ("libasan.so", "libstdc++.so")
    ask = [[str(compiler_program()), f"-print-file-name={name}"] for name in names]
    runtimes = " ".join([subprocess.check_output(command, text=True).strip() for command in ask])
    options = "detect_leaks=0:symbolize=0:allocator_may_return_null=1"
    return {"LD_PRELOAD": runtimes, "ASAN_OPTIONS": options}


def torch_folder() -> Path:
    """The folder of the installed PyTorch, found without importing it."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@dataclass(frozen=True)
class Compiler:
    """Compiles below `folder`, with folders of headers that come before PyTorch's own.

    `prefix` is a header that every file begins with; it is compiled once. `more_flags` are those of a sanitizer.
    """

    program: str
    folder: Path
    includes: Sequence[Path]
    per_operator_headers: bool = True
    prefix: Path | None = None
    more_flags: Sequence[str] = ()

    def flags(self) -> list[str]:
        """Those of PyTorch's extension builder, without optimization, which takes time and changes no result."""
        import torch

        headers = torch_folder() / "include"
        folders = [
            *self.includes,
            headers,
            headers / "torch" / "csrc" / "api" / "include",
            Path(sysconfig.get_path("include")),
        ]
        abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
        flags = ["-std=c++20", "-O0", "-w", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
        if self.per_operator_headers:
            flags.append("-DAT_PER_OPERATOR_HEADERS")
        return flags + list(self.more_flags) + [f"-I{folder}" for folder in folders]

    def _run(self, *arguments: str | Path) -> None:
        errors = self._errors(*arguments)
        assert not errors, errors[:6000]

    def _errors(self, *arguments: str | Path) -> str:
        """What the compiler says where it fails, after the command; empty where it does not."""
        nice = ["nice"] if shutil.which("nice") else []
        command = [*nice, self.program, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT)
        return f"{' '.join(command)}\n{done.stderr}" if done.returncode else ""

    def check_syntax(self, source: Path) -> None:
        """Fails with the compiler's message where a file is not valid C++ with the headers there are."""
        errors = self.syntax_errors(source)
        assert not errors, errors[:6000]

    def syntax_errors(self, source: Path) -> str:
        """What the compiler says where a file is not valid C++; empty where it is."""
        return self._errors(*self._flags_with_prefix(), "-x", "c++", "-fsyntax-only", source)

    def object(self, source: Path) -> Path:
        """Compiles a file; beside the object is the list of the headers that were read."""
        target = self.folder / f"{source.stem}.o"
        self._run(*self._flags_with_prefix(), "-MD", "-c", source, "-o", target)
        return target

    def _flags_with_prefix(self) -> list[str]:
        return [
            *self.flags(),
            *(["-include", str(self.precompiled(self.prefix).with_suffix(""))] if self.prefix is not None else []),
        ]

    def precompiled(self, header: Path) -> Path:
        """A header that is compiled, once, into the folder."""
        target = self.folder / f"{header.name}.gch"
        if not target.exists():
            shutil.copy(header, self.folder)
            self._run(*self.flags(), "-x", "c++-header", "-MD", "-MF", target.with_suffix(".d"), header, "-o", target)
        return target

    def library(self, name: str, sources: Sequence[Path]) -> Path:
        """The shared library of some files. Symbols that nobody defines are an error."""
        return self.link(name, [self.object(source) for source in sources])

    def link(self, name: str, objects: Sequence[Path]) -> Path:
        """The shared library of compiled files."""
        target = self.folder / f"lib{name}.so"
        libraries = ["-L" + str(torch_folder() / "lib"), "-ltorch", "-ltorch_cpu", "-lc10"]
        # A sanitizer's functions are those of the process.
        undefined = () if self.more_flags else ("-Wl,--no-undefined",)
        self._run("-shared", *self.more_flags, *objects, "-o", target, *libraries, *undefined)
        return target

    def headers(self, stem: str) -> list[Path]:
        """The headers that were read for an object, or for the prefix."""
        rule = (self.folder / f"{stem}.d").read_text(encoding="utf-8").replace("\\\n", " ")
        return [Path(word).resolve() for word in rule.partition(": ")[2].split() if word.endswith(".h")]
