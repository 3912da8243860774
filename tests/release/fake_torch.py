"""A little PyTorch for tests: its inputs, as a package, a source tree, a wheel and an index of wheels."""

from __future__ import annotations

import base64
import hashlib
import io
import random
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from opwright.release.generator_files import GENERATOR
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.torchgen.forwarding import module_file

NATIVE = "native/native_functions.yaml"

ATEN = {
    NATIVE: "- func: twice(Tensor self) -> Tensor\n",
    "native/tags.yaml": "- tag: core\n  desc: basic\n",
    "templates/Functions.h": "// ${generated_comment}\n",
    "templates/ViewMetaClasses.h": "#pragma once\n",
}
AUTOGRAD = {
    "derivatives.yaml": "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    "deprecated.yaml": "[]\n",
    "templates/Functions.h": "// autograd\n",
    "load_derivatives.py": "raise SystemExit\n",
}
INPUT_NAMES = tuple(
    sorted([*ATEN, "autograd/derivatives.yaml", "autograd/deprecated.yaml", "autograd/templates/Functions.h"])
)


def package_files(version: str) -> dict[str, str]:
    """The files that an installed PyTorch, or its wheel, has; its Python must not be run."""
    files = {f"torchgen/packaged/ATen/{name}": text for name, text in ATEN.items()}
    files |= {f"torchgen/packaged/autograd/{name}": text for name, text in AUTOGRAD.items()}
    files["torchgen/__init__.py"] = files["torch/__init__.py"] = "raise SystemExit('imported')\n"
    files["torch/version.py"] = f"from typing import Optional\n\n__version__ = '{version}'\ndebug = False\n"
    return files


def generator_files(version: str, files: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The files of a generator that a tree of a version has, with what they all have from two releases before it on.

    `files` are their texts before that, by path in the tree.
    """
    places = {name: name if name.startswith("torchgen") else f"tools/{name}" for name in GENERATOR}
    texts = {**dict.fromkeys(places.values(), ""), **files}
    oldest = (2, parse_version(version).minor - 1)
    for mark, series in [(change.mark, change.series) for row in Rules.rows() for change in row.changes]:
        if mark is not None and not mark.gone and series < oldest:
            texts[places[mark.file]] += f"\n# {mark.text}\n"
    return texts


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Writes files under a folder and gives the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_source_tree(folder: Path, version: str | None = "2.13.0a0+git12ab") -> Path:
    """A source tree's inputs at their places, with Opwright in the generator's; gives the tree's top."""
    write_files(folder / "aten" / "src" / "ATen", ATEN)
    write_files(folder / "tools" / "autograd", AUTOGRAD)
    write_files(folder, {"torchgen/gen.py": module_file("torchgen.gen")})
    if version is not None:
        (folder / "version.txt").write_text(version + "\n", encoding="utf-8")
    return folder


def wheel_bytes(
    version: str, files: dict[str, str] | None = None, *, filler: int = 0, filler_last: bool = False, record: str = ""
) -> bytes:
    """A wheel of that version, with so many bytes of filler before or after its other members.

    `record` replaces the digest of every member in RECORD.
    """
    noise = random.Random(version).randbytes(filler)
    members = {name: text.encode() for name, text in (package_files(version) if files is None else files).items()}
    members = {**members, "torch/lib/noise.so": noise} if filler_last else {"torch/lib/noise.so": noise, **members}
    info = f"torch-{version}.dist-info"
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n".encode()
    lines = [f"{name},sha256={record or _digest(content)},{len(content)}" for name, content in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@dataclass
class FakeIndex:
    """A package index on this machine; its attributes are its faults, and may be changed while it serves."""

    address: str = ""
    wheels: dict[str, bytes] = field(default_factory=dict)
    yanked: dict[str, str] = field(default_factory=dict)
    as_json: bool = False
    ranges: bool = True
    suffix_ranges: int = 206
    cut_after: int | None = None
    failures: int = 0
    page: tuple[str, bytes] | None = None
    altered_digest: bool = False
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    credentials: set[str | None] = field(default_factory=set)

    def add(self, version: str, content: bytes | None = None, platform: str = "macosx_14_0_arm64") -> str:
        """Offers a wheel and gives its file name."""
        name = f"torch-{version}-cp312-cp312-{platform}.whl"
        self.wheels[name] = wheel_bytes(version) if content is None else content
        return name

    def project_page(self) -> tuple[str, bytes]:
        """The media type and the text of the page of links."""
        import json

        if self.page is not None:
            return self.page
        digests = {
            name: "0" * 64 if self.altered_digest else hashlib.sha256(content).hexdigest()
            for name, content in self.wheels.items()
        }
        if self.as_json:
            files = [
                {
                    "filename": name,
                    "url": f"../../files/{name}",
                    "hashes": {"sha256": digests[name]},
                    "size": len(content),
                    "yanked": self.yanked.get(name, False),
                }
                for name, content in self.wheels.items()
            ]
            page = {"meta": {"api-version": "1.1"}, "name": "torch", "files": files}
            return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
        links = [
            f'<a href="../../files/{name}#sha256={digests[name]}"'
            + (f' data-yanked="{self.yanked[name]}"' if name in self.yanked else "")
            + f">{name}</a><br/>"
            for name in self.wheels
        ]
        return "text/html; charset=utf-8", "\n".join(["<!DOCTYPE html><html><body>", *links, "</body></html>"]).encode()


def serve(index: FakeIndex) -> ThreadingHTTPServer:
    """Starts to serve an index on a free port; `shutdown` and `server_close` end it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            part = self.headers.get("Range")
            index.requests.append((self.path, part))
            index.credentials.add(self.headers.get("Authorization"))
            if index.failures:
                index.failures -= 1
                self.send_error(503)
            elif self.path in ("/simple/torch/", "/simple/acme-ops/"):
                media_type, text = index.project_page()
                self._send(200, text, {"Content-Type": media_type})
            elif self.path.startswith("/files/") and self.path[len("/files/") :] in index.wheels:
                self._send_wheel(index.wheels[self.path[len("/files/") :]], part)
            else:
                self.send_error(404)

        def _send_wheel(self, content: bytes, part: str | None) -> None:
            if part is None or not index.ranges:
                self._send(200, content, {})
                return
            first, _, last = part.removeprefix("bytes=").partition("-")
            if not first and index.suffix_ranges != 206:
                if index.suffix_ranges == 200:
                    self._send(200, content, {})
                else:
                    self.send_error(index.suffix_ranges)
                return
            start = int(first) if first else max(0, len(content) - int(last))
            end = min(int(last) + 1, len(content)) if first else len(content)
            self._send(206, content[start:end], {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"})

        def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if index.cut_after is not None and self.path.startswith("/files/"):
                content = content[: index.cut_after]
                self.close_connection = True
            try:
                self.wfile.write(content)
            except OSError:
                # The client hung up, as it may when it did not want the whole file.
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    index.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server
