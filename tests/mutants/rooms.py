"""The rooms of the package, and the folders of tests that guard each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/opwright")
BYTES = "tests/conformance/test_conformance.py"

#: Each room with the folders below `tests`, or the test modules, that guard it. A module belongs to the room with the
#: longest name that its path starts with. The examples in a module's docstrings guard it too.
ROOMS: dict[str, tuple[str, ...]] = {
    "actions": ("actions",),
    "bindings": ("tests/bindings/test_document.py", "tests/bindings/test_faults.py"),
    "check": ("check",),
    "cli": ("cli",),
    "convention": ("convention", "executorch", BYTES),
    "coverage": ("coverage",),
    "cpp": ("cpp",),
    "dialects": ("dialects",),
    "dialects/backend": ("dialects", "backend"),
    "dialects/executorch": ("dialects", "executorch"),
    "dialects/library": ("dialects", "library"),
    "dialects/upgraders": ("dialects", "upgraders"),
    "diff": ("diff",),
    "dump": ("dump",),
    "emit": ("emit", BYTES),
    "emit/backend": ("emit", "backend"),
    "emit/executorch": ("executorch",),
    "emit/lazy": ("emit", "lazy", BYTES),
    "emit/library": ("emit", "library"),
    "emit/mobile_upgraders": ("upgraders",),
    "emit/static_runtime": ("static_runtime",),
    "emit/stubs": ("stubs",),
    "emit/torch_stubs": ("torch_stubs", "hints", BYTES),
    "explain": ("explain",),
    "extension": ("extension",),
    "files": ("files", "engine"),
    "importing": ("importing",),
    "incremental": ("incremental", "engine", "edits"),
    "lsp": ("lsp",),
    "model": ("model", "dialects"),
    "plugins": ("plugins",),
    "porting": ("porting",),
    "release": ("release",),
    "run": ("engine", "cli"),
    "schema": ("schema",),
    "selective": ("selective",),
    "source": ("source",),
    "syntax": ("actions", "emit"),
    "torchgen": ("torchgen_interface", "cli"),
    "torchgen/executorch": ("executorch",),
    "torchgen/selective_build": ("selective",),
}

#: The folders of tests of commands whose modules have another name.
_COMMANDS = {
    "describing": "actions",
    "extras": "engine",
    "import_library": "importing",
    "new": "extension",
    "plugin_use": "plugins",
    "runs": "engine",
    "select": "selective",
    "supervision": "plugins",
    "trust": "plugins",
    "watching": "engine",
    "where": "engine",
}


def room_of(module: str) -> str | None:
    """The room of a module by its path below the root; None for the few modules outside rooms, and for plain data."""
    place = Path(module).relative_to(PACKAGE).with_suffix("").as_posix()
    names = [name for name in ROOMS if place == name or place.startswith(name + "/")]
    return max(names, key=len, default=None)


def room_modules() -> dict[str, list[str]]:
    """The modules of each room, as paths below the root, in order."""
    modules: dict[str, list[str]] = {name: [] for name in ROOMS}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        room = room_of(module)
        if room is not None:
            modules[room].append(module)
    return modules


def guards_of(module: str) -> list[str]:
    """The test modules that guard a module: those of its room. A command's are in the folder of its name too."""
    room = room_of(module)
    names = ROOMS[room] if room is not None else ()
    if room == "cli":
        names = (*names, *(_COMMANDS.get(name, name) for name in [Path(module).stem]))
    folders = [ROOT / (name if name.startswith("tests/") else f"tests/{name}") for name in names]
    paths = [
        path for folder in folders for path in ([folder] if folder.is_file() else sorted(folder.rglob("test_*.py")))
    ]
    return list(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in paths))
