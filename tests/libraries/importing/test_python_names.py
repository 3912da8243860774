"""Names of operators that Python sources compute: what can be read is what PyTorch registers, the rest is named."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from opwright.cli.main import main
from opwright.migrate.importing.python_reader import read_python_sources
from opwright.migrate.importing.run import ImportRequest, read_operators
from opwright.source.text import SourceFile

SOURCE = """
import functools
from typing import Final
import torch

NS: Final = "acme_names"
LIB = torch.library.Library(NS, "DEF")
ONE_TENSOR = "(Tensor x)" + " -> Tensor"
MORE = {"e": 1, "f": 2}


@functools.lru_cache(None)
def meta_library():
    return torch.library.Library("acme_names", "IMPL", "Meta")


def register_meta(op_name, overload_name="default"):
    def wrapper(fn):
        meta_library().impl(getattr(getattr(torch.ops.acme_names, op_name), overload_name), fn)
        return fn

    return wrapper


def define(name, schema=ONE_TENSOR, *, key="CPU"):
    LIB.define(name + schema)
    LIB.impl(name, lambda x: x, key)


for name in ("a", "b"):
    LIB.define(f"{name}(Tensor x) -> Tensor")
    LIB.impl(name, lambda x: x, "CPU")
for name, by in [("c", 1), ("d.out_of", 2)]:
    LIB.define(name + ONE_TENSOR)
for name, by in MORE.items():
    define(name)
for count in (1, 2):
    define(f"turned{count}d")
define("g", "(Tensor x, int n) -> Tensor", key="CUDA")


@register_meta("a")
def meta_a(x):
    return x


@register_meta("d", overload_name="out_of")
def meta_d(x):
    return x


def typed(x: torch.Tensor, n: int = 3) -> torch.Tensor:
    return x


torch.library.define(f"{NS}::typed", torch.library.infer_schema(typed, mutates_args=[]))
LIB.define(torch.library.infer_schema(typed, mutates_args=["x"], op_name="written"))
torch.library.define(NS + "::constant", ONE_TENSOR)


