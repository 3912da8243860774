"""Check operator files: PyTorch's YAML, operator libraries, backend files, selections. Nothing is generated.

  opwright check                                the files of this folder, or those of the settings
  opwright check acme.yaml                      one file; its kind is recognised
  opwright check aten/src/ATen/native/*.yaml    PyTorch's files, with the rest of their source tree
  opwright check --torch 2.13.0                 the files of a release
  opwright check --fix acme.yaml                fix what has only one fix; --diff shows it instead
  opwright check --fix --unsafe-fixes acme.yaml take suggested names too; look at the changes
  opwright check --watch acme.yaml              check again after each change
  opwright check --format sarif . > out.sarif   a folder, for a code scanning service

Settings are in the table [tool.opwright.check] of pyproject.toml. A comment `# opwright: ignore[CODE]` suppresses
diagnostics of its line. Exit status: 0 no findings, 1 errors or warnings, 2 wrong usage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from opwright import __version__
from opwright.builds.actions.collected import path_below
from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, add_plugin_argument, not_empty, repeated
from opwright.cli.input_arguments import add_allow_path_argument, open_named_inputs
from opwright.cli.streams import print_or_write, wants_color
from opwright.plugins.code_pages import code_names
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostic, Diagnostics, Edit, Fault, FaultsFound, did_you_mean
from opwright.source.render import render_short, render_terminal
from opwright.source.terminal import counted, print_rendered, say
from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, Findings, find
from opwright.tools.check.fixes import suggestion
from opwright.tools.check.fixing import fix_files, write_changes
from opwright.tools.check.formats import (
    render_github,
    render_json,
    render_lintrunner,
    render_sarif,
    render_statistics,
)
from opwright.tools.check.settings import NO_SETTINGS, Settings, find_settings, load_settings, matching_files
from opwright.tools.check.suppressions import CodeFilter, is_prefix
from opwright.tools.files.file_kinds import expand_folders
from opwright.tools.tool_codes import UNKNOWN_CODE, UNKNOWN_DIALECT
from opwright.workspace.user_files import finish_killed_runs

_FORMATS: Final = ("text", "short", "json", "sarif", "github", "lintrunner")
_FAIL_ON: Final = ("warning", "error", "never")
#: How many files a summary names.
_MOST_NAMED: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files of any kind, or folders of them (default: PyTorch's files of --torch or --source-path; else "
        "those of the settings; else the working folder)",
    )
    for flag, kind in (("--backend", "backend file"), ("--library", "library file")):
        repeated(parser)(flag, metavar="FILE", help=f"a {kind} (may be repeated)", type=not_empty)
    parser.add_argument(
        "--stdin-filename",
        metavar="FILE",
        type=not_empty,
        help="read the text of this file from standard input, for editors",
    )
    add_plugin_argument(parser)
    add_allow_path_argument(parser)
    add_input_arguments(parser)
    rules = parser.add_argument_group("rules", "CODES are diagnostic codes or beginnings of codes, with commas, or ALL")
    add = rules.add_argument
    add("--select", metavar="CODES", action="append", help="report these codes alone")
    repeated(rules)("--extend-select", metavar="CODES", help="report these codes too")
    repeated(rules)("--ignore", metavar="CODES", help="do not report these codes")
    add("--tolerant", action="store_true", help="do not take for errors what PyTorch's programs accept")
    add("--config", metavar="FILE", type=not_empty, help="the file with settings (default: the nearest pyproject.toml)")
    add("--isolated", action="store_true", help="use no file with settings")
    output = parser.add_argument_group("output")
    add = output.add_argument
    add("--format", choices=_FORMATS, default="text", help="the form of the report (default: text)")
    add("--output-file", metavar="FILE", type=not_empty, help="write the report to this file")
    add("--statistics", action="store_true", help="report how many findings each code has, instead of each finding")
    add("--fail-on", choices=_FAIL_ON, help="what makes the exit status 1 (default: warning, which includes errors)")
    fixing = output.add_mutually_exclusive_group()
    fixing.add_argument("--fix", action="store_true", help="apply the fixes of findings that have only one fix")
    fixing.add_argument("--diff", action="store_true", help="print what --fix would change, and change nothing")
    add("--unsafe-fixes", action="store_true", help="take suggested names for fixes too: another may have been meant")
    fixing.add_argument(
        "--watch",
        action="store_true",
        help="keep running, and check again whenever a YAML file in their folders changes",
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the report, or the fixes, once or after each change."""
    finish_killed_runs()
    if arguments.stdin_filename is not None and (arguments.fix or arguments.watch):
        reason = "--fix cannot change standard input; use --diff" if arguments.fix else "--watch needs a file"
        return console.refuse("check", f"{reason}")
    if arguments.watch:
        return _watch(arguments, sink)
    return _run_once(arguments, sink)


