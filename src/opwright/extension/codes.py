"""The codes of mistakes in building operator libraries: E12xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E12{number:02}", title, explanation))


NO_TORCH: Final = _code(
    1,
    "PyTorch cannot be imported",
    """
An operator library is compiled with the headers of the PyTorch that it is for, and linked with its libraries. PyTorch
must therefore be installed in the environment that builds the library:

    error[E1201]: PyTorch cannot be imported: No module named 'torch'

Install PyTorch. pip builds packages in an environment of their own unless it is called with `--no-build-isolation`; for
that environment, list `torch` in `build-system.requires` of `pyproject.toml`.
""",
)
NO_COMPILER: Final = _code(
    2,
    "there is no C++ compiler",
    """
`opwright.inline` calls GCC or Clang: the program that `CXX` names, else the first of `c++`, `g++` and `clang++`.

    error[E1202]: there is no C++ compiler

Install one, or name it with `CXX`.
""",
)
COMPILER_ERROR: Final = _code(
    3,
    "the C++ compiler reports an error",
    """
The C++ text of `opwright.inline` does not compile. Lines of that text are those of `<inline cpp>`:

    error[E1203]: `fractor` was not declared in this scope
     --> <inline cpp>:3:17
      |
    3 |   return self * fractor;
      |                 ^

Errors in other files are in the output of the compiler, which follows. A kernel whose type does not fit its operator is
an error in a generated file; the declaration in the generated `kernels.h` has the expected type.
""",
)
UNDEFINED: Final = _code(
    4,
    "a kernel is not defined",
    """
An operator names a kernel that no source defines with the expected name and type:

    error[E1204]: `acme::native::scale(at::Tensor const&, double)` is declared and not defined

Define the function in that namespace, with these types of arguments; the generated `kernels.h` declares it. Usual
causes are a kernel outside of its namespace, and `float` for `double` or `int` for `int64_t`.
""",
)
NO_OPERATORS: Final = _code(
    5,
    "there is no library to build",
    """
A module of `opwright.inline` has the operators of one namespace, so that their names are different ones:

    error[E1205]: the YAML has operators of 2 namespaces: `a` and `b`

Write one call for each namespace, and at least one operator.
""",
)
LOADED_TWICE: Final = _code(
    6,
    "another version of the library is loaded",
    """
A process can register the operators of a library only once. When the text of `opwright.inline` changes after it was
loaded, for instance in a notebook, the process must start again, or the operators need another namespace:

    error[E1206]: another version of the library `acme` is loaded in this process

Restart the process (in a notebook: the kernel), or change the namespace.
""",
)
PROJECT_NAME: Final = _code(
    7,
    "a name that a project cannot have",
    """
The name of a project is that of its Python package and of the namespace of its operators, with underscores for dashes.
So it is a name in Python and in C++, and a text in YAML. It is not the name of a module of Python or of a package that
the project needs, which the project would hide, and not a namespace of PyTorch's operators. The name of a device is not
that of another device, nor an attribute of `torch` or of its tensors, because PyTorch adds attributes with its name.

    opwright new library 3d-ops
    error[E1207]: `3d-ops` is not a name for a package

Write letters, digits, and single dashes or underscores between them.
""",
)
FOLDER_IN_USE: Final = _code(
    8,
    "the folder of a new project has files",
    """
`opwright new` writes into an empty folder, or makes one, so that it replaces nothing. A folder `.git` does not count.
It never writes through a link in that folder, because that may lead to files elsewhere.

    opwright new library acme_ops src
    error[E1208]: the folder `src` has files already, such as `main.cpp`

Name another folder, or replace files of the same names with `--force`. Remove a link where the project has a file or a
folder.
""",
)
