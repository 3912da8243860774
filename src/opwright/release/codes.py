"""The codes of faults in finding a release's inputs and rules."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, *, letter: str = "E") -> str:
    return register(Code(f"{letter}05{number:02}", title, explanation))


THREE_WAYS: Final = (
    "name a source tree with `--source-path DIR`, or a wheel with `--torch FILE.whl`, "
    "or install torch or reach a package index and name a version with `--torch 2.13.0`"
)

NO_INPUTS_HERE: Final = _code(
    1,
    "no generator inputs in this folder",
    """
A source path names the folder that holds `native/native_functions.yaml` and `templates/`. In a PyTorch source tree
that is `aten/src/ATen`; in an installed PyTorch it is `torchgen/packaged/ATen` beside the `torch` package.

    opwright generate --source-path ~/pytorch/aten/src/ATen --out build
""",
)
NO_TORCH: Final = _code(
    2,
    "no PyTorch to read",
    """
The inputs of a PyTorch release come from PyTorch itself, and there are three ways to name one:

- `--source-path DIR`, with the `aten/src/ATen` folder of a source tree;
- `--torch FILE.whl`, with a wheel of any platform, which is read in place;
- `--torch auto` with PyTorch installed in the environment that runs the command, or `--torch VERSION` with a package
    index: Opwright reads only some 2 MB from the index, and keeps them for later runs.

    opwright generate --torch 2.13.0 --out build
""",
)
BAD_SPEC: Final = _code(
    3,
    "neither a version nor a wheel",
    """
`--torch` takes `auto` (the PyTorch installed in the running environment), the path of a wheel file that ends in
`.whl`, or a version such as `2.13.0`. A source tree is named with `--source-path`.

    opwright generate --torch 2.13.0 --out build
    opwright generate --torch torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl --out build
""",
)
BAD_WHEEL: Final = _code(
    4,
    "not a readable wheel",
    """
A wheel is a zip archive with a `.dist-info` folder. The file is missing, is not such an archive, or is incomplete after
an interrupted download. Download it again.

    error[E0504]: `torch-2.13.0.whl` is not a wheel: it has no .dist-info/RECORD
""",
)
NO_TORCHGEN: Final = _code(
    5,
    "a wheel without the generator's inputs",
    """
PyTorch's own wheels contain the inputs of its generator under `torchgen/packaged/`. This one does not: it is the wheel
of another project, or one that was repacked without them. Name a wheel of PyTorch 2.9 or newer.

    opwright generate --torch torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl --out build
""",
)
UNKNOWN_VERSION: Final = _code(
    6,
    "the index has no such version",
    """
No package index that pip would use has a PyTorch wheel of this version. The help lists similar versions. Versions on a
separate index (nightly builds, builds for one accelerator) need that index in pip's settings: `PIP_EXTRA_INDEX_URL`, or
`extra-index-url` in pip's configuration file.

    PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/nightly opwright generate --torch VERSION --out build
""",
)
YANKED_VERSION: Final = _code(
    7,
    "the version was withdrawn",
    """
The index marks all wheels of this version as yanked: its publisher asks users not to use it. The message gives the
reason if the index has one. Use a patch release that replaces it; or, if you need this exact version, download its
wheel and name the file.

    opwright generate --torch WHEEL.whl --out build
""",
)
INDEX_SILENT: Final = _code(
    8,
    "the package index does not answer",
    """
The index could not be reached, or answered with an error. Its address, certificates, proxy and time limit come from
pip's own settings, so `pip download --no-deps torch` has the same problem. Without an index, name a source tree
(`--source-path`), a wheel file, or install PyTorch.

    opwright generate --source-path ~/pytorch/aten/src/ATen --out build
""",
)
DOWNLOAD_SHORT: Final = _code(
    9,
    "the download was cut short",
    """
The server promised more bytes than it sent, more than once. Opwright keeps nothing of it. Try again; if the error
remains, something between this machine and the server ends connections early.

    error[E0509]: https://example.org/torch-2.13.0.whl sent 512 bytes of 65536

You can also download the wheel by other means and use `--torch WHEEL.whl`.
""",
)
DOWNLOAD_ALTERED: Final = _code(
    10,
    "a file differs from its checksum",
    """
Every file read out of a wheel is compared with two checksums: the archive's CRC, and the SHA-256 in the wheel's own
RECORD; a wheel downloaded whole is compared with the SHA-256 that the index gives, too. One of them differs, so the
bytes are not those of the release. Opwright keeps nothing of it.

    error[E0510]: https://example.org/torch-2.13.0.whl changed while it was read

Try again; if the error remains, the index, or something between this machine and the index, altered the wheel.
""",
)
WHOLE_WHEEL_DECLINED: Final = _code(
    11,
    "the server does not send parts of files",
    """
The inputs are some 2 MB within a wheel of 100 MB or more. Servers send such a part when asked for a range of bytes;
this one sends only the whole file. The command asks before it downloads that much; without a terminal, pass `--yes` to
agree.

    opwright generate --torch 2.13.0 --yes --out build
""",
)
RELEASE_TOO_OLD: Final = _code(
    12,
    "a release older than those supported",
    """
Opwright knows the rules of PyTorch 2.9 and newer. Older releases follow other rules, so some of the output would be
wrong.

    opwright generate --torch 2.9.1 --out build

That is the oldest one. For an older release use the generator that it contains.
""",
)
RELEASE_UNKNOWN: Final = _code(
    13,
    "the inputs do not say which release they are of",
    """
