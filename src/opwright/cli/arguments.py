"""Parser of command lines, and the arguments that several programs take."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from opwright.source.lazy import lazy_pattern
from opwright.source.terminal import say

# A program declares its arguments before it knows whether there is anything to do. Modules that act on the arguments
# are imported by the functions that need them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite

    from opwright.emit.emitter import Options
    from opwright.model.dispatch_key import DispatchKey
    from opwright.model.selection import Selection
    from opwright.source.diagnostic import Diagnostics

_COLUMNS = 80
#: From Python 3.14 on, `argparse` has colours of its own, for which each process would import much more.
_PLAIN: dict[str, Any] = {"color": False} if sys.version_info >= (3, 14) else {}
_INVALID_CHOICE = lazy_pattern(r"argument (.+): invalid choice: (['\"])(.*?)\2")


class PluginChoices:
    """Choices to which plug-ins add: any word is accepted until `Parser.check_choices`, when the plug-ins are active.

    >>> choices = PluginChoices(lambda: ("headers", "sources"))
    >>> "lists" in choices, list(choices)
    (True, ['headers', 'sources'])
    """

    def __init__(self, names: Callable[[], Iterable[str]], otherwise: str = "") -> None:
        self._names = names
        #: What to say of another word, which stands for `{}`.
        self.otherwise = otherwise

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal.

    `argparse` asks for the width with every argument that is declared, by way of `shutil`, whose import takes longer
    than many a run with nothing to do.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)


class _StoreOnce(argparse.Action):
    """Stores the value of an option that is given once: of two values, `argparse` would ignore the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if isinstance(parser, Parser) and option_string is not None:
            if self.dest in parser.given:
                raise argparse.ArgumentError(self, "given twice, and takes one value")
            parser.given.add(self.dest)
        setattr(namespace, self.dest, values)


