"""Builds the site of the documentation: static files that load nothing from elsewhere.

    python -m docs.site --generator .cache/site/bin/zensical --out build/site

The Markdown of all pages is written below `build/site-pages` first. The build fails for a link that leads nowhere.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from packaging.version import Version

from docs.site.operators import operator_files
from docs.site.pages import ROOT, site_pages
from docs.site.playground import write_playground
from opwright.plugins.code_pages import RANGES, all_codes

_HERE: Final = Path(__file__).resolve().parent
#: Folders of files that pages show or link to as they are.
_FOLDERS: Final = {"docs/images": "images", "docs/schemas": "schemas", "docs/site/browser": "assets"}
#: In the settings, the pages of a folder that are made.
_MADE_PAGES: Final = re.compile(r'"(\w+)/\*"')


#: The setting of a site beside others: its pages read `versions.json` in the folder above.
_VERSIONS: Final = '\n[project.extra.version]\nprovider = "mike"\n'
#: Leads to the newest version.
_REDIRECT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Opwright</title>
<meta http-equiv="refresh" content="0; url={0}/"><link rel="canonical" href="{0}/"></head>
<body><a href="{0}/">Opwright {0}</a></body></html>
"""


def main(argv: list[str]) -> int:
    """Build the site, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__.partition("\n")[0])
    parser.add_argument("--generator", type=Path, default=ROOT / ".cache/site/bin/zensical", help="zensical's program")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="the folder of the site")
    parser.add_argument("--modules", type=Path, default=ROOT / ".cache/site/node_modules", help="packages of npm")
    parser.add_argument("--torch", default="auto", help="the PyTorch whose operators are shown: `auto`, or a version")
    parser.add_argument("--since", nargs="*", default=[], help="older releases, whose differences operators show")
    parser.add_argument("--version", default="", help="this site's name among versions, which a list on it leads to")
    arguments = parser.parse_args(argv)
    staging = ROOT / "build" / "site-pages"
    pages = site_pages() | operator_files(arguments.torch, arguments.since)
    stage(staging, pages, settings(pages) + (_VERSIONS if arguments.version else ""))
    write_playground(staging / "pages" / "assets" / "playground", arguments.modules, arguments.torch)
    done = subprocess.run([arguments.generator.absolute(), "build", "--clean", "--strict"], cwd=staging, check=False)
    if done.returncode == 0:
        shutil.rmtree(arguments.out, ignore_errors=True)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        (staging / "site").rename(arguments.out)
        if arguments.version:
            list_versions(arguments.out.parent)
        print(f"the site is in {arguments.out}: python -m http.server --directory {arguments.out}")
    return done.returncode


def stage(folder: Path, pages: dict[str, str], configuration: str) -> None:
    """Write what the generator of the site reads: the pages, the files that they load, and the settings."""
    shutil.rmtree(folder, ignore_errors=True)
    for source, name in _FOLDERS.items():
        shutil.copytree(ROOT / source, folder / "pages" / name)
    for path, text in pages.items():
        (folder / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pages" / path).write_text(text, encoding="utf-8")
    (folder / "zensical.toml").write_text(configuration, encoding="utf-8")


def settings(pages: Iterable[str]) -> str:
    """The settings with the lists of pages that are made."""
    template = (_HERE / "zensical.toml").read_text(encoding="utf-8")

    def listed(match: re.Match[str]) -> str:
        if match[1] == "diagnostics":
            # A page has its neighbours beside it: those of the same subject.
            subjects = {
                subject: [f"diagnostics/{code.code}.md" for code in all_codes() if code.code[1:3] == start]
                for start, subject in RANGES.items()
            }
            groups = [
                f"{{ {json.dumps((subject[0].upper() + subject[1:]).replace('`', ''))} = {json.dumps(pages)} }}"
                for subject, pages in subjects.items()
                if pages
            ]
            return ", ".join([json.dumps("diagnostics/index.md"), *groups])
        found = [page for page in pages if page.startswith(f"{match[1]}/") and page.endswith(".md")]
        index = f"{match[1]}/index.md"
        named = [json.dumps(index)] if index in found else []
        return ", ".join([*named, *(f"{{ {json.dumps(_name(page))} = {json.dumps(page)} }}"
                                    for page in found if page != index)])  # fmt: skip

    return _MADE_PAGES.sub(listed, template)


def list_versions(folder: Path) -> list[str]:
    """Write the list of the versions that a folder has, newest first, and a page that leads to the newest release.

    A site of no release, such as `dev`, stands before those of releases, and serves where there is none.
    """
    found = [path.parent.name for path in folder.glob("*/index.html")]
    releases = sorted([name for name in found if name[0].isdigit()], key=Version, reverse=True)
    names = [*sorted(set(found) - set(releases)), *releases]
    rows = [{"version": name, "title": name, "aliases": ["latest"] if name in releases[:1] else []} for name in names]
    (folder / "versions.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(_REDIRECT.format((releases or names)[0]), encoding="utf-8")
    return names


def _name(page: str) -> str:
    return page.partition("/")[2].removesuffix(".md")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