The release is read from a wheel's or an installed package's metadata, from a source tree's `version.txt`, or else from
marks in the YAML and the templates. The inputs have none of these. Name the release with `--release 2.13`.

    opwright generate --source-path ATen --release 2.13 --out build
""",
)
INPUT_MISSING: Final = _code(
    14,
    "an input this release does not have",
    """
The file is not among the inputs of this release: it came with a later one, or a source path holds only part of a
PyTorch tree. Autograd's inputs are read from `tools/autograd` of the same source tree.

    error[E0514]: the release has no `autograd/derivatives.yaml`

Complete the tree, or use `--only` to choose the families of files that do not need this input.
""",
)
INDEX_UNREADABLE: Final = _code(
    15,
    "the answer is not a package index",
    """
A package index answers with a page of links (PEP 503) or the same as JSON (PEP 691). This answer is neither. It may be
a login page, the page of a proxy, or an address that is not an index: the addresses of most indexes end in `/simple/`.

    PIP_INDEX_URL=https://pypi.org/simple/ opwright generate --torch 2.13.0 --out build
""",
)
BAD_PIP_SETTINGS: Final = _code(
    16,
    "pip's settings cannot be read",
    """
Opwright uses the package indexes of pip, and one of pip's configuration files has a wrong format, or a setting has a
value that it cannot have. `pip config debug` lists these files and the `PIP_*` variables.

    error[E0516]: pip's configuration file `/etc/pip.conf` cannot be read: File contains no section headers

Fix the file or the variable, or name another file with `PIP_CONFIG_FILE`.
""",
)
BAD_RELEASE: Final = _code(
    17,
    "not a release",
    """
Write a release as PyTorch writes its versions: `2.13`, `2.13.0`, `2.14.0a0+git1234`.

    opwright generate --source-path ATen --release 2.13 --out build
""",
)
INSECURE_INDEX: Final = _code(
    18,
    "an address that pip would not trust",
    """
Over plain HTTP, anybody between this machine and the server can replace what is read. As pip does, Opwright sends such
requests only to this machine (`localhost`, `127.0.0.0/8`, `::1`) and to the hosts in pip's setting `trusted-host`. This
holds for the index, for the wheels that it links to and for redirects.

    PIP_TRUSTED_HOST=wheels.example.org opwright generate --torch 2.13.0 --out build

An index that answers over HTTPS needs no such setting.
""",
)
LINK_REFUSED: Final = _code(
    19,
    "a link of the index is refused",
    """
The page of the index offers the wheel, but with an address, a SHA-256 or a size that has a wrong form. Links of a page
on a server must lead to `https:` or `http:` addresses: a page cannot name files of this machine.

    error[E0519]: the link to `torch-2.13.0-cp312-cp312-linux_x86_64.whl` is refused: its SHA-256 is not 64 hexadecimal
    digits

Ask the owner of the index to correct the page, or name a wheel file.

    opwright generate --torch WHEEL.whl --out build
""",
)
HASH_MISSING: Final = _code(
    23,
    "the index gives no hash of the wheel",
    """
With `--require-hashes`, or pip's setting `require-hashes`, Opwright downloads a wheel as a whole and compares it with
the SHA-256 that the index gives. The index gives none of this wheel.

    opwright generate --torch 2.13.0 --out build

Without the flag, each file that is read is compared with the SHA-256 in the wheel's own RECORD.
""",
)
INDEX_IGNORED: Final = _code(
    4,
    "a package index is ignored",
    """
One of pip's indexes is at a plain HTTP address of a host that pip's settings do not trust. pip ignores it, and so does
Opwright; another index has the version.

    warning[W0504]: a package index is ignored: http://wheels.example.org/simple/torch/ is neither HTTPS nor on a host
    that pip's settings trust

Use its `https:` address, or add the host to pip's setting `trusted-host`.
""",
    letter="W",
)
HASH_UNCHECKED: Final = _code(
    5,
    "the hash of the wheel was not checked",
    """
The index gives the SHA-256 of the whole wheel, and Opwright read only parts of it, some 2 MB. Each file that it read
was compared with the SHA-256 in the wheel's own RECORD, and the wheel as a whole with nothing: whoever can replace
files at the index can replace the RECORD, too.

    opwright generate --torch 2.13.0 --require-hashes --out build

With `--require-hashes`, or pip's setting `require-hashes`, Opwright downloads the whole wheel and compares it.
""",
    letter="W",
)
CACHE_UNUSABLE: Final = _code(
    2,
    "the cache folder cannot be written",
    """
Opwright keeps what it reads from an index in the user's cache folder. It could not write there, so the next run will
read it from the index again. `OPWRIGHT_CACHE_DIR` names another folder.

    OPWRIGHT_CACHE_DIR=/var/tmp/opwright opwright generate --torch 2.13.0 --out build
""",
    letter="W",
)
NO_AOT_FOLDER: Final = _code(
    3,
    "no folder of kernels compiled ahead of time",
    """
`--native-aot-ops-dir` names a folder that does not exist, so there are no such kernels. To omit them, pass `""`.

    opwright generate --torch 2.15.0 --native-aot-ops-dir "" --out build
""",
    letter="W",
)
NEWER_RELEASE: Final = _code(
    1,
    "a release newer than those known",
    """
The release is newer than the newest one that Opwright knows, and is treated like that one. Most of the output will be
right, except what changed in the newer release. Look for a newer Opwright.

    warning[W0501]: PyTorch 2.99.0 is newer than 2.15, the newest release known, and is treated like it
""",
    letter="W",
)