def _watch(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Check, and again after changes. Faults are reported, and the next change awaited."""
    from opwright.cli.watching import watch_yaml

    files = _files(arguments, _settings(arguments, sink)[0], sink)
    sink.raise_if_errors()

    def check() -> None:
        mistakes = Diagnostics()
        try:
            _run_once(arguments, mistakes)
        except (Fault, FaultsFound) as raised:
            mistakes.take(raised)
        console.report(mistakes, arguments.color)

    return watch_yaml(files.all_paths, check)


def _run_once(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Check once, and print the report or the fixes."""
    settings, codes = _settings(arguments, sink)
    sink.raise_if_errors()
    files = _files(arguments, settings, sink)

    @cache
    def open_release() -> Inputs:
        """Release that files are checked against."""
        torch = arguments.torch or (None if arguments.source_path else settings.torch)
        return open_named_inputs(arguments, Diagnostics(), torch=torch, are_operators=True)

    def check(files: CheckedFiles) -> Findings:
        return find(files, codes, open_release)

    fixed = 0
    if arguments.fix or arguments.diff:
        outcome = fix_files(files, check, suggestions=arguments.unsafe_fixes)
        if arguments.diff:
            text = "".join([change.diff for change in outcome.changes])
            print_rendered(text)
            return console.FAULTS if text else console.SUCCESS
        write_changes(outcome)
        findings, fixed = outcome.findings, outcome.fix_count
    else:
        findings = check(files)
    print_or_write(_report(arguments, findings.diagnostics), arguments.output_file)
    _say_summary(findings, files, fixed)
    fail_on = arguments.fail_on or settings.fail_on
    fatal = {"warning": ("error", "warning"), "error": ("error",), "never": ()}[fail_on]
    fails = any(diagnostic.severity.value in fatal for diagnostic in findings.diagnostics)
    return console.FAULTS if fails else console.SUCCESS


def _settings(arguments: argparse.Namespace, sink: Diagnostics) -> tuple[Settings, CodeFilter]:
    """Settings of the project, and the selection of codes from them and from the arguments."""
    path = None if arguments.isolated else arguments.config or find_settings(os.getcwd())
    read = SourceFile.read if arguments.config else SourceFile.read_plain
    file = None if path is None else read(path)
    settings = NO_SETTINGS
    faults = Diagnostics()
    if file is not None and (arguments.config is not None or "opwright" in file.text):
        settings = load_settings(file, faults)
    configured = settings.codes
    select = None if arguments.select is None else _codes(arguments.select, faults)
    codes = configured._replace(
        select=configured.select if select is None else select,
        extend_select=configured.extend_select + _codes(arguments.extend_select, faults),
        ignore=configured.ignore + _codes(arguments.ignore, faults),
    )
    sink.extend(faults)
    return settings, codes


def _codes(texts: Sequence[str], sink: Diagnostics) -> tuple[str, ...]:
    """Codes of an option. Those that do not exist go to the sink."""
    codes = tuple([code.strip().upper() for text in texts for code in text.split(",") if code.strip()])
    for code in codes:
        if not is_prefix(code):
            help = did_you_mean(code, code_names(), "`opwright explain` lists all codes")
            sink.error(UNKNOWN_CODE, f"no code is or begins with `{code}`", help=help)
    return codes


def _files(arguments: argparse.Namespace, settings: Settings, sink: Diagnostics) -> CheckedFiles:
    """Files to check: those of the arguments, else of a release that is named, of the settings, or this folder."""
    paths = tuple(expand_folders(arguments.files))
    texts: tuple[SourceFile, ...] = ()
    if arguments.stdin_filename is not None:
        texts = (SourceFile.decode(arguments.stdin_filename, sys.stdin.buffer.read()),)
        paths += (arguments.stdin_filename,)
    backends, libraries = tuple(arguments.backend), tuple(arguments.library)
    names_none = not (arguments.files or paths or backends or libraries)
    checks_release = names_none and bool(arguments.torch or arguments.source_path)
    if names_none and not checks_release:
        allowed = tuple(arguments.allow_path)
        paths = matching_files(settings, allowed, sink) if settings.files else tuple(expand_folders([os.curdir]))
        if not paths:
            sink.raise_if_errors()
    if not (paths or backends or libraries or checks_release):
        folders = " or ".join([f"`{path}`" for path in arguments.files]) or "this folder"
        help = "name files; `--torch auto` checks those of the installed PyTorch"
        raise Fault.at(UNKNOWN_DIALECT, f"no YAML file below {folders} is of a known kind", help=help)
    return CheckedFiles(
        paths,
        backends,
        libraries,
        texts,
        checks_release=checks_release,
        release=arguments.release,
        tolerant=arguments.tolerant,
        allowed_paths=tuple(arguments.allow_path),
    )


def _report(arguments: argparse.Namespace, diagnostics: Sequence[Diagnostic]) -> str:
    if arguments.statistics:
        return render_statistics(diagnostics)
    forms: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
        "json": render_json,
        "sarif": lambda diagnostics: render_sarif(diagnostics, __version__),
        "github": render_github,
        "lintrunner": render_lintrunner,
        "short": render_short,
    }
    if arguments.format in forms:
        return forms[arguments.format](diagnostics)
    colored = arguments.output_file is None and wants_color(arguments.color, sys.stdout)
    return render_terminal(diagnostics, color=colored)


