"""Generated sources in one, which the compiler reads in their place."""

from __future__ import annotations

from pathlib import Path

from opwright.libraries.extension.generated import join_sources

HELPER = "namespace at {\nnamespace {\nvoid resize_out(const Tensor &out) {\n}\n} // namespace\n} // namespace at\n"


def _written(folder: Path, texts: dict[str, str]) -> list[str]:
    (folder / "include").mkdir()
    for name, text in texts.items():
        (folder / "include" / name).write_text(text, encoding="utf-8")
    return [str(folder / "include" / name) for name in texts]


def test_joined_sources(tmp_path: Path) -> None:
    """Shared helpers get other names after the first source; that of dense tensors, whose name is short, is last."""
    sources = _written(tmp_path, {"RegisterAcme.cpp": HELPER, "RegisterSparseAcme.cpp": HELPER})
    joined = str(tmp_path / "joined.cpp")
    assert join_sources(sources, str(tmp_path)) == (joined,)
    assert (tmp_path / "joined.cpp").read_text(encoding="utf-8") == (
        '#include "include/RegisterSparseAcme.cpp"\n'
        '#define resize_out resize_out_1\n#include "include/RegisterAcme.cpp"\n#undef resize_out\n'
    )


def test_same_text_is_not_written(tmp_path: Path) -> None:
    """A source whose text stays the same keeps its time, so that nothing is compiled."""
    sources = _written(tmp_path, {"RegisterAcme.cpp": "", "RegisterSparseAcme.cpp": ""})
    join_sources(sources, str(tmp_path))
    before = (tmp_path / "joined.cpp").stat().st_mtime_ns
    join_sources(sources, str(tmp_path))
    assert (tmp_path / "joined.cpp").stat().st_mtime_ns == before
    assert before != 0


def test_sources_that_stay_apart(tmp_path: Path) -> None:
    """A source that names a shared helper as a member, or a namespace that another one hides, is compiled alone."""
    member = HELPER + "at::Tensor wrapper_out(at::Tensor & out) {\n  return Kernels::resize_out(out);\n}\n"
    hidden = "namespace at {\nnamespace acme {\n} // namespace acme\n} // namespace at\n"
    names = "acme::MemoryAccess access;\n"
    texts = {"RegisterAcme.cpp": member, "RegisterSparseAcme.cpp": HELPER, "RegisterQuantizedAcme.cpp": hidden}
    sources = _written(tmp_path, {**texts, "RegisterNested.cpp": names})
    joined, *others = join_sources(sources, str(tmp_path))
    assert [Path(path).name for path in (joined, *others)] == ["joined.cpp", "RegisterAcme.cpp", "RegisterNested.cpp"]


def test_single_source(tmp_path: Path) -> None:
    """One source is compiled as it is."""
    sources = _written(tmp_path, {"RegisterAcme.cpp": HELPER})
    assert join_sources(sources, str(tmp_path)) == tuple(sources)
    assert not (tmp_path / "joined.cpp").exists()
    assert join_sources([], str(tmp_path)) == ()
