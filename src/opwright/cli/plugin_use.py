"""The plug-ins of a command: which it names, which are installed, and the confirmation of runs that have any.

Nothing in a process can catch `os._exit`. So before a program imports its first plug-in, it continues in a child, and
the process that the user started waits for it. A run that is done says so; if the child ends without that, it is an
error. Where the system cannot tell who sent a signal, programs go on as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from typing import Final, NoReturn

from opwright.cli import console, streams
from opwright.cli.named_plugins import is_isolated, settle_plugins
from opwright.plugins.active import ACTIVE, Permission
from opwright.plugins.settings import head_names, name_span
from opwright.plugins.use import ensure_active
from opwright.source.codes import ENDED
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Severity
from opwright.source.terminal import say
from opwright.source.text import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.arguments import Parser
    from opwright.plugins.discovery import PluginName
    from opwright.plugins.plugin import Plugin

_WATCHED: Final = ("SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP")


def continue_in_child() -> None:
    """Continue the program in a child, and end this process as the child ends."""
    if sys.platform != "linux":
        return
    signals = [getattr(signal, name) for name in _WATCHED]
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Where whoever started the program ignores ends of children, there would be no status to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    process = os.fork()
    if process:
        os.close(writing)
        _wait(process, reading, signals)
    os.close(reading)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    streams.confirm_to(writing)


def _wait(process: int, reading: int, signals: list[signal.Signals]) -> NoReturn:
    """Pass on signals until a child ends, and end this process as it did, if it says that it was done."""
    while True:
        information = signal.sigwaitinfo(signals)
        if information.si_signo != signal.SIGCHLD:
            # A terminal sends its signals to the child too; others have sent them to this process alone.
            if information.si_pid:
                os.kill(process, information.si_signo)
            continue
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), -code)
        os._exit(128 - code)
    # A process that a plug-in started may hold the other end for long.
    os.set_blocking(reading, False)
    try:
        is_done = bool(os.read(reading, 1))
    except BlockingIOError:
        is_done = False
    if not is_done:
        sink = Diagnostics()
        message = f"a plug-in ended the process with the exit status {code}, before the run was done"
        sink.error(ENDED, message, help="raise an exception in place of `os._exit`")
        console.report(sink)
    os._exit(code if is_done else console.FAULTS)


def use_plugins(arguments: argparse.Namespace, parser: Parser, *, are_needed: bool) -> None:
    """Activate the plug-ins that a command names, and the installed ones that add what it asks for.

    Ends the process if it asks for something that no plug-in adds. Raises Fault and FaultsFound for faults of plug-ins;
    a plug-in that a file names and nobody allowed is one of them if `are_needed`.
    """
    settle_plugins(arguments)
    named = _load_named(arguments, are_needed=are_needed)
    ensure_active(named)
    failures: list[str] = []
    if parser.wrong_choices(arguments):
        unnamed, failures = activate_installed(named)
        if not parser.wrong_choices(arguments):
            ensure_active([*named, *[plugin for plugin in unnamed if _adds_choice(plugin, parser, arguments)]])
    for failure in failures if parser.wrong_choices(arguments) else ():
        say(f"{failure}\n")
    parser.check_choices(arguments)
    arguments.uses_plugins = bool(ACTIVE.plugins)


def reload_plugins(arguments: argparse.Namespace) -> None:
    """Import the active plug-ins whose sources changed again. Raises Fault and FaultsFound for their faults."""
    from opwright.plugins.discovery import PluginName, load_plugin

    unnamed = [plugin.name for plugin in ACTIVE.plugins if not plugin.is_named]
    again = [load_plugin(PluginName(name)).without_changes() for name in unnamed]
    ensure_active([*_load_named(arguments, are_needed=True), *again])


def activate_for_help(words: Sequence[str]) -> None:
    """Activate what the help of a command shows: the plug-ins that are named, and all that are installed.

    Says on standard error which do not load.
    """
    asked = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "--plugin"]
    arguments = argparse.Namespace(plugin=asked, no_plugins="--no-plugins" in words)
    ACTIVE.permission = Permission(no_plugins=arguments.no_plugins)
    named: list[Plugin] = []
    try:
        settle_plugins(arguments)
        named = _load_named(arguments, are_needed=False)
        ensure_active(named)
        if ACTIVE.permission.refusal is not None:
            say(f"{Fault(ACTIVE.permission.refusal)}\n")
    except (Fault, FaultsFound) as raised:
        say(f"{raised}\n")
        named = []
    for failure in activate_installed(named)[1]:
        say(f"{failure}\n")


def activate_installed(named: Sequence[Plugin]) -> tuple[list[Plugin], list[str]]:
    """Activate the installed plug-ins beside those that are named; gives them, and a text for each that fails."""
    from opwright.plugins.discovery import PluginName, installed_plugins, load_plugin

    unnamed: list[Plugin] = []
    failures: list[str] = []
    names = [plugin.name for plugin in named]
    for name in installed_plugins():
        if name in names:
            continue
        try:
            plugin = load_plugin(PluginName(name)).without_changes()
            ensure_active([*named, *unnamed, plugin])
            unnamed.append(plugin)
        except (Fault, FaultsFound) as raised:
            failures.append(f"opwright: the installed plug-in `{name}` is not used: {raised}")
    ensure_active([*named, *unnamed])
    return unnamed, failures


def _adds_choice(plugin: Plugin, parser: Parser, arguments: argparse.Namespace) -> bool:
    """Whether a plug-in adds something that a command asks for by name."""
    added = {row.name for row in plugin.families} | {row.name for row in plugin.dialects} | {f"{plugin.name}_headers"}
    return not parser.plugin_names(arguments).isdisjoint(added)


def _load_named(arguments: argparse.Namespace, *, are_needed: bool) -> list[Plugin]:
    """The plug-ins that a command may use, each once. Raises FaultsFound with the faults of all that do not load."""
    names = _names(arguments)
    if not names:
        return []
    from opwright.plugins.discovery import load_plugin
    from opwright.plugins.permission import permitted_names, refusal

    permission = ACTIVE.permission
    permission.uses_trust = not is_isolated(arguments)
    allowed, refused = permitted_names(names)
    if refused and not permission.no_plugins:
        if are_needed:
            raise Fault(refusal(refused))
        permission.refusal = refusal(refused, Severity.WARNING)
    # What is generated would lack what the keys ask for.
    permission.lacks_plugins = bool(refused) and not are_needed
    arguments.head_plugins = [name.text for name in allowed if name.file not in ("", arguments.project_file)]
    sink = Diagnostics()
    plugins: dict[Plugin, None] = {}
    for name in allowed:
        try:
            plugins[load_plugin(name)] = None
        except (Fault, FaultsFound) as raised:
            sink.take(raised)
    sink.raise_if_errors()
    return list(plugins)


def _names(arguments: argparse.Namespace) -> list[PluginName]:
    """The plug-ins that the project, the command line, and the heads of files name."""
    heads = _head_names(arguments)
    if not arguments.plugin and not heads:
        return []
    from opwright.plugins.discovery import PluginName

    project, words = arguments.project_file, arguments.plugin_words
    own = [PluginName(text) for text in words]
    declared = [] if project is None else [text for text in arguments.plugin if text not in words]
    from_project = [PluginName(text, name_span(project, text), project) for text in declared]
    return [*from_project, *own, *heads]


def _head_names(arguments: argparse.Namespace) -> list[PluginName]:
    """The plug-ins that the heads of the library and backend files of a command name."""
    asked = vars(arguments)
    backends = asked.get("backend") or []
    paths = [*(asked.get("library") or []), *([backends] if isinstance(backends, str) else backends)]
    paths += asked.get("files") or []
    if any(map(os.path.isdir, paths)):
        from opwright.run.file_kinds import expand_folders

        paths = list(expand_folders(paths))
    names: list[PluginName] = []
    for path in paths:
        if os.path.isfile(path):
            # Loading the file reports what is wrong with it.
            with contextlib.suppress(Fault):
                names += head_names(SourceFile.read(path))
    return names


def plugin_files(arguments: argparse.Namespace) -> list[str]:
    """The files, and folders of files, of the active plug-ins, and the project file if it names plug-ins."""
    if not ACTIVE.plugins:
        return []
    from opwright.plugins.sources import source_paths

    paths = source_paths(ACTIVE.plugins)
    return paths if arguments.project_file is None else [*paths, arguments.project_file]
