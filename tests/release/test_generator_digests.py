"""An edit of a tree's generator is told, once and with its place; what does not matter is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.generator_digests import check_generator
from opwright.release.inputs import from_source_path
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.torchgen import gen
from tests.conformance.inputs import source_tree

SHARDS = ("tools/autograd/gen_trace_type.py", "num_shards=10", "num_shards=7")
WORD = ("torchgen/dest/native_functions.py", 'else "TORCH_API"', 'else "TORCH_WORD"')
COMMENT = (
    "torchgen/gen.py",
    "from __future__ import annotations\n",
    "# A comment.\n\nfrom __future__ import annotations\n",
)
LIST = ("tools/autograd/gen_variable_type.py", '    "nanmean",\n', '    "nanmean",\n    "nan_to_num",\n')


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The installed PyTorch as a tree before its release, as links to files elsewhere."""
    top = tmp_path / "tree"
    for path in source_tree().rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            link = top / path.relative_to(source_tree())
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    edit(top, "version.txt", Path(top / "version.txt").read_text(), "2.13.0a0\n")
    return top


def edit(tree: Path, name: str, old: str, new: str) -> None:
    """Replace the link to a file by the file with other text."""
    text = (tree / name).read_text("utf-8")
    assert old in text
    (tree / name).unlink()
    (tree / name).write_text(text.replace(old, new, 1), "utf-8")


def told(tree: Path) -> list[str]:
    """What is said of the generator in a tree: for each code, the names and the files of the parts."""
    sink, inputs = Diagnostics(), from_source_path(tree)
    check_generator(inputs, rules_of(inputs), sink)
    return [" ".join([diagnostic.code, *diagnostic.notes]).replace(f"{tree}/", "") for diagnostic in sink]


def test_parts_that_differ_are_named(tree: Path) -> None:
    """A number of shards and an emitted word are told with function and file, in one warning."""
    assert told(tree) == []
    edit(tree, *SHARDS)
    assert told(tree) == ["W0507 changed: `gen_trace_type` in `tools/autograd/gen_trace_type.py`"]
    edit(tree, *WORD)
    (text,) = told(tree)
    assert "`gen_trace_type` in `tools/autograd/gen_trace_type.py`" in text
    assert "in `torchgen/dest/native_functions.py`" in text


def test_a_part_that_is_gone_is_told(tree: Path) -> None:
    """A module without one of its functions has no part that is unknown, but fewer than each release."""
    text = (tree / "torchgen/yaml_utils.py").read_text("utf-8")
    edit(tree, "torchgen/yaml_utils.py", text, text.partition("class YamlLoader")[0])
    assert told(tree) == ["W0507 changed: a part of `torchgen/yaml_utils.py` that is gone"]


@pytest.mark.parametrize("change", [COMMENT, LIST])
def test_what_is_followed_is_not_told(tree: Path, change: tuple[str, str, str]) -> None:
    """Comments and formatting change nothing, and lists are read from the tree."""
    edit(tree, *change)
    assert told(tree) == []


def test_the_release_before_is_known(tree: Path) -> None:
    """The installed generator is one of those that a tree with the next version may have, not one of later ones."""
    for minor, count in ((13, 0), (14, 0), (15, 1)):
        sink = Diagnostics()
        check_generator(from_source_path(tree), Rules(parse_version(f"2.{minor}")), sink)
        assert len(list(sink)) == count, minor


@pytest.mark.thorough
def test_a_strict_run_is_refused(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The main program writes nothing, by default and with `--strict`; it warns once and writes if it is told to."""
    edit(tree, *SHARDS)
    words = ["--source-path", str(tree / "aten/src/ATen"), "--generate", "declarations_yaml"]
    words += ["--aoti-install-dir", str(tmp_path / "aoti"), "--install-dir"]
    for flags in ([], ["--strict"], ["--strict", "--tolerate-generator-edits"]):
        assert gen.main([*words, str(tmp_path / "strict"), *flags]) == 1
        said = capsys.readouterr().err
        assert said.startswith("error[W0507]")
        assert "add `--tolerate-generator-edits`" in said
        assert not (tmp_path / "strict").exists()
    assert gen.main([*words, str(tmp_path / "out"), "--tolerate-generator-edits"]) == 0
    assert capsys.readouterr().err.count("W0507") == 1
    sink = Diagnostics()
    check_generator(from_source_path(tree), Rules(parse_version("2.13")), sink, strict=True)
    assert [diagnostic.severity for diagnostic in sink] == [Severity.ERROR]
