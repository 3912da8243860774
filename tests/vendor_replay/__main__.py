"""Replays vendors' inputs: `python -m tests.vendor_replay`, or with `--folder FOLDER` the files below a folder.

The wheels of vendors at the package index hold their inputs, and files that were generated from them. Opwright makes
these files again, with a plug-in for each vendor, and the report says how like the vendor's they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import opwright
from opwright.wheels.fetch import open_wheel
from tests.vendor_replay.folder import EXECUTORCH_VERSION, failures, print_folder, replay_folder, replay_members
from tests.vendor_replay.replay import Replayed, replay_wheel
from tests.vendor_replay.report import print_replayed, print_summary, unexplained
from tests.vendor_replay.vendors import VENDORS, Vendor

#: The share of declarations that must be equal.
WANTED_SHARE = 0.95


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m tests.vendor_replay", description=__doc__)
    parser.add_argument("--only", default="", help="wheels whose name has this text, such as `torch_npu 2.13.0`")
    parser.add_argument("--folder", type=Path, help="a folder with vendors' files, at any depth, in place of wheels")
    parser.add_argument("--torch", default="2.13.0", help="the release whose operators files of a folder are for")
    parser.add_argument("--markdown", type=Path, help="a file for the report as Markdown")
    return parser


def replay(vendor: Vendor, version: str) -> Replayed:
    """Replay the wheel of a version of a vendor, with the inputs of the same version of PyTorch."""
    return replay_wheel(vendor, version, open_wheel(vendor.project, version), opwright.open_inputs(version))


def replay_files(folder: Path, release: str) -> int:
    """Replay the files below a folder; the exit status is 1 if one of them has an error, or there is none."""
    results = replay_folder(folder.resolve(), opwright.open_inputs(release))
    print(print_folder(results))
    return 1 if not results or failures(results) else 0


def main() -> int:
    """Replay wheels; the exit status is 1 if too little is equal, or a difference has no reason."""
    chosen = arguments().parse_args()
    if chosen.folder is not None:
        return replay_files(chosen.folder, chosen.torch)
    names = [(vendor, version) for vendor in VENDORS.values() for version in vendor.versions]
    replays = []
    for vendor, version in names:
        if chosen.only in f"{vendor.name} {version}":
            replays.append(replay(vendor, version))
            print(print_replayed(replays[-1], markdown=False), flush=True)
    if replays:
        print(print_summary(replays))
    version, release = EXECUTORCH_VERSION
    members = []
    if chosen.only in f"executorch {version}":
        members = replay_members(open_wheel("executorch", version), opwright.open_inputs(release))
        print(f"\n== executorch {version}\n\n{print_folder(members)}")
    if chosen.markdown is not None:
        pages = [print_replayed(replayed, markdown=True) for replayed in replays]
        pages += [f"## executorch {version}\n\n{print_folder(members)}"] if members else []
        chosen.markdown.write_text(
            "\n".join(["# Vendor replay", "", print_summary(replays), "", *pages]), encoding="utf-8"
        )
    is_good = all(replayed.share >= WANTED_SHARE and not unexplained(replayed) for replayed in replays)
    return 0 if (replays or members) and is_good and not failures(members) else 1


if __name__ == "__main__":
    sys.exit(main())