class _HelpAll(argparse._HelpAction):
    """Prints the help with all options."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        if isinstance(parser, Parser):
            parser.short_help = frozenset()
        parser.print_help()
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser whose help keeps the line breaks of its description, and whose short errors suggest what was meant.

    An option for one value may be given once. With `last_wins`, the last value counts, as in programs of the reference.
    """

    def __init__(self, prog: str, description: str | None = None, *, last_wins: bool = False) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, **_PLAIN)
        #: The options that `--help` shows, if these are not all.
        self.short_help: frozenset[str] = frozenset()
        self._words: list[str] = []
        #: The options for one value that the words have given so far.
        self.given: set[str] = set()
        for name in () if last_wins else (None, "store"):
            self.register("action", name, _StoreOnce)

    def shorten_help(self, *shown: str) -> None:
        """Let `--help` show these options alone; `--help-all` shows all."""
        self.add_argument("--help-all", action=_HelpAll, help="show all options and exit")
        self.short_help = frozenset(["--help", "--help-all", *shown])

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help, of which `shorten_help` chose the options."""
        for action in self._actions if self.short_help else ():
            if self.short_help.isdisjoint(action.option_strings):
                action.help = argparse.SUPPRESS
        super().print_help(file)

    def parse(self, words: Sequence[str] | None) -> argparse.Namespace:
        """Parse these words, by default those of the process; end the process if they are wrong.

        As `parse_args`, but what is wrong with the words is told with all of them in view.
        """
        self._words = sys.argv[1:] if words is None else list(words)
        self.given.clear()
        return self.parse_args(self._words)

    def _plugin_values(self, arguments: argparse.Namespace) -> Iterator[tuple[argparse.Action, str]]:
        """Values of arguments to whose choices plug-ins add."""
        for action in self._actions:
            if isinstance(action.choices, PluginChoices):
                value = getattr(arguments, action.dest)
                for name in value if isinstance(value, list) else [value] if value is not None else []:
                    yield action, name

    def plugin_names(self, arguments: argparse.Namespace) -> set[str]:
        """Values of arguments to whose choices plug-ins add."""
        return {name for _, name in self._plugin_values(arguments)}

    def wrong_choices(self, arguments: argparse.Namespace) -> list[tuple[argparse.Action, str]]:
        """Those of them that are no choices."""
        values = self._plugin_values(arguments)
        return [(action, name) for action, name in values if name not in list(action.choices or ())]

    def check_choices(self, arguments: argparse.Namespace) -> None:
        """End the process if one of them is no choice."""
        for action, name in self.wrong_choices(arguments):
            listed = ", ".join(map(repr, action.choices or ()))
            otherwise = action.choices.otherwise if isinstance(action.choices, PluginChoices) else ""
            hint = f"\n  {otherwise.format(name)}" if otherwise else ""
            self.error(f"argument {_shown_name(action)}: invalid choice: {name!r} (choose from {listed}){hint}")

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments, what may be meant, and how to get help; end the process."""
        lines = [f"{self.prog}: error: {message}", *self._suggestions(message)]
        self.exit(2, "\n".join([*lines, f"`{self.prog} --help` lists the arguments", ""]))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the process with a status, also if standard error does not take the message."""
        # Up to Python 3.10, `argparse` lets the error of a full disk replace the status.
        say(message or "")
        raise SystemExit(status)

    def _suggestions(self, message: str) -> Iterator[str]:
        from opwright.source.diagnostic import did_you_mean

        options = list(self._option_string_actions)
        for word in self._words:
            name = word.partition("=")[0]
            # Numbers, a lone dash and words after `--` are values; abbreviated options are options.
            if name == "--":
                break
            if name.startswith("--") and not any(option.startswith(name) for option in options):
                hint = did_you_mean(name, options)
                if hint:
                    yield f"  `{name}`: {hint}"
        wrong = _INVALID_CHOICE.search(message)
        for action in self._actions if wrong is not None else ():
            if wrong is not None and wrong.group(1) == _shown_name(action):
                hint = did_you_mean(wrong.group(3), map(str, action.choices or ()))
                if hint:
                    yield f"  {hint}"


def _shown_name(action: argparse.Action) -> str:
    """Name of an argument in messages of `argparse`."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def terminal_columns() -> int:
    """Width of the terminal: from COLUMNS, else from the system, else the default."""
    setting = os.environ.get("COLUMNS", "")
    if setting.isascii() and setting.isdigit() and len(setting) < 6 and int(setting) > 0:
        return int(setting)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ is not None else _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the inputs come from: `--torch` or `--source-path`, `--release`, what may be downloaded."""
    group = parser.add_argument_group("inputs")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--torch",
        metavar="SPEC",
        type=not_empty,
        help="the PyTorch to generate for: `auto` for the one installed in this environment (the default), the path "
        "of a wheel, or a version such as 2.13.0, whose inputs are read from the package index and cached",
    )
    where.add_argument(
        "--source-path",
        metavar="DIR",
        type=not_empty,
        help="a folder of inputs instead: `aten/src/ATen` of a PyTorch source tree, or of the same layout",
    )
    add_release_argument(group)
    add_native_aot_argument(group)
    add_download_arguments(group)


def add_download_arguments(group: argparse._ActionsContainer) -> None:
    """Declare what the user agrees to when a wheel is read from a package index: `--yes`, `--require-hashes`."""
    group.add_argument(
        "--yes", action="store_true", help="download a whole wheel without asking, if the index cannot send parts of it"
    )
    group.add_argument(
        "--require-hashes",
        action="store_true",
        help="download a whole wheel in any case, and compare it with the SHA-256 that the index gives",
    )


def add_native_aot_argument(group: argparse._ActionsContainer) -> None:
    """Declare the folder of kernels compiled ahead of time, in both spellings that PyTorch's generator accepts."""
    group.add_argument(
        *spellings("native-aot-ops-dir"),
        metavar="DIR",
        help="from 2.15 on: the folder of the `NAME/aot.py` files that declare kernels compiled ahead of time "
        "(default: torch/_native/ops of the same PyTorch); empty for none",
    )


def add_drop_in_arguments(parser: argparse.ArgumentParser, *, strict: bool = True) -> None:
    """Declare what the drop-in programs have besides the flags of PyTorch's: `--prune`, without which they remove
    nothing, as PyTorch's programs do; what build systems want to know; and whose rules they follow.
    """
    parser.add_argument(
        "--prune", action="store_true", help="remove files that earlier runs wrote and that are no longer made"
    )
    add_build_arguments(parser)
    add_rules_arguments(parser, strict=strict)


def add_rules_arguments(parser: argparse.ArgumentParser, *, strict: bool = True) -> None:
    """Declare where drop-in programs take rules and missing inputs from, and, unless a program has its own `--strict`,
    what they refuse.
    """
    parser.add_argument(
        "--inputs-only",
        action="store_true",
        help="take nothing that the inputs lack from the installed PyTorch, for builds that declare their inputs",
    )
    add_release_argument(parser)
    add_edits_argument(parser)
    if strict:
        add_strict_argument(parser)


