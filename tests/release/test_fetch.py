from __future__ import annotations

import errno
import io
import json
import os
import socket
from pathlib import Path

import pytest

from opwright.release.inputs import Inputs, from_version
from opwright.release.store import SHIM_TABLES
from opwright.release.version import version_of
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.wheels.cache import cached_versions
from opwright.wheels.client import Client, RemoteFile
from opwright.wheels.fetch import offered_versions, open_wheel
from opwright.wheels.pip_settings import load_index_settings
from tests.release.fake_torch import (
    ATEN,
    INPUT_NAMES,
    NATIVE,
    FakeIndex,
    package_files,
    serve,
    wheel_bytes,
    write_files,
)

BIG = 4_000_000


def fault_of(version: str, **options: object) -> Diagnostic:
    """The diagnostic with which a version cannot be had."""
    with pytest.raises(Fault) as caught:
        from_version(version, **options)  # type: ignore[arg-type]
    return caught.value.diagnostic


def check_is_whole(inputs: Inputs) -> None:
    """Compares every input with what the fake PyTorch has."""
    assert inputs.names() == INPUT_NAMES
    assert inputs.read_text(NATIVE).text == ATEN[NATIVE]
    assert inputs.read_text("autograd/templates/Functions.h").text == "// autograd\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_version_takes_two_requests(index: FakeIndex, as_json: bool) -> None:
    """The page of links and one range are all that is asked for, from either kind of page."""
    index.as_json = as_json
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    inputs = from_version("2.13.0")
    check_is_whole(inputs)
    assert index.requests == [("/simple/torch/", None), (f"/files/{name}", "bytes=-2500000")]
    assert name in inputs.origin
    assert str(version_of(inputs)) == "2.13.0"


def test_members_far_from_the_end_take_one_more_range(index: FakeIndex) -> None:
    """Members that the first range lacks are coalesced into one more."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG, filler_last=True))
    check_is_whole(from_version("2.13.0"))
    assert len(index.requests) == 3


def test_a_cached_version_asks_nothing(index: FakeIndex) -> None:
    """The second time, no request is made, and diagnostics name the files in the cache."""
    index.add("2.13.0")
    first = from_version("2.13.0")
    index.requests.clear()
    again = from_version("2.13.0")
    check_is_whole(again)
    assert index.requests == []
    assert first.digest == again.digest
    assert Path(again.display_path(NATIVE)).read_text(encoding="utf-8") == ATEN[NATIVE]
    assert cached_versions() == ("2.13.0",)
    assert "cached" in again.origin


@pytest.mark.parametrize("damage", ["altered", "missing", "manifest"])
def test_a_damaged_cache_entry_is_fetched_again(index: FakeIndex, quiet_pip: Path, damage: str) -> None:
    """Whatever happened to an entry, it is replaced by a sound one."""
    index.add("2.13.0")
    from_version("2.13.0")
    entry = quiet_pip / "releases" / "2.13.0"
    if damage == "altered":
        (entry / NATIVE).write_text("- func: thrice()\n", encoding="utf-8")
    elif damage == "missing":
        (entry / "native" / "tags.yaml").unlink()
    else:
        (entry / "manifest.json").write_text("[", encoding="utf-8")
    check_is_whole(from_version("2.13.0"))
    index.requests.clear()
    check_is_whole(from_version("2.13.0"))
    assert index.requests == []
    assert not list(quiet_pip.rglob(".new-*"))


def test_a_cache_that_cannot_be_written_is_a_warning(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs are given without being kept, and the sink is told."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "file"))
    index.add("2.13.0")
    sink = Diagnostics()
    check_is_whole(from_version("2.13.0", sink=sink))
    assert [diagnostic.code for diagnostic in sink] == ["W0502"]


def test_other_members_are_read_on_demand(index: FakeIndex) -> None:
    """A member that is no input is read from the wheel, also when the inputs came from the cache."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    from_version("2.13.0")
    index.requests.clear()
    inputs = from_version("2.13.0")
    assert inputs.read_member(f"torchgen/packaged/ATen/{NATIVE}").decode() == ATEN[NATIVE]
    assert index.requests == []
    assert b"'2.13.0'" in inputs.read_member("torch/version.py")
    assert len(index.requests) == 2
    assert "torchgen/packaged/autograd/load_derivatives.py" in inputs.member_names("torchgen/")
    assert len(index.requests) == 2


