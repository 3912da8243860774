"""The example for Bazel, and all of PyTorch's files, built by a service for remote execution: `make remote` runs it.

It needs Debian's Bazel (`tests/builds/actions/test_bazel.py` says how to install it) and Linux's namespaces, and prints
a table of seconds for docs/build-systems.md.
"""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.builds.actions.bazel import EXAMPLE, OPTIONS, RULES, USER_OPTIONS, Workspace, is_installed
from tests.engine.project import replace_once
from tests.pages.page import Page
from tests.remote.service import PAGE, PYTHON, WHEELS, Service, can_isolate

#: What workers have; the packages that Opwright needs come with each action.
INTERPRETER = "/usr/bin/python3"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # many builds are one test, and a machine may be busy
    pytest.mark.skipif(not is_installed(), reason="Debian's Bazel is not installed"),
    pytest.mark.skipif(not PYTHON.exists(), reason="BuildGrid is not installed: run `make remote`"),
    pytest.mark.skipif(not can_isolate(), reason="this machine has no namespaces for workers"),
]

HALVE = "- func: halve(Tensor self) -> Tensor"
LIBRARY = ("//:_C.so", "//:operator_names")
CODE = "//:acme_ops_code"
LOCAL = ("--jobs=2",)

#: All files of PyTorch's default families; `pytorch.bzl` has the description.
PYTORCH = """
load("@opwright_rules//:opwright.bzl", "opwright_generate")
load(":pytorch.bzl", "ACTIONS")
opwright_generate(name = "pytorch", actions = ACTIONS)
"""


#: A wheel is an archive with packages at its top.
WHEEL = """
load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
http_archive(
    name = "{name}_wheel",
    build_file_content = 'filegroup(name = "packages", srcs = glob(["**"]), visibility = ["//visibility:public"])',
    sha256 = "{digest}",
    type = "zip",
    urls = ["{url}"],
)
"""

WHEELS_TOOL = """
load("@opwright_rules//:opwright.bzl", "opwright_python_tool")
opwright_python_tool(name = "opwright_of_wheels", interpreter_path = "/usr/bin/python3", packages = {packages})
"""


