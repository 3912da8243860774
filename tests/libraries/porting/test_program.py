"""The command line of `opwright port`: what is written where, and the exit status."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.libraries.porting.cases import FOLDER

KERNEL = '#include "kernel.h"\n\nat::Tensor twice(const at::Tensor& x) { return x.mul(x).contiguous(); }\n'
HEADER = "#pragma once\n#include <ATen/ATen.h>\nat::Tensor twice(const at::Tensor& x);\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with a kernel and its header."""
    folder = tmp_path / "csrc" / "cpu"
    folder.mkdir(parents=True)
    (folder / "kernel.cpp").write_text(KERNEL)
    (folder / "kernel.h").write_text(HEADER)
    return folder.parent


def files(folder: Path) -> dict[str, str]:
    """The texts of the files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_nothing_is_written_with_diff_and_check(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--diff` prints a difference that `patch` takes, and `--check` fails as long as a line needs a change."""
    before = files(sources)
    assert main(["port", str(sources), "--diff"]) == 0
    difference = capsys.readouterr().out
    assert (
        subprocess.run(["patch", "-p0", "-d/", "--dry-run"], input=difference, text=True, check=False).returncode == 0
    )
    assert "+inline Tensor mul(const Tensor& self, const Tensor& other) {" in difference
    assert main(["port", str(sources), "--check"]) == 1
    assert files(sources) == before
    assert main(["port", str(sources)]) == 0
    assert main(["port", str(sources), "--check"]) == 0


def test_ported_files_go_to_the_named_folder(sources: Path, tmp_path: Path) -> None:
    """With `--out`, every source is written below the folder, and the originals stay; `--header` is for the calls."""
    before, out = files(sources), tmp_path / "ported"
    assert main(["port", str(sources), "--out", str(out), "--header", str(out / "include/calls.h")]) == 0
    assert files(sources) == before
    assert sorted(files(out)) == ["cpu/kernel.cpp", "cpu/kernel.h", "include/calls.h"]
    assert '#include "../include/calls.h"' in files(out)["cpu/kernel.cpp"]


def test_headers_that_need_the_same_are_named(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A header that a source includes, and that is not ported with it, is told."""
    assert main(["port", str(sources / "cpu/kernel.cpp"), "--diff"]) == 0
    assert f"needs the same: {sources / 'cpu/kernel.h'}: the sources include it; name it too" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.alone
def test_long_sources_take_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """12,000 lines with 1,500 macros are ported and compared in seconds: no step takes the square of the source."""
    macro = "#define A{0}(x) at::add(x, {0})\nat::Tensor f{0}(at::Tensor x) {{\n\n\n\n\n  return A{0}(x);\n}}\n"
    (tmp_path / "long.cpp").write_text("#include <torch/all.h>\n" + "".join(map(macro.format, range(1500))))
    start = time.process_time()
    assert main(["port", str(tmp_path), "--diff"]) == 0
    assert time.process_time() - start < 6
    added = capsys.readouterr().out.count("\n+#define A")
    assert added == 1500


def test_a_run_without_sources_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without C++ is an error with a code, and so is a file that is not there."""
    assert main(["port", str(tmp_path)]) == 1
    assert "error[E2406]: there are no C++ sources in" in capsys.readouterr().err
    assert main(["port", str(tmp_path / "absent.cpp")]) == 1
    assert "absent.cpp" in capsys.readouterr().err


@pytest.mark.parametrize("release", ["1.13", "2.8", "two"])
def test_releases_without_stable_headers_are_refused(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The oldest release has to have stable headers."""
    with pytest.raises(SystemExit) as ended:
        main(["port", str(FOLDER), "--target", release])
    assert ended.value.code == 2
    assert "is no release with stable headers: write 2.9 or a later one" in capsys.readouterr().err