def test_the_smallest_wheel_is_read(index: FakeIndex) -> None:
    """Of a version's wheels the smallest is taken where the page tells sizes, an Apple one where it does not."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=9000))
    small = index.add("2.13.0", wheel_bytes("2.13.0", filler=5), platform="manylinux_2_28_x86_64")
    index.as_json = True
    assert small in from_version("2.13.0").origin
    index.as_json = False
    assert "macosx" in from_version("2.13").origin


def test_a_wheel_for_windows_is_the_last_choice(index: FakeIndex) -> None:
    """Its inputs have Windows' line breaks, which are read as plain ones where there is no other wheel."""
    files = {name: text.replace("\n", "\r\n") for name, text in package_files("2.13.0").items()}
    windows = index.add("2.13.0", wheel_bytes("2.13.0", files), platform="win_amd64")
    index.add("2.14.0", wheel_bytes("2.14.0", files), platform="win_amd64")
    other = index.add("2.14.0", wheel_bytes("2.14.0", filler=9000), platform="manylinux_2_28_x86_64")
    index.as_json = True
    inputs = from_version("2.13.0")
    check_is_whole(inputs)
    assert windows in inputs.origin
    assert other in from_version("2.14.0").origin


def test_an_exact_version_goes_before_a_build_of_it(index: FakeIndex) -> None:
    """`2.13.0+cpu` serves for 2.13.0 only where 2.13.0 itself is not offered."""
    index.add("2.13.0+cpu")
    index.add("2.12.0+cpu")
    index.add("2.13.0", wheel_bytes("2.13.0", filler=9000), platform="win_amd64")
    assert "torch-2.13.0-" in from_version("2.13.0").origin
    assert "torch-2.12.0+cpu-" in from_version("2.12.0").origin


def test_a_server_without_ranges_is_asked_about(index: FakeIndex) -> None:
    """Without agreement nothing more is downloaded; with it, the whole wheel is, and what is needed is kept."""
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    index.ranges = False
    assert fault_of("2.13.0").code == "E0511"
    assert fault_of("2.13.0", ask_whole=lambda _name, _size: False).code == "E0511"
    asked = []

    def agree(wheel: str, size: int | None) -> bool:
        asked.append((wheel, size))
        return True

    check_is_whole(from_version("2.13.0", ask_whole=agree))
    assert asked == [(name, len(index.wheels[name]))]
    index.requests.clear()
    check_is_whole(from_version("2.13.0"))
    assert index.requests == []


@pytest.mark.parametrize("status", [200, 416, 501])
def test_a_server_that_counts_from_the_start_only_will_do(index: FakeIndex, status: int) -> None:
    """Where the last bytes cannot be asked for, the first byte tells the length, and the range is asked by places."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    index.suffix_ranges = status
    check_is_whole(from_version("2.13.0"))
    assert [part for path, part in index.requests if path.startswith("/files/")][1] == "bytes=0-0"
    assert len(index.requests) == 4


def test_a_server_that_changes_its_mind_is_a_fault(index: FakeIndex) -> None:
    """A server that stops sending parts between two of them is no crash."""
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG, filler_last=True))
    source = RemoteFile(Client(load_index_settings()), f"{index.address}/files/{name}")
    index.ranges = False
    with pytest.raises(Fault) as caught:
        source.read(10)
    assert caught.value.diagnostic.code == "E0508"
    index.ranges = True
    index.wheels[name] += b"more"
    with pytest.raises(Fault) as caught:
        source.read(10)
    assert caught.value.diagnostic.code == "E0510"


def test_a_whole_wheel_is_compared_with_the_index_digest(index: FakeIndex, quiet_pip: Path) -> None:
    """A wheel that differs from the index's SHA-256 is refused, and nothing of it is kept."""
    index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    index.ranges = False
    index.altered_digest = True
    assert fault_of("2.13.0", ask_whole=lambda _name, _size: True).code == "E0510"
    assert not quiet_pip.exists()


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "E0606"), (errno.EIO, "E0608")])
def test_a_download_that_cannot_be_written_is_no_fault_of_the_network(
    index: FakeIndex, quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    """A full disk is named as such, the server is not asked again, and nothing is kept."""

    class FullDisk(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(number, os.strerror(number))

    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    index.ranges = False
    monkeypatch.setattr("tempfile.TemporaryFile", FullDisk)
    found = fault_of("2.13.0", ask_whole=lambda _name, _size: True)
    assert (found.code, os.strerror(number) in found.message) == (code, True)
    assert [part for path, part in index.requests if path == f"/files/{name}"].count(None) == 1
    assert not quiet_pip.exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_truncated_download_is_a_fault(index: FakeIndex, quiet_pip: Path, ranges: bool) -> None:
    """An answer that ends early is asked for again, then is a fault, and nothing is kept."""
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=BIG))
    index.ranges = ranges
    index.cut_after = 1000
    assert fault_of("2.13.0", ask_whole=lambda _name, _size: True).code == "E0509"
    assert len([path for path, _ in index.requests if path == f"/files/{name}"]) >= 3
    assert not quiet_pip.exists()


