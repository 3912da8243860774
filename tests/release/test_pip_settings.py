from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from opwright.source.diagnostic import Fault
from opwright.wheels.pip_settings import IndexSettings, _configuration_files, load_index_settings
from tests.release.fake_torch import write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder and a Python prefix without settings; the machine's file is left out."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr("opwright.wheels.pip_settings._machine_folders", lambda: [str(tmp_path / "etc")])
    return tmp_path


def load(home: Path, **variables: str) -> IndexSettings:
    """pip's settings with these variables alone."""
    with mock.patch.dict(os.environ, {"HOME": str(home), **variables}, clear=True):
        return load_index_settings()


def test_without_settings_the_public_index_is_asked(home: Path) -> None:
    """What pip does out of the box."""
    settings = load(home)
    assert settings.indexes == ("https://pypi.org/simple",)
    assert settings.find_links == ()


def test_later_files_and_variables_replace_earlier_values(home: Path) -> None:
    """Machine, user, environment, variable: each goes before the ones named before it."""
    write_files(
        home, {"etc/pip.conf": "[global]\nindex-url = https://machine/simple/\ncert = machine.pem\ntimeout = 3\n"}
    )
    assert load(home).indexes == ("https://machine/simple",)
    write_files(home, {".config/pip/pip.conf": "[global]\nindex_url = https://user/simple\n"})
    assert load(home).indexes == ("https://user/simple",)
    write_files(home, {"env/pip.conf": "[global]\nindex-url = https://env/simple\n"})
    settings = load(home)
    assert (settings.indexes, settings.certificates, settings.timeout) == (("https://env/simple",), "machine.pem", 3.0)
    settings = load(home, PIP_INDEX_URL="https://variable/simple", PIP_DEFAULT_TIMEOUT="7")
    assert settings.indexes == ("https://variable/simple",)


def test_a_named_file_stands_in_for_the_users(home: Path) -> None:
    """`PIP_CONFIG_FILE` goes before all files, and leaves the user's out; the null device leaves all out."""
    write_files(home, {"etc/pip.conf": "[global]\nproxy = http://proxy:3128\n"})
    write_files(home, {".pip/pip.conf": "[global]\nextra-index-url = https://user/simple\n"})
    named = write_files(home, {"named.conf": "[global]\nindex-url = https://named/simple\n"}) / "named.conf"
    settings = load(home, PIP_CONFIG_FILE=str(named))
    assert settings.indexes == ("https://named/simple",)
    assert settings.proxy == "http://proxy:3128"
    assert load(home, PIP_CONFIG_FILE=os.devnull).proxy is None
    assert load(home, PIP_CONFIG_FILE=str(home / "none")).indexes[1:] == ("https://user/simple",)


def test_lists_are_split_and_the_install_section_goes_first(home: Path) -> None:
    """Several addresses stand in one value; what pip reads for `install` replaces what it reads for all."""
    write_files(
        home,
        {
            "etc/pip.conf": "[global]\nextra-index-url =\n    https://one/simple\n    https://two/simple\n"
            "find-links = a b\ntrusted-host = one\n[install]\nfind-links = c\n"
        },
    )
    settings = load(home)
    assert settings.indexes == ("https://pypi.org/simple", "https://one/simple", "https://two/simple")
    assert settings.find_links == ("c",)
    assert settings.trusted_hosts == ("one",)


@pytest.mark.parametrize(("text", "asked"), [("1", False), ("true", False), ("false", True), ("0", True)])
def test_indexes_can_be_turned_off(home: Path, text: str, asked: bool) -> None:
    """`no-index` leaves folders of wheels only."""
    assert bool(load(home, PIP_NO_INDEX=text).indexes) is asked


def test_certificates_follow_pip_then_common_variables(home: Path) -> None:
    """pip's setting goes before the variables that its library reads."""
    variables = {"REQUESTS_CA_BUNDLE": "requests.pem", "CURL_CA_BUNDLE": "curl.pem"}
    assert load(home, **variables).certificates == "requests.pem"
    assert load(home, **{**variables, "PIP_CERT": "~/pip.pem"}).certificates == str(home / "pip.pem")


def test_a_malformed_file_is_a_fault_that_names_it(home: Path) -> None:
    """A file that pip could not read either is named."""
    write_files(home, {"env/pip.conf": "index-url = https://no.section/simple\n"})
    with pytest.raises(Fault) as caught:
        load(home)
    assert caught.value.diagnostic.code == "E0516"
    assert "pip.conf" in caught.value.diagnostic.message


def test_files_are_those_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The files of the machine, the user and the environment are those that pip reads, in its order."""
    configuration = pytest.importorskip("pip._internal.configuration")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    variables = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": f"{tmp_path}/first:{tmp_path}/second"}
    for more in ({}, {"XDG_CONFIG_HOME": str(tmp_path / "own")}):
        environ = {**variables, **more}
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        files = configuration.get_configuration_files()
        expected = [*files["global"], *files["user"], *files["site"]]
        assert _configuration_files() == expected
        monkeypatch.setenv("PIP_CONFIG_FILE", "")
        assert _configuration_files() == expected
        monkeypatch.delenv("PIP_CONFIG_FILE")
    files = configuration.get_configuration_files()
    named = str(tmp_path / "named.conf")
    Path(named).write_text("")
    monkeypatch.setenv("PIP_CONFIG_FILE", named)
    assert _configuration_files() == [*files["global"], *files["site"], named]


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7.0), ("0.5", 0.5), ("1e9", 86_400.0), ("inf", 86_400.0), ("", 15.0)]
)
def test_timeouts_are_seconds(home: Path, text: str, seconds: float) -> None:
    """A time limit is at most a day."""
    assert load(home, PIP_TIMEOUT=text).timeout == seconds


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        *[("PIP_TIMEOUT", text) for text in ("0", "-1", "nan", "soon")],
        ("PIP_DEFAULT_TIMEOUT", "soon"),
    ],
)
def test_values_that_cannot_be_are_faults(home: Path, variable: str, text: str) -> None:
    """A number of seconds is above zero, and a host is one."""
    with pytest.raises(Fault) as caught:
        load(home, **{variable: text})
    assert caught.value.diagnostic.code == "E0516"


def test_other_settings(home: Path) -> None:
    """Certificates of the client and hashes are pip's settings; an empty value sets nothing."""
    variables = {"PIP_CLIENT_CERT": "~/me.pem", "PIP_REQUIRE_HASHES": "yes", "CURL_CA_BUNDLE": "curl.pem"}
    settings = load(home, **{**variables, "PIP_INDEX_URL": "", "PIP_NO_INDEX": ""})
    assert settings.client_certificate == str(home / "me.pem")
    assert settings.require_hashes
    assert settings.certificates == "curl.pem"
    assert settings.indexes == ("https://pypi.org/simple",)
    assert load(home).client_certificate is None
    assert not load(home, PIP_REQUIRE_HASHES="OFF").require_hashes