def _say_summary(findings: Findings, files: CheckedFiles, fixed: int) -> None:
    """Say on standard error how many findings there are, and how many of them have a fix in the files."""
    kinds = [diagnostic.severity.value for diagnostic in findings.diagnostics]
    counts = [counted(kinds.count(kind), kind) for kind in ("error", "warning", "note") if kind in kinds]
    parts = [f"{', '.join(counts) or 'no findings'} in {counted(len(findings.paths), 'file')}{_places(findings.paths)}"]
    if fixed:
        parts.append(f"{fixed} fixed")
    if findings.suppressed:
        parts.append(f"{findings.suppressed} suppressed")
    if findings.left_out:
        parts.append(f"{findings.left_out} about PyTorch's other files left out")
    edits = [diagnostic.edits for diagnostic in findings.diagnostics if diagnostic.edits]
    fixable = _changing(edits, files)
    if fixable and not fixed:
        parts.append(f"--fix fixes {fixable}")
    suggestions = [taken for diagnostic in findings.diagnostics if (taken := suggestion(diagnostic))]
    if suggested := _changing(suggestions, files):
        parts.append(f"--fix --unsafe-fixes takes {counted(suggested, 'suggested name')}")
    others = {edit.span.file.path for diagnostic in (*edits, *suggestions) for edit in diagnostic}.difference(
        files.all_paths
    )
    if others:
        parts.append(f"--fix changes only files that are named; it could also change {', '.join(sorted(others))}")
    say(f"{'; '.join(parts)}\n")


def _places(paths: Sequence[str]) -> str:
    """Where files are, in parentheses: the names of few, the folder that all of many are in.

    >>> _places(["acme.yaml", "derivatives.yaml"]), _places(["ops/a.yaml", "ops/b.yaml", "ops/c.yaml", "ops/d.yaml"])
    (' (acme.yaml, derivatives.yaml)', ' (below ops)')
    """
    if len(paths) <= _MOST_NAMED:
        return f" ({', '.join(paths)})" if paths else ""
    common = os.path.commonpath([os.path.splitdrive(os.path.abspath(path))[1] for path in paths])
    return f" (below {path_below(os.getcwd(), common) or common})"


def _changing(fixes: Sequence[Sequence[Edit]], files: CheckedFiles) -> int:
    """How many fixes change a file that the user names; others are left as they are."""
    return sum(all(edit.span.file.path in files.all_paths for edit in edits) for edits in fixes)