def test_altered_bytes_are_a_fault(index: FakeIndex, quiet_pip: Path) -> None:
    """One changed byte in a member's packed content shows by its checksum."""
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=10))
    content = bytearray(index.wheels[name])
    at = bytes(content).index(b"torchgen/packaged/ATen/native/native_functions.yaml")
    content[at + 60] ^= 0xFF
    index.wheels[name] = bytes(content)
    diagnostic = fault_of("2.13.0")
    assert diagnostic.code == "E0510"
    assert "native_functions.yaml" in diagnostic.message
    assert not quiet_pip.exists()


def test_a_member_that_differs_from_the_record_is_a_fault(index: FakeIndex) -> None:
    """A wheel whose archive is sound but whose members are not those that were recorded is refused."""
    index.add("2.13.0", wheel_bytes("2.13.0", record="A" * 43))
    diagnostic = fault_of("2.13.0")
    assert diagnostic.code == "E0510"
    assert "RECORD" in diagnostic.message


@pytest.mark.parametrize("as_json", [False, True])
def test_a_yanked_version_is_a_fault_with_the_reason(index: FakeIndex, as_json: bool) -> None:
    """A withdrawn version is named as such, with what the index says about it and versions near it."""
    index.as_json = as_json
    index.yanked[index.add("2.13.0")] = "wrong kernels"
    index.add("2.13.1")
    diagnostic = fault_of("2.13.0")
    assert diagnostic.code == "E0507"
    assert "wrong kernels" in diagnostic.message
    assert diagnostic.help == "versions near it: 2.13.1"
    assert offered_versions() == ("2.13.1",)


def test_an_unknown_version_lists_near_ones(index: FakeIndex) -> None:
    """Versions on both sides of the one asked for are listed, in order of number and not of text."""
    for version in ("2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.13.0"):
        index.add(version)
    diagnostic = fault_of("2.10.5")
    assert diagnostic.code == "E0506"
    assert diagnostic.help == "versions near it: 2.9.1, 2.10.0, 2.11.0, 2.12.0, 2.13.0"


def test_other_projects_are_read_too(index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel of another project comes from its own page or folder, where wheels of PyTorch do not count."""
    content = wheel_bytes("2.13.0", {"acme/operators.yaml": "supported: []\n"})
    index.wheels["acme_ops-2.13.0-py3-none-any.whl"] = content
    index.add("2.13.0")
    members = open_wheel("Acme-Ops", "2.13.0").read(["acme/operators.yaml"])
    assert members == {"acme/operators.yaml": b"supported: []\n"}
    assert {path for path, _ in index.requests} == {"/simple/acme-ops/", "/files/acme_ops-2.13.0-py3-none-any.whl"}
    check_is_whole(from_version("2.13.0"))
    (tmp_path / "acme_ops-2.14.0-py3-none-any.whl").write_bytes(content)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert open_wheel("acme-ops", "2.14.0").names("acme/") == ("acme/operators.yaml",)
    assert fault_of("2.14.0").code == "E0506"
    with pytest.raises(Fault, match=r"no package index has `acme-ops` 2\.15"):
        open_wheel("acme-ops", "2.15")


def test_an_index_without_the_project_has_no_version(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that answers 404 has no PyTorch; the others are still asked."""
    index.add("2.13.0")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{index.address}/simple")
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/nothing")
    check_is_whole(from_version("2.13.0"))
    assert fault_of("2.14.0").code == "E0506"
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL")
    nothing = fault_of("2.14.0")
    assert nothing.code == "E0506"
    assert "no wheel of PyTorch at all" in nothing.notes[0]
    assert "--source-path" in str(nothing.help)


def test_a_busy_index_is_asked_again(index: FakeIndex) -> None:
    """An index that is overloaded for a moment is no fault; one that stays so is."""
    index.add("2.13.0")
    index.failures = 2
    check_is_whole(from_version("2.13.0"))
    index.failures = 100
    assert fault_of("2.12.0").code == "E0508"


def test_no_index_in_reach_says_the_three_ways(quiet_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address at which nobody listens is a fault that says what else can be done, without the password in it."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret@127.0.0.1:{port}/simple")
        diagnostic = fault_of("2.13.0")
    assert diagnostic.code == "E0508"
    assert all(way in str(diagnostic.help) for way in ("--source-path", "FILE.whl", "install torch"))
    assert "secret" not in repr(diagnostic)


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("application/vnd.pypi.simple.v1+json", b"{"),
        ("application/vnd.pypi.simple.v1+json", b"[]"),
        ("application/vnd.pypi.simple.v1+json", b'{"files": [1]}'),
        ("application/pdf", b"%PDF"),
    ],
)
def test_a_page_that_is_none_of_an_index_is_a_fault(index: FakeIndex, media_type: str, text: bytes) -> None:
    """A page that is neither links nor their JSON is told from an index without the version."""
    index.page = (media_type, text)
    assert fault_of("2.13.0").code == "E0515"


