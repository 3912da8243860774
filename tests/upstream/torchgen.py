"""Runs PyTorch's own tests with its generator and with the core in its place: `python -m tests.upstream.torchgen`.

The tests are those of `--tree`, or of Debian's PyTorch, and PyTorch is the installed one. They run in two copies of it:
one has its generator, the other the core. Tests of ExecuTorch's modules, which the installed generator does not have,
run with the generator of the tree, and with the package of `opwright.torchgen.install`. The outcome of each test is
compared; another outcome needs a reason in `REASONS`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final, NamedTuple

from opwright.release.local import installed_generator
from opwright.torchgen.install import main as install
from tests.conformance.report import table
from tests.core.closure import Closure
from tests.core.installation import write_site
from tests.upstream.libraries import Library
from tests.upstream.sources import source_tree

PYTORCH: Final = Library("pytorch", "2.6.0", "torch", (), (), ())
_PLUGIN: Final = Path(__file__).with_name("outcomes.py")

#: Test files by the folder in which they run together.
FILES: Final = {
    "tools/test": (
        "test_codegen", "test_codegen_model", "test_gen_backend_stubs", "test_selective_build", "test_utils",
        "gen_oplist_test",
    ),
    "test": (
        "test_autograd_fallback", "test_custom_ops", "test_decomp", "test_dispatch", "test_expanded_weights",
        "test_fake_tensor", "test_flop_counter", "test_function_schema", "test_functionalization",
        "test_functionalization_of_rng_ops", "test_fx_reinplace_pass", "test_legacy_vmap", "test_meta",
        "test_native_functions", "test_nestedtensor", "test_out_dtype_op", "test_overrides", "test_per_overload_api",
        "test_prims", "test_proxy_tensor", "test_schema_check", "test_stateless", "test_subclass", "test_testing",
        "test_view_ops",
    ),
    "test/functorch": (
        "test_aotdispatch", "test_eager_transforms", "test_memory_efficient_fusion", "test_vmap_registrations",
    ),
    "test/dynamo": (
        "test_activation_checkpointing", "test_aot_autograd", "test_aot_autograd_cache", "test_autograd_function",
        "test_backends", "test_export_mutations", "test_higher_order_ops", "test_hooks", "test_pre_dispatch",
        "test_repros", "test_structured_trace", "test_subclasses", "test_view",
    ),
    "test/inductor": (
        "test_auto_functionalize", "test_compiled_autograd", "test_custom_lowering", "test_distributed_patterns",
        "test_fx_fusion", "test_inplacing_pass", "test_torchbind", "test_torchinductor", "test_unbacked_symints",
    ),
    "test/export": (
        "test_converter", "test_experimental", "test_export", "test_functionalized_assertions", "test_hop",
        "test_lift_unlift", "test_passes", "test_serialize", "test_sparse", "test_swap", "test_torchbind",
        "test_unflatten", "test_verifier",
    ),
    "test/higher_order_ops": ("test_with_effects",),
}  # fmt: skip
#: Tests of ExecuTorch's modules, which PyTorch had up to 2.7.
EXECUTORCH: Final = (
    "test_executorch_custom_ops", "test_executorch_gen", "test_executorch_signatures", "test_executorch_types",
    "test_executorch_unboxing",
)  # fmt: skip

_WORDING: Final = "asserts the words of a message"
_SINCE: Final = "asserts the text of boxed functions, which ExecuTorch has changed since"
#: Why tests end otherwise with the core, by their files and by patterns of their names.
REASONS: Final = {
    "test_codegen_model": {
        r"TestAnnotation::test_(alias_set_is_write|before_and_after_alias)\w+": _WORDING,
        r"TestCodegenModel::test_(conflicting|invalid_cuda|nonstructured|overlapping)\w+": _WORDING,
    },
    "test_gen_backend_stubs": {
        r"TestGenBackendStubs::test_backend_(autograd|has_no|invalid)\w+": _WORDING,
        r"TestGenBackendStubs::test_(device_guard|empty|incorrect|missing|nonlist|op_appears)\w+": _WORDING,
        r"TestGenBackendStubs::test_(supported_invalid|unrecognized|use_out|whitespace)\w+": _WORDING,
    },
    "test_executorch_custom_ops": {r"TestComputeNativeFunctionStub::test_schema_has_no_return\w+": _WORDING},
    "test_executorch_gen": {
        r"TestComputeCodegenUnboxedKernels::test_codegen_unboxed_(default\w*|specialized)": _SINCE,
        r"TestParseKernelYamlFiles::\w+": "has fields of kernels in PyTorch's file, where Opwright refuses them",
    },
}


class Outcome(NamedTuple):
    """How a test ended, and how often it called the generator."""

    outcome: str
    calls: int


_Outcomes = dict[tuple[str, str], Outcome]


def tree_folders(tree: Path, site: Path, folders: list[str]) -> None:
    """Copy the tests of a tree beside the modules of a site, with the inputs of the installed PyTorch.

    `tools/autograd` is that of the installed PyTorch, whose rules its generator has.
    """
    for name in folders:
        shutil.copytree(tree / name, site / name)
    packaged = Path(installed_generator() or "") / "packaged"
    shutil.rmtree(site / "tools" / "autograd")
    shutil.copytree(packaged / "autograd", site / "tools" / "autograd")
    (site / "aten" / "src").mkdir(parents=True)
    (site / "aten" / "src" / "ATen").symlink_to(packaged / "ATen")


def sites(tree: Path, out: Path) -> tuple[Path, Path]:
    """A copy of the installed PyTorch with its generator, and one with the core; both have the tests of a tree."""
    found = out / "generator", out / "core"
    for site, core in zip(found, (None, Closure()), strict=True):
        write_site(site, core)
        tree_folders(tree, site, ["test", "tools"])
    return found


def executorch_sites(tree: Path, out: Path) -> tuple[Path, Path]:
    """Folders with the generator of a tree, and with what Opwright installs in its place."""
    found = out / "executorch-generator", out / "executorch-core"
    for site in found:
        shutil.copytree(tree / "tools", site / "tools")
    shutil.copytree(tree / "torchgen", found[0] / "torchgen")
    assert install(["--target", str(found[1])]) == 0
    return found


def run_tests(site: Path, folder: str, files: tuple[str, ...], each: int, seconds: int) -> subprocess.Popen[bytes]:
    """Start the tests of a folder; outcomes go to a file of the site, which has the name of the folder."""
    name = folder.replace("/", "-")
    record = site / f"{name}.jsonl"
    record.touch()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(_PLUGIN.parent)])}
    environment |= {"OUTCOMES": str(record), "TESTS_EACH": str(each), "TORCHINDUCTOR_CACHE_DIR": str(site / "inductor")}
    environment["OPWRIGHT_CACHE_DIR"] = str(site / "cache")
    paths = [f"{file}.py" for file in files if (site / folder / f"{file}.py").is_file()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", _PLUGIN.stem, "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-c", os.devnull, "--noconftest", f"--rootdir={site / folder}", "--continue-on-collection-errors"]
    with (site / f"{name}.log").open("wb") as log:
        command = ["timeout", str(seconds), *command, *paths]
        return subprocess.Popen(command, cwd=site / folder, env=environment, stdout=log, stderr=subprocess.STDOUT)


def outcomes(site: Path, folder: str) -> _Outcomes:
    """What the tests of a folder wrote."""
    found: _Outcomes = {}
    for line in (site / f"{folder.replace('/', '-')}.jsonl").read_text().splitlines():
        path, name, outcome, calls = json.loads(line)
        key = f"{folder}/{Path(path).name}", name
        found[key] = Outcome(outcome, calls + (found[key].calls if key in found else 0))
    return found


def main() -> int:
    """Print what was compared. The exit status is not 0 if a test has another outcome without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.torchgen", description=__doc__)
    parser.add_argument("--tree", type=Path, help="a source tree of PyTorch")
    parser.add_argument("--cache", type=Path, default=Path(".cache/upstream"), help="where downloads are kept")
    parser.add_argument("--out", type=Path, default=Path("build/upstream-torchgen"))
    parser.add_argument("--only", default="", metavar="TEXT", help="only folders with this text in their name")
    parser.add_argument("--each", type=int, default=5, help="how many tests of each file of `test` run (default: 5)")
    parser.add_argument("--seconds", type=int, default=1500, help="after which the tests of a folder are stopped")
    chosen = parser.parse_args()
    tree = source_tree(PYTORCH, chosen.cache.resolve(), chosen.tree and chosen.tree.resolve())
    out: Path = chosen.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    groups = [(folder, files) for folder, files in FILES.items() if chosen.only in folder]
    both = sites(tree, out) if groups else (out, out)
    pairs = [(both, folder, files) for folder, files in groups]
    if chosen.only in "executorch" and (tree / "torchgen" / "executorch").is_dir():
        pairs.append((executorch_sites(tree, out), "tools/test", EXECUTORCH))
    before: _Outcomes = {}
    after: _Outcomes = {}
    for pair, folder, files in pairs:
        each = sys.maxsize if folder == "tools/test" else chosen.each
        for process in [run_tests(site, folder, files, each, chosen.seconds) for site in pair]:
            process.wait()
        before |= outcomes(pair[0], folder)
        after |= outcomes(pair[1], folder)
    return report(before, after)