class RemoteWorkspace(Workspace):
    """A copy of the example whose actions can run at a service."""

    def __init__(self, folder: Path, root: Path, address: str, interpreter: str = INTERPRETER) -> None:
        super().__init__(folder, root)
        self.address = address
        self.options = (
            f"--remote_executor=grpc://{address}",
            "--remote_max_connections=10",
            "--remote_timeout=600",
            "--spawn_strategy=remote",
            "--genrule_strategy=remote",
            "--jobs=4",
        )
        line = 'python = "python3",'
        replace_once(folder / "WORKSPACE", line, f'{line}\n    interpreter = "{interpreter}",')

    def at_service(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A build whose actions run at the service."""
        return self.bazel("build", *OPTIONS, *self.options, *words)

    def with_cache(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A build whose actions run here, with the service as their cache."""
        return self.bazel("build", *OPTIONS, *LOCAL, f"--remote_cache=grpc://{self.address}", *words)

    def files(self, place: str) -> dict[str, bytes]:
        """The outputs below a place."""
        top = (self.folder / "bazel-bin" / place).resolve()
        paths = [path for path in top.rglob("*") if path.is_file()] if top.is_dir() else [top]
        return {str(path.relative_to(top)): path.read_bytes() for path in paths}


def ways(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How often a build, which must succeed, took each way, such as `remote` or `remote cache hit`."""
    assert done.returncode == 0, done.stderr
    told = re.findall(r"INFO: \d+ process(?:es)?: (.*)\.$", done.stderr, re.MULTILINE)
    pairs = [part.split(" ", 1) for part in told[-1].split(", ")]
    return {way: int(count) for count, way in pairs if way != "internal"}


class Table:
    """Seconds of builds, by what is built and how."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, float]] = []

    def timed(self, what: str, how: str, workspace: RemoteWorkspace, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Bazel and write down its seconds; Bazel is running already, with the packages loaded."""
        workspace.bazel("build", *OPTIONS, "--nobuild", *[word for word in words if word.startswith("//")])
        start = time.perf_counter()
        done = workspace.bazel("build", *OPTIONS, *words) if how == "local" else workspace.at_service(*words)
        self._rows.append((what, how, time.perf_counter() - start))
        return done

    def __str__(self) -> str:
        return "\n".join(f"{what:<10} {how:<16} {seconds:8.1f} s" for what, how, seconds in self._rows)


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """The table, printed at the end."""
    table = Table()
    yield table
    print(f"\n{table}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all runs of Bazel share; what they build is apart."""
    return tmp_path_factory.mktemp("bazel")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one worker for all actions."""
    with Service(tmp_path_factory.mktemp("service")) as service:
        service.add_worker("pool=generators")
        yield service


@pytest.fixture
def workspace(tmp_path: Path, root: Path, service: Service) -> Iterator[RemoteWorkspace]:
    """A copy of the example whose actions run at the service."""
    workspace = RemoteWorkspace(tmp_path / "example", root, service.address)
    yield workspace
    workspace.bazel("shutdown")


def test_example(workspace: RemoteWorkspace, tmp_path: Path, root: Path, service: Service, table: Table) -> None:
    """The service builds what a local build makes; another folder takes all of it from the cache.

    There the environment is in another folder too, with another PATH. The service may be the cache alone.
    """
    assert ways(table.timed("example", "local", workspace, *LOCAL, *LIBRARY)).keys() <= {"linux-sandbox", "local"}
    places = ("acme_ops_code", "_C.so", "operator_names.txt")
    local = [workspace.files(place) for place in places]
    assert {Path(place).suffix for place in local[0]} >= {".cpp", ".h", ".py"}
    workspace.bazel("clean")
    remote = ways(table.timed("example", "remote", workspace, *LIBRARY))
    assert remote == {"remote": 7}, "the packages, two generations, two compilations, a link, the user of a file"
    assert [workspace.files(place) for place in places] == local
    assert service.largest_file() < 100e6, "the linker reads stubs of PyTorch's libraries"
    other = RemoteWorkspace(tmp_path / "another/folder", root, service.address)
    other.use_environment(tmp_path / "another/environment")
    assert ways(table.timed("example", "hit", other, *LIBRARY)) == {"remote cache hit": 7}
    assert [other.files(place) for place in places] == local
    other.bazel("clean")
    minimal = table.timed("example", "hit, minimal", other, "--remote_download_minimal", *LIBRARY)
    assert ways(minimal) == {"remote cache hit": 7}
    other.bazel("clean")
    assert ways(other.with_cache(*LIBRARY)) == {"remote cache hit": 7}
    assert [other.files(place) for place in places] == local
    other.bazel("shutdown")


def test_page(tmp_path: Path, root: Path, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files and commands of the page work as they are, with another address: all is in the cache by now."""
    workspace = RemoteWorkspace(tmp_path / "example", root, service.address)
    (tmp_path / "home").mkdir()
    user = f"startup --output_user_root={root}\n{USER_OPTIONS.format(example=EXAMPLE)}"
    local = "build:remote --spawn_strategy=remote\nbuild:remote --genrule_strategy=remote\n"
    (tmp_path / "home/.bazelrc").write_text(user + local)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shutil.copytree(RULES, workspace.folder / "opwright_rules")
    text = PAGE.read_text(encoding="utf-8")
    assert "localhost:50051" in text
    page = tmp_path / PAGE.name
    page.write_text(text.replace("localhost:50051", service.address), encoding="utf-8")
    assert Page(page, workspace.folder).run() == 3
    monkeypatch.undo()
    workspace.bazel("shutdown")


def test_edits(workspace: RemoteWorkspace) -> None:
    """After each kind of edit the service runs what depends on it; what was built before comes from the cache."""
    ways(workspace.at_service(*LIBRARY))
    text = workspace.yaml.read_text()
    edits = [
        (text + "# a comment\n", {"remote": 2}),
        (text.replace("Limits values", "Limits all values"), {"remote": 3}),
        # Tags are in the registrations, and neither in the headers of the kernels nor in the Python module.
        (text.replace(f"{HALVE}\n", f"{HALVE}\n  tags: pointwise\n"), {"remote": 4}),
        (text.replace("limit=1.0", "limit=2.0"), {"remote": 6}),
    ]
    for changed, expected in edits:
        assert changed != text
        workspace.yaml.write_text(changed)
        assert ways(workspace.at_service(*LIBRARY)) == expected
        workspace.yaml.write_text(text)
        assert ways(workspace.at_service(*LIBRARY)).keys() == {"remote cache hit"}


def test_mistake(workspace: RemoteWorkspace) -> None:
    """A mistake is reported at its place in the author's file, and there are no outputs."""
    replace_once(workspace.yaml, "soft_clip(Tensor self", "soft_clip(Tensr self")
    line = workspace.yaml.read_text().partition("Tensr")[0].count("\n") + 1
    done = workspace.at_service(CODE)
    assert done.returncode == 1
    assert f"operators.yaml:{line}:" in done.stderr
    assert "Tensr" in done.stderr
    assert not [*(workspace.folder / "bazel-bin").glob("acme_ops_code/**/*.*")]


def test_missing_interpreter(tmp_path: Path, root: Path, service: Service) -> None:
    """Where workers lack the interpreter that the rules name, the build fails and names it."""
    workspace = RemoteWorkspace(tmp_path / "example", root, service.address, interpreter="/opt/nowhere/bin/python3")
    done = workspace.at_service(CODE)
    workspace.bazel("shutdown")
    assert done.returncode == 1
    assert "/opt/nowhere/bin/python3" in done.stderr


def test_killed_worker(tmp_path: Path, root: Path) -> None:
    """If a worker dies with an action, another one runs it."""
    (tmp_path / "service").mkdir()
    with Service(tmp_path / "service", patience=20) as service:
        first = service.add_worker("pool=generators")
        (first.folder / "hold").touch()
        workspace = RemoteWorkspace(tmp_path / "example", root, service.address)
        workspace.bazel("build", *OPTIONS, "--nobuild", CODE)
        with workspace.started("build", *OPTIONS, *workspace.options, CODE) as build:
            for _ in range(3000):
                if (first.folder / "held").exists():
                    break
                time.sleep(0.1)
            assert (first.folder / "held").exists()
            first.kill()
            service.add_worker("pool=generators")
            _, told = build.communicate(timeout=300)
        assert build.returncode == 0, told
        workspace.bazel("shutdown")
    assert "soft_clip" in workspace.output("acme_ops_code/include/acme_ops/ops.h")


def test_tools(workspace: RemoteWorkspace) -> None:
    """A `py_binary` and a Python toolchain run at the service, whose workers are chosen by `exec_properties`."""
    workspace.add_tools()
    for name in ("by_program", "by_toolchain"):
        done = workspace.at_service("--extra_toolchains=//:python_toolchain", f"//:{name}_code")
        # Each toolchain compiles the packages for itself.
        assert ways(done) == {"remote": 2 if name == "by_program" else 3}
    assert workspace.files("by_program_code") == workspace.files("by_toolchain_code")


def test_wheels(workspace: RemoteWorkspace) -> None:
    """With wheels as the packages, an action needs no environment: the worker has an interpreter and nothing else."""
    expected = ways(workspace.at_service(CODE)), workspace.files("acme_ops_code")
    assert expected[1]
    names = []
    for wheel in sorted(WHEELS.glob("*.whl")):
        name = wheel.name.partition("-")[0].lower()
        digest = sha256(wheel.read_bytes()).hexdigest()
        text = (workspace.folder / "WORKSPACE").read_text()
        rule = WHEEL.format(name=name, url=wheel.as_uri(), digest=digest)
        (workspace.folder / "WORKSPACE").write_text(text + rule)
        names.append(f"@{name}_wheel//:packages")
    assert len(names) == 4
    build = workspace.folder / "BUILD.bazel"
    build.write_text(WHEELS_TOOL.format(packages=names) + build.read_text())
    replace_once(build, "    actions = ACTIONS,\n", '    actions = ACTIONS,\n    opwright = ":opwright_of_wheels",\n')
    assert ways(workspace.at_service(CODE)) == {"remote": 3}
    assert workspace.files("acme_ops_code") == expected[1]


def test_pytorch(workspace: RemoteWorkspace, tmp_path: Path, root: Path, service: Service, table: Table) -> None:
    """All files of PyTorch's default families equal those that `opwright generate` writes here."""
    (workspace.folder / "BUILD.bazel").write_text(PYTORCH)
    workspace.opwright("generate", "--out", "gen", "--describe", "bazel", "--describe-to", "pytorch.bzl")
    local = table.timed("PyTorch", "local", workspace, *LOCAL, "//:pytorch")
    assert local.returncode == 0, local.stderr
    workspace.bazel("clean")
    assert ways(table.timed("PyTorch", "remote", workspace, "//:pytorch")).keys() <= {"remote", "remote cache hit"}
    workspace.opwright("generate", "--out", str(tmp_path / "expected"))
    expected = {str(path.relative_to(tmp_path / "expected")): path for path in (tmp_path / "expected").rglob("*")}
    expected = {name: path for name, path in expected.items() if path.is_file() and not name.startswith(".")}
    built = workspace.folder / "bazel-bin/pytorch"
    assert len(expected) > 7000
    assert [name for name, path in expected.items() if not filecmp.cmp(path, built / name, shallow=False)] == []
    other = RemoteWorkspace(tmp_path / "another/folder", root, service.address)
    for name in ("BUILD.bazel", "pytorch.bzl"):
        shutil.copy(workspace.folder / name, other.folder / name)
    assert ways(table.timed("PyTorch", "hit", other, "//:pytorch")) == {"remote cache hit": 2}
    other.bazel("clean")
    done = table.timed("PyTorch", "hit, minimal", other, "--remote_download_minimal", "//:pytorch")
    assert ways(done) == {"remote cache hit": 2}
    workspace.opwright("generate", "--out", "gen", "--describe", "bazel-folders", "--describe-to", "pytorch.bzl")
    assert len((workspace.folder / "pytorch.bzl").read_text().splitlines()) < 200
    shutil.copy(workspace.folder / "pytorch.bzl", other.folder / "pytorch.bzl")
    assert ways(workspace.at_service("//:pytorch")) == {"remote": 1}
    assert [name for name, path in expected.items() if not filecmp.cmp(path, built / name, shallow=False)] == []
    assert ways(table.timed("PyTorch", "hit, folders", other, "//:pytorch")) == {"remote cache hit": 2}
    other.bazel("shutdown")