def add_edits_argument(group: argparse._ActionsContainer) -> None:
    """Declare `--tolerate-generator-edits`."""
    group.add_argument(
        "--tolerate-generator-edits",
        action="store_true",
        help="warn of edits of the generator in a source tree that are not followed, instead of refusing them",
    )


def add_strict_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--strict` of drop-in programs."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a generator in the tree that is not the one whose rules are followed, and mistakes in derivatives "
        "that are warnings otherwise",
    )


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--depfile` and `--stamp` of drop-in programs."""
    parser.add_argument(
        "--depfile",
        metavar="FILE",
        type=not_empty,
        help="write a dependency file for Make, Ninja or CMake: outputs, inputs, and the files of this program",
    )
    parser.add_argument(
        "--stamp",
        metavar="FILE",
        type=not_empty,
        help="touch this file; the dependency file names it alone as output",
    )


def add_lean_argument(parser: argparse._ActionsContainer) -> None:
    """Declare `--lean`."""
    parser.add_argument(
        "--lean",
        action="store_true",
        help="write sources that compile faster: each includes the headers of its own operators alone, long ones are "
        "split, and no file has the text of others; PyTorch's generator has no such option",
    )


def add_release_argument(parser: argparse._ActionsContainer) -> None:
    """Declare `--release`."""
    parser.add_argument(
        "--release", metavar="VERSION", help="follow the rules of this release, whatever release the inputs name"
    )


def repeated(group: argparse._ActionsContainer) -> Callable[..., object]:
    """What declares an option that may be given several times, whose values are a list."""
    return partial(group.add_argument, action="append", default=[])


def not_empty(text: str) -> str:
    """Type of an argument that must not be empty: an empty variable of a script does not mean the default."""
    if not text:
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def add_backend_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags for optional devices."""
    from opwright.model.dispatch_key import device_flags

    group = parser.add_argument_group("backends")
    group.add_argument(
        "--rocm", action="store_true", help="generate for ROCm: HIP guards and file names instead of those of CUDA"
    )
    for flag, device in device_flags().items():
        group.add_argument(f"--{flag}", action="store_true", help=f"include kernels for {device}")


def chosen_devices(arguments: argparse.Namespace) -> frozenset[str]:
    """Flags of optional devices that are given."""
    from opwright.model.dispatch_key import device_flags

    return frozenset(flag for flag in device_flags() if getattr(arguments, flag))


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of selective builds, in both spellings that PyTorch's generator accepts."""
    group = parser.add_argument_group("selective builds")

    add = group.add_argument
    add(
        *spellings("op-registration-whitelist"),
        nargs="*",
        metavar="NAME",
        help="register only these operators; each is `namespace::name` without overload",
    )
    add(
        *spellings("op-selection-yaml-path"),
        metavar="FILE",
        help="a YAML file that selects operators, and what to generate for each",
    )
    add(
        *spellings("backend-whitelist"),
        nargs="*",
        metavar="KEY",
        help="register only kernels of these backends, and composite ones",
    )
    add(
        *spellings("static-dispatch-backend"),
        nargs="*",
        metavar="KEY",
        help="call the kernels of these backends directly, without the dispatcher",
    )
    add(
        *spellings("skip-dispatcher-op-registration"),
        dest="skip_dispatcher_registration",
        action="store_true",
        help="register nothing with the dispatcher",
    )
    add(
        *spellings("force-schema-registration"),
        action="store_true",
        help="register the schemas of all operators, selected or not",
    )
    help = "update the headers of the C shims"
    add("--update-aoti-c-shim", dest="update_c_shim", action="store_true", help=help)
    help = "generate C shims for out-of-tree operators"
    add("--extend-aoti-c-shim", dest="extend_c_shim", action="store_true", help=help)


def spellings(name: str) -> tuple[str, str]:
    """A flag with dashes, and with the underscores that PyTorch's generator accepts too."""
    return f"--{name}", f"--{name.replace('-', '_')}"


def options(arguments: argparse.Namespace, sink: Diagnostics, *, tolerant: bool = False) -> Options:
    """Emitters' options, from the flags; a truth value is that of the flag with its name, if the program has one."""
    from opwright.emit.emitter import Options

    backends = arguments.backend_whitelist
    defaults = Options()._asdict().items()
    flags: dict[str, Any] = {
        name: getattr(arguments, name, default) for name, default in defaults if isinstance(default, bool)
    }
    return Options(
        **flags,
        static_dispatch=_load_backends(arguments.static_dispatch_backend or (), sink, any_key=True),
        backends=frozenset(_load_backends(backends, sink, tolerant=tolerant)) if backends else None,
    )