def report(before: _Outcomes, after: _Outcomes) -> int:
    """Print a row for each file, and each test with another outcome. Gives the exit status."""
    names = sorted({*before, *after})
    missing = Outcome("not run", 0)
    different = [name for name in names if before.get(name, missing).outcome != after.get(name, missing).outcome]
    by_file = defaultdict(list)
    for name in names:
        by_file[name[0]].append(name)
    rows = []
    for file, tests in by_file.items():
        counts = Counter(before.get(name, missing).outcome for name in tests)
        others = len([name for name in tests if name in different])
        calls = sum(before.get(name, missing).calls for name in tests)
        rows.append((f"`{file}`", str(counts.pop("passed", 0)), _counted(counts), f"{calls:,}", str(others)))
    print("\n".join(table(("file", "passed", "others", "calls", "different"), rows)))
    unexplained = 0
    for name in different:
        patterns = REASONS.get(Path(name[0]).stem, {})
        said = [reason for pattern, reason in patterns.items() if re.fullmatch(pattern, name[1])]
        unexplained += not said
        pair = [side.get(name, missing).outcome for side in (before, after)]
        print(f"{'::'.join(name)}: {pair[0]}, with the core {pair[1]}: {said[0] if said else 'no reason'}")
    same = len(names) - len(different)
    print(f"{same} of {len(names)} tests in {len(by_file)} files have the same outcome, {unexplained} have no reason")
    return 1 if unexplained or not names else 0


def _counted(counts: Counter[str]) -> str:
    return ", ".join([f"{count} {outcome}" for outcome, count in sorted(counts.items())])


if __name__ == "__main__":
    sys.exit(main())
