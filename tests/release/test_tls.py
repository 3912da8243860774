"""Servers that say who they are: certificates, users and proxies as pip's settings name them."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.release.inputs import from_version
from opwright.source.diagnostic import Fault
from tests.release.fake_torch import INPUT_NAMES, FakeIndex, serve, wheel_bytes

OPENSSL = shutil.which("openssl")


def message_of(version: str) -> str:
    """The message of the fault that no server answers."""
    with pytest.raises(Fault) as caught:
        from_version(version)
    assert caught.value.diagnostic.code == "E0508"
    return caught.value.diagnostic.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine that nobody has signed, with its key."""
    if OPENSSL is None:
        pytest.skip("there is no openssl")
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    words += ["-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([OPENSSL, *words], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def secure_index(quiet_pip: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    """An index that is served with the certificate."""
    offered = FakeIndex()
    server = serve(offered)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setenv("PIP_INDEX_URL", f"{offered.address.replace('http:', 'https:')}/simple")
    offered.add("2.13.0")
    yield offered
    server.shutdown()
    server.server_close()


def test_certificates_are_checked(
    secure_index: FakeIndex, certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An unknown certificate is refused, unless pip's settings name it or trust the host; those may name a client's."""
    assert "certificate verify failed" in message_of("2.13.0")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "127.0.0.2")
    assert "certificate verify failed" in message_of("2.13.0")
    assert secure_index.requests == []
    for name, value in (("PIP_CERT", str(certificate)), ("PIP_TRUSTED_HOST", "127.0.0.1")):
        with monkeypatch.context() as settings:
            settings.setenv(name, value)
            settings.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / name))
            assert from_version("2.13.0").names() == INPUT_NAMES
            settings.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / f"{name}-client"))
            settings.setenv("PIP_CLIENT_CERT", str(certificate))
            assert from_version("2.13.0").names() == INPUT_NAMES


@pytest.mark.parametrize("setting", ["PIP_CERT", "PIP_CLIENT_CERT"])
def test_files_of_certificates_that_cannot_be_used_are_named(
    setting: str, quiet_pip: Path, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not there, or that is no certificate."""
    if setting == "PIP_CLIENT_CERT":
        monkeypatch.setenv("PIP_CERT", str(certificate))
    monkeypatch.setenv("PIP_INDEX_URL", "https://127.0.0.1:9/simple")
    monkeypatch.setenv(setting, str(tmp_path / "none.pem"))
    expected = f"the certificates in `{tmp_path / 'none.pem'}` cannot be used: "
    assert message_of("2.13.0").endswith(f"{expected}No such file or directory")
    (tmp_path / "none.pem").write_text("no certificate")
    assert expected in message_of("2.13.0")


@pytest.mark.parametrize(
    ("lines", "sent"),
    [
        ("machine 127.0.0.1 login me password s@fe", "Basic bWU6c0BmZQ=="),
        ("machine 127.0.0.2 login me password s@fe", None),
        ("machine 127.0.0.1 login me", "Basic bWU6"),
        ("machine", None),
    ],
)
def test_users_come_from_netrc(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, sent: str | None
) -> None:
    """The user of a host in the netrc file is sent to it; a file with mistakes has none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text(f"{lines}\n")
    (tmp_path / ".netrc").chmod(0o600)
    index.add("2.13.0")
    from_version("2.13.0")
    assert index.credentials == {sent}


def test_proxies_are_asked(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy gets the whole address."""
    name = index.add("2.13.0", wheel_bytes("2.13.0"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "pypi.example")
    monkeypatch.setenv("PIP_INDEX_URL", "http://pypi.example/simple")
    monkeypatch.setenv("PIP_PROXY", index.address)
    with pytest.raises(Fault):
        from_version("2.13.0")
    assert index.requests[0] == ("http://pypi.example/simple/torch/", None)
    assert name not in str(index.requests)


def test_links_are_relative_to_the_base_of_a_page(index: FakeIndex) -> None:
    """The first `base` of a page counts; links in comments do not."""
    name = index.add("2.13.0")
    other = index.add("2.14.0")
    page = f"""<!-- <a href="files/{other}">no</a> --><BASE href="{index.address}/fi&#108;es/"><base href="/none/">
    <a href="{name}">yes</a>"""
    index.page = ("text/html", page.encode())
    assert from_version("2.13.0").names() == INPUT_NAMES
    assert index.requests[1][0] == f"/files/{name}"
    with pytest.raises(Fault):
        from_version("2.14.0")


def test_settings_without_indexes_say_so(quiet_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that no folder has is unknown, and the fault says that no server was asked."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere/at/all")
    with pytest.raises(Fault) as caught:
        from_version("2.13.0")
    notes = ("there is no wheel of PyTorch at all where pip would look", "pip's settings turn package indexes off")
    assert caught.value.diagnostic.notes == notes
