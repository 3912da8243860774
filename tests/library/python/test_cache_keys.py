"""PyTorch's caches of compiled programs tell libraries apart by what traces read of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.torch_process import TorchProcess

LIBRARY = """\
namespace: {name}
abi: stable
torch: ">=2.12"
derivatives: derivatives.yaml
operators:
- func: scale(Tensor x, float by) -> Tensor
  dispatch: {CPU: scale}
  outputs: like(x)
- func: plus(Tensor x) -> Tensor
  dispatch: {CPU: plus}
  outputs: {size: x.sizes(), dtype: float32}
"""
NATIVE = LIBRARY.replace('abi: stable\ntorch: ">=2.12"\n', "")
FORMULA = "- name: scale(Tensor x, float by) -> Tensor\n  x: grad * by\n"

Generate = Callable[..., Path]


@pytest.fixture
def generate(tmp_path: Path) -> Generate:
    """Writes a library and its formulas, and gives the folder of the Python packages."""

    def run(library: str = LIBRARY, formula: str = FORMULA, name: str = "first", folder: str = "generated") -> Path:
        file, out = tmp_path / "library.yaml", tmp_path / folder
        file.write_text(library.replace("{name}", name), encoding="utf-8")
        (tmp_path / "derivatives.yaml").write_text(formula, encoding="utf-8")
        assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(out)]) == 0
        return out / "python"

    return run


def declared(package: Path) -> str:
    """The digest in the only package of a folder."""
    (module,) = package.glob("*/_cache_keys.py")
    (digest,) = re.findall(r'_DECLARED = "(\w+)"', module.read_text(encoding="utf-8"))
    return str(digest)


@pytest.mark.parametrize("library", [LIBRARY, NATIVE], ids=["stable", "native"])
def test_every_edit_that_traces_read_changes_the_digest(generate: Generate, library: str) -> None:
    """Dtypes, requirements, tags, policies and formulas do; texts for readers and the same again do not."""
    shape = "outputs: like(x)"
    texts = [
        (library, FORMULA),
        (library, FORMULA.replace("grad * by", "grad * by * 100")),
        (library.replace("float32", "float64"), FORMULA),
        (library.replace(shape, f"{shape}\n  requires: by > 0"), FORMULA),
        (library.replace(shape, f"{shape}\n  dtypes: {{x: [float32]}}"), FORMULA),
        (library.replace(shape, f"{shape}\n  autocast: fp32"), FORMULA),
        (library.replace(shape, f"{shape}\n  tags: pointwise"), FORMULA),
        (library.replace(shape, f"{shape}\n  layout: {{x: contiguous}}"), FORMULA),
        (library.replace(shape, f"{shape}\n  layout: {{x: last_contiguous}}"), FORMULA),
    ]
    digests = [declared(generate(*text)) for text in texts]
    assert len(set(digests)) == len(digests)
    documented = library.replace(shape, f"{shape}\n  doc: Multiplies.")
    assert declared(generate(documented, FORMULA)) == declared(generate(library, FORMULA)) == digests[0]


BACKEND = """\
backend: PrivateUse1
cpp_namespace: at::acme
supported: [abs]
namespace: first
derivatives: derivatives.yaml
operators:
- func: scale(Tensor x, float by) -> Tensor
  outputs: {like: x, dtype: float32}
  layout: {x: contiguous}
"""


@pytest.mark.thorough
def test_edits_of_a_backends_own_operators_change_the_digest(tmp_path: Path) -> None:
    """Its package tells them apart as that of a library does."""
    file, digests = tmp_path / "backend.yaml", []
    for change in ((), ("grad * by", "grad"), ("float32", "float64"), ("contiguous", "last_contiguous")):
        for path, text in ((file, BACKEND), (tmp_path / "derivatives.yaml", FORMULA)):
            path.write_text(text.replace(*change) if change else text, encoding="utf-8")
        assert main(["generate", "--backend", str(file), "--torch", "auto", "--out", str(tmp_path / "out")]) == 0
        digests.append(declared(tmp_path / "out" / "python"))
    assert len(set(digests)) == len(digests)


TAGS = """
import sys, threading, torch
config = torch.compiler.config
before, names, after = sys.argv[1:]
if before:
    config.cache_key_tag = before
for name in names.split():
    torch.library.Library(name, "DEF").define("scale(Tensor x, float by) -> Tensor")
    __import__(f"{name}._cache_keys")
if after:
    config.cache_key_tag = after
with config.patch(cache_key_tag="patched"):
    patched = config.cache_key_tag
seen = []
thread = threading.Thread(target=lambda: seen.append(config.cache_key_tag))
thread.start()
thread.join()
config.cache_key_tag += ""
print(config.cache_key_tag, patched, *seen, sep="|")
"""


def test_tags_are_joined(generate: Generate, torch_process: TorchProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of imports plays no part, the tag of the user stays whenever it is set, and threads have digests."""
    folders = [str(generate(name=name, folder=name)) for name in ("first", "second")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))

    def tags(before: str, names: str, after: str) -> list[str]:
        ran = torch_process.run(TAGS, [before, names, after])
        assert not ran.returncode, ran.stderr
        return [tag.strip() for tag in ran.stdout.split("|")]

    plain, patched, threaded = tags("", "first second", "")
    assert re.fullmatch(r"\(operators first \w{16}, second \w{16}\)", plain)
    assert (patched, threaded) == (f"patched {plain}", plain)
    assert tags("", "second first", "")[0] == plain
    assert tags("own", "second first", "")[0] == tags("", "first second", "own")[0] == f"own {plain}"


PROGRAM = """
import torch
library = torch.library.Library("first", "DEF")
library.define("scale(Tensor x, float by) -> Tensor")
library.define("plus(Tensor x) -> Tensor")
library.impl("scale", lambda x, by: x * by, "CPU")
library.impl("plus", lambda x: x + 1, "CPU")
import first._ops as ops
from torch._dynamo.utils import counters
x = torch.ones(3, requires_grad=True)
torch.compile(lambda x: ops.scale(x, 2.0), fullgraph=True)(x).sum().backward()
y = torch.compile(lambda x: ops.plus(x) * 2, fullgraph=True)(torch.ones(3))
print(x.grad.tolist(), y.tolist(), counters["aot_autograd"]["autograd_cache_miss"])
"""


@pytest.mark.thorough
def test_edits_reach_compiled_programs(generate: Generate, tmp_path: Path) -> None:
    """A corrected formula and a corrected dtype compile anew, and a run without edits compiles nothing."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}

    def run(*texts: str) -> str:
        call = [sys.executable, "-c", PROGRAM]
        environment["PYTHONPATH"] = str(generate(*texts))
        return subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    wrong = run(LIBRARY.replace("float32", "int32"), FORMULA.replace("grad * by", "grad * by * 100"))
    assert wrong.startswith("[200.0, 200.0, 200.0]")
    assert run(LIBRARY, FORMULA) == "[2.0, 2.0, 2.0] [4.0, 4.0, 4.0] 2"
    assert run(LIBRARY, FORMULA) == "[2.0, 2.0, 2.0] [4.0, 4.0, 4.0] 0"