@torch.library.custom_op(f"{NS}::{'h'}", mutates_args=())
def h(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@h.register_fake
def _(x):
    return x
"""


def test_names_are_those_of_pytorch(torch: ModuleType, tmp_path: Path) -> None:
    """Schemas and keys that are read are those that PyTorch has after it ran the source; nothing is unread."""
    path = tmp_path / "names.py"
    path.write_text(SOURCE)
    read = read_python_sources([SourceFile.read(str(path))])
    assert not read.unread
    exec(compile(SOURCE, "names", "exec"), {"__name__": "names"})
    registered = [str(schema) for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("acme_names::")]
    schemas = [row for row in read.statements if row.schema]
    parsed = [str(torch._C.parse_schema(f"{row.namespace}::{row.schema}")) for row in schemas]
    assert sorted(parsed) == sorted(registered)
    assert len(parsed) == 13
    kernels = {(row.name, key) for row in read.statements if not row.schema for key in row.keys} - {("h", "Meta")}
    assert kernels == {
        (name, key)
        for name in {row.name for row in schemas} - {"h"}
        for key in ("CPU", "CUDA", "Meta")
        if torch._C._dispatch_has_kernel_for_dispatch_key(f"acme_names::{name}", key)
    }
    assert {row.by_hand for row in read.statements if row.keys == ("Meta",)} == {"meta_a", "meta_d", "_"}


@pytest.mark.parametrize(
    "text",
    [
        "for name in dir(torch):\n    LIB.define(name + '(Tensor x) -> Tensor')\n",
        "def later(which):\n\n    LIB.impl(which, lambda x: x, 'CPU')\n",
        "NAME = 'a'\nNAME = NAME + 'b'\ntorch.library.define(f'acme::{NAME}', '(Tensor x) -> Tensor')\n",
        "import os\ntorch.library.define('acme::f', os.environ['S'])\n",
        "import os\n\n@torch.library.custom_op(os.environ['N'], mutates_args=())\ndef f(x): ...\n",
        "import os\ntorch.library.register_fake(os.environ['N'])(lambda x: x)\n",
        "for n in [1] * 9:\n    LIB.define(f'{n}' '(Tensor x) -> Tensor')\n",
    ],
)
def test_names_that_are_not_computed_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """A registration whose name a source computes is told at its place, and never skipped."""
    monkeypatch.chdir(tmp_path)
    head = 'import torch\nLIB = torch.library.Library("acme", "DEF")\nLIB.define("known(Tensor x) -> Tensor")\n'
    Path("names.py").write_text(head + text)
    assert main(["import", "names.py", "--out", "acme.yaml"]) == 0
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("stays")]
    line = next(
        at for at, row in enumerate((head + text).splitlines(), 1) if at > 3 and ("LIB" in row or "library" in row)
    )
    assert told.startswith(f"stays: names.py:{line}: ")
    assert told.endswith(", which this does not compute") or (
        ": the call with the name `" in told and told.endswith("` may register operators and kernels")
    )


def test_what_comes_behind_a_return_runs_only_sometimes(tmp_path: Path) -> None:
    """A function that may return registers the rest only then; one inside of it returns for itself."""
    path = tmp_path / "ops.py"
    path.write_text(
        "import os, torch\n"
        "def setup(name):\n"
        "    def inner(): return 1\n"
        "    torch.library.define('acme::always' + name, '(Tensor x) -> Tensor')\n"
        "    if os.environ.get('LEAN'):\n"
        "        return\n"
        "    torch.library.define('acme::more' + name, '(Tensor x) -> Tensor')\n"
        "setup('_one')\n"
    )
    statements = read_python_sources([SourceFile.read_plain(str(path))]).statements
    assert {row.name: row.at_run_time for row in statements} == {"always_one": False, "more_one": True}


def test_keys_and_functions_of_other_files_are_read(tmp_path: Path) -> None:
    """A list has several keys, a call gives one that is told, and a module gives a function another name."""
    helper, path = tmp_path / "helper.py", tmp_path / "ops.py"
    helper.write_text("import torch\nkernel = torch.library.register_kernel\n")
    path.write_text(
        "import helper, torch\n"
        "def key(): return 'CPU'\n"
        "torch.library.define('acme::f', '(Tensor x) -> Tensor')\n"
        "helper.kernel('acme::f', ['cpu', 'cuda'])(abs)\n"
        "torch.library.impl('acme::f', key(), abs)\n"
        "get = getattr(torch.library, 'impl')\n"
    )
    read = read_python_sources([SourceFile.read_plain(str(each)) for each in (helper, path)])
    assert [row.keys for row in read.statements] == [(), ("CPU", "CUDA")]
    assert [code.text for code in read.code] == [
        "the call with the key `key()`",
        "`torch.library`, which code gets that was not read,",
    ]


def test_names_of_files_that_register_nothing(tmp_path: Path) -> None:
    """A file that has only names gives them to those that register, unless one of these is called as it is."""
    package = tmp_path / "acme"
    (package / "more").mkdir(parents=True)
    (package / "__init__.py").write_text("import torch\nfrom .names import (\n    NS,\n)\nfrom . import more\n")
    text = 'torch.library.define(f"{NS}::f", "(Tensor x) -> Tensor")\nfrom torch import library\n'
    with (package / "__init__.py").open("a") as file:
        file.write(text)
    (package / "names.py").write_text("NS = 'acme_ns'\n")
    (package / "more" / "acme.py").write_text("NS = 'other'\n")
    read = read_operators(ImportRequest((str(package),), (), {}, "o.yaml"))
    assert [operator.namespace for operator in read.imported.operators] == ["acme_ns"]


@pytest.mark.parametrize(
    "call",
    [
        'torch.library.register_kernel("f", "cpu", plain, lib=LIB)',
        'torch.library.register_autograd("f", plain, lib=LIB)',
        'torch.library.register_kernel("f", "cpu", plain, lib=other())',
        "exec(\"LIB.impl('f', plain, 'AutogradCPU')\")",
        'functools.partial(LIB.impl, "f")(plain, "AutogradCPU")',
        'other().impl("f", plain, "AutogradCPU")',
    ],
)
def test_no_kernel_of_another_form_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A kernel is one of the operator, or a place is named that may register one for it."""
    monkeypatch.chdir(tmp_path)
    head = "import functools, torch\nfrom elsewhere import other, plain\n"
    head += 'LIB = torch.library.Library("acme", "DEF")\nLIB.define("f(Tensor x) -> Tensor")\n'
    Path("ops.py").write_text(f"{head}{call}\n")
    read = read_operators(ImportRequest(("ops.py",), (), {}, "o.yaml"))
    rows = [row for row in read.statements if row.keys]
    assert rows
    assert {(row.namespace, row.name, row.place.first) for row in rows} == {("acme", "f", 5)}
    assert [operator.by_hand for operator in read.imported.operators] == [True]