def test_a_wheel_that_is_no_archive_is_a_fault(index: FakeIndex) -> None:
    """A server may send a page in place of the file."""
    index.add("2.13.0", b"<html>please log in</html>")
    assert fault_of("2.13.0").code == "E0504"


def test_a_wheel_without_inputs_is_a_fault(index: FakeIndex) -> None:
    """A wheel that carries no inputs says so."""
    index.add("2.13.0", wheel_bytes("2.13.0", {"torch/version.py": ""}))
    assert fault_of("2.13.0").code == "E0505"


@pytest.mark.parametrize("version", ["2.x", "2.13.0/..", "..", "", "two"])
def test_what_is_no_version_is_a_fault(index: FakeIndex, version: str) -> None:
    """A text that is no version leads to no folder and no request."""
    assert fault_of(version).code == "E0503"
    assert index.requests == []


def test_a_version_may_be_written_in_several_ways(index: FakeIndex) -> None:
    """What means the same version has the same entry in the cache."""
    index.add("2.13.0")
    from_version("2.13.0")
    index.requests.clear()
    check_is_whole(from_version(" v2.13.0 "))
    assert index.requests == []


def test_credentials_go_to_the_index_only(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """User and password of an index's address are sent to it, and not to the server that has the files."""
    name = index.add("2.13.0")
    elsewhere = FakeIndex(wheels=index.wheels)
    server = serve(elsewhere)
    try:
        index.page = ("text/html", f'<a href="{elsewhere.address}/files/{name}">{name}</a>'.encode())
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple".replace("//", "//me:s%40fe@"))
        check_is_whole(from_version("2.13.0"))
    finally:
        server.shutdown()
        server.server_close()
    assert index.credentials == {"Basic bWU6c0BmZQ=="}
    assert elsewhere.credentials == {None}


def test_an_index_with_users_has_them_for_its_files(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pip does, Opwright sends the user of an index with requests for the files on the same server."""
    index.add("2.13.0")
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple".replace("//", "//me:s%40fe@"))
    inputs = from_version("2.13.0")
    assert index.credentials == {"Basic bWU6c0BmZQ=="}
    assert b"'2.13.0'" in inputs.read_member("torch/version.py")
    manifest = Path(inputs.display_path(NATIVE)).parents[1] / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["url"].startswith(f"{index.address}/files/")
    assert "s%40fe" not in manifest.read_text(encoding="utf-8") + inputs.origin


def test_a_folder_of_wheels_goes_before_servers(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel in a folder that pip looks through is read in place, with no request and nothing cached."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "torch-2.13.0-cp312-cp312-win_amd64.whl").write_bytes(wheel_bytes("2.13.0"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    check_is_whole(from_version("2.13.0"))
    assert index.requests == []
    assert cached_versions() == ()


def test_an_index_in_a_folder_is_read(quiet_pip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `file:` address leads to a folder of pages, whose links are relative to them."""
    (tmp_path / "files").mkdir()
    name = "torch-2.13.0-cp312-cp312-win_amd64.whl"
    (tmp_path / "files" / name).write_bytes(wheel_bytes("2.13.0"))
    write_files(tmp_path, {"simple/torch/index.html": f'<a href="../../files/{name}">{name}</a>'})
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    check_is_whole(from_version("2.13.0"))


def test_the_manifest_names_the_wheel_and_each_digest(index: FakeIndex, quiet_pip: Path) -> None:
    """The cache says where its files came from, and the SHA-256 of each."""
    name = index.add("2.13.0")
    from_version("2.13.0")
    manifest = json.loads((quiet_pip / "releases" / "2.13.0" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["wheel"] == name
    assert manifest["url"] == f"{index.address}/files/{name}"
    assert sorted(manifest["files"]) == list(INPUT_NAMES)
    assert all(len(digest) == 64 for digest in manifest["files"].values())


@pytest.mark.network
def test_the_real_index_has_2_13_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch 2.13.0 is read from the index that pip is set up for."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path))
    inputs = from_version("2.13.0")
    assert {NATIVE, SHIM_TABLES} < set(inputs.names())
    assert sum("/templates/" in f"/{name}" for name in inputs.names()) == 65
    assert inputs.read_text(NATIVE).text.count("\n- func:") == 2584
    inputs.version_text = None
    assert version_of(inputs).series == "2.13"