def _load_backends(
    names: Iterable[str], sink: Diagnostics, *, tolerant: bool = False, any_key: bool = False
) -> tuple[DispatchKey, ...]:
    """Dispatch keys of these names. Unless `any_key`, only keys that may have kernels are allowed.

    Reports other names as errors, or as warnings if `tolerant`.
    """
    from opwright.dialects.nearest_key import suggested_key
    from opwright.model.dispatch_key import KEYS, dispatch_keys
    from opwright.source.codes import SELECTED_BACKEND

    report = sink.warning if tolerant else sink.error
    backends = list(KEYS) if any_key else [key.name for key in dispatch_keys()]
    keys = []
    for name in names:
        if name in backends:
            keys.append(KEYS[name])
        else:
            report(SELECTED_BACKEND, f"there is no backend `{name}`", help=suggested_key(name, backends))
    return tuple(keys)


def selection(arguments: argparse.Namespace, sink: Diagnostics) -> Selection:
    """Operators that the flags select, by default all. Faults of a selection file go to `sink`."""
    from opwright.dialects.selection import load_selection, selection_of_names
    from opwright.model.selection import EVERYTHING
    from opwright.source.codes import TWO_SELECTIONS
    from opwright.source.diagnostic import Fault
    from opwright.source.text import SourceFile

    names, path = arguments.op_registration_whitelist, arguments.op_selection_yaml_path
    if names is not None and path is not None:
        sink.error(TWO_SELECTIONS, "both a list of operators and a selection file are given")
    if path is not None:
        try:
            return load_selection(SourceFile.read(path), sink)
        except Fault as fault:
            # Continue with the other inputs, so that one run reports all faults.
            sink.add(fault.diagnostic)
            return EVERYTHING
    return EVERYTHING if names is None else selection_of_names(names)


def program_as_named(autograd: str, program: str) -> str:
    """Name that comments give a program in autograd's folder: its path from the parent of PyTorch's generator.

    >>> program_as_named("pytorch/tools/autograd", "gen_autograd.py")
    'tools/autograd/gen_autograd.py'
    >>> program_as_named("site/torchgen/packaged/autograd", "gen_autograd.py")
    'torchgen/packaged/autograd/gen_autograd.py'

    For a folder of another place, PyTorch's program is that of the installed package.
    """
    name = os.path.basename(os.path.abspath(autograd))
    return f"tools/{name}/{program}" if _home(autograd) == "tools" else f"torchgen/packaged/autograd/{program}"


def templates_as_named(autograd: str, *, apart: bool = False) -> str:
    """Name that comments give the folder of autograd's templates: its path from the package of PyTorch's generator.

    >>> templates_as_named("pytorch/tools/autograd"), templates_as_named("site/torchgen/packaged/autograd")
    ('../tools/autograd/templates', 'packaged/autograd/templates')

    For a folder of another place that package is the installed one, unless the run stays `apart` from it.
    """
    folder, name = os.path.split(os.path.abspath(autograd))
    home = _home(autograd)
    if not home and not apart:
        from opwright.release.local import installed_generator

        package = installed_generator()
        if package is not None:
            return os.path.relpath(os.path.join(autograd, "templates"), package)
    return f"packaged/{name}/templates" if home == "packaged" else f"../{os.path.basename(folder)}/{name}/templates"


def _home(autograd: str) -> str:
    """Which folder of a source tree or of a package autograd's folder is in: `tools`, `packaged`, or neither."""
    folder = os.path.dirname(os.path.abspath(autograd))
    parent, above = os.path.basename(folder), os.path.basename(os.path.dirname(folder))
    return parent if parent == "tools" or (parent, above) == ("packaged", "torchgen") else ""


def add_plugin_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--plugin`."""
    repeated(parser)(
        "--plugin",
        metavar="NAME",
        help="use this plug-in: an installed one, a module, or the path of a file or folder (may be repeated)",
        type=not_empty,
    )


def settle_plugins(arguments: argparse.Namespace) -> None:
    """Note in `uses_plugins` whether a command names plug-ins, or families that only a plug-in may add."""
    from opwright.emit.registry import FAMILIES

    families = vars(arguments).get("only") or ()
    arguments.uses_plugins = bool(arguments.plugin) or any(name not in FAMILIES for name in families)
    # Names mean something else where modules are found elsewhere.
    arguments.plugin_path = list(sys.path) if arguments.uses_plugins else []
