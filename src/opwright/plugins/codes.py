"""The codes of faults in plug-ins, of their names, and of what they add: E23xx."""

from __future__ import annotations

from opwright.source.codes import Code, register

UNKNOWN_PLUGIN = register(
    Code(
        "E2301",
        "no such plug-in",
        """
Users name a plug-in as it is installed, by its module, or by the path of its file or folder. Nothing has this name.

    error[E2301]: no plug-in `acme_list`: it is not installed, and no module has this name
      = help: did you mean `acme_lists`?

`opwright plugins` lists those that are installed. A name with a slash, or with the ending `.py`, is a path: on the
command line relative to the working folder, in a file relative to the folder of the file.
""",
    )
)
DOES_NOT_LOAD = register(
    Code(
        "E2302",
        "the plug-in does not load",
        """
Opwright imports the module of a plug-in that a run uses. The import raised an exception: a syntax error, a module that
is not installed, or an error in the code of the module.

    error[E2302]: plug-in `acme.py` does not load: ModuleNotFoundError: No module named `acme_tables`
      --> acme.py:3:1

Fix the plug-in at the marked line, install what it imports, or do not name it.
""",
    )
)
NOT_A_PLUGIN = register(
    Code(
        "E2303",
        "the module has no plug-in",
        """
A plug-in is a module with an attribute `plugin` that is a `Plugin`; a name such as `acme:lists` names another attribute
of the module. The module loads, but the attribute is missing, or is something else.

    error[E2303]: `acme.py` has no attribute `plugin`

Write `plugin = Plugin("acme", api=1, ...)` in the module. The name of an installed plug-in is that of its entry point.
""",
    )
)
WRONG_API = register(
    Code(
        "E2304",
        "the plug-in is written for another version of the API",
        """
A plug-in names the version of the API of plug-ins that it is written for, and this Opwright has another one.

    error[E2304]: plug-in `acme` is written for version 2 of the API of plug-ins; this Opwright has version 1

Install a version of the plug-in, or of Opwright, that fits the other.
""",
    )
)
RAISED = register(
    Code(
        "E2305",
        "a function of the plug-in raised an exception",
        """
Opwright called a function of a plug-in, and the function raised an exception. The message names the function by what it
is for, and the note the operator that it was called for, if there is one.

    error[E2305]: plug-in `acme`: `fragment` of the emitter `lists` raised KeyError: 'CPU'
      --> acme.py:12:5
       = note: for the operator `aten::add.Tensor`

Fix the plug-in at the marked line. To report a mistake in an input, raise `Fault.at(CODE, message, span)`, or call
`sink.error` where the function gets a sink.
""",
    )
)
WRONG_RESULT = register(
    Code(
        "E2306",
        "a function of the plug-in gave a value of the wrong type",
        """
A function of a plug-in gave something else than what its extension point needs.

    error[E2306]: plug-in `acme`: `fragment` of the emitter `lists` gave a `list`, not a mapping from slots to texts
      --> acme.py:10:1

The page about plug-ins says what each function gives.
""",
    )
)
WRONG_ROW = register(
    Code(
        "E2307",
        "the plug-in has a value of the wrong type or form",
        """
Each argument of `Plugin` takes values of one type, and names have a form: the name of a plug-in, family or dialect is
made of lower-case letters, digits and underscores; a code is two or more upper-case letters and four digits.

    error[E2307]: plug-in `acme`: `families` has a `str`, not a `Family`
      --> acme.py

Write what the message names.
""",
    )
)
NAME_CLASH = register(
    Code(
        "E2308",
        "two things have one name",
        """
A plug-in adds something under a name that is taken: by Opwright itself, by another plug-in of the run, or by the same
plug-in. Names of Opwright's own families, dialects and codes cannot be replaced.

    error[E2308]: plug-in `acme` adds the family `headers`, which is Opwright's own

Give it another name, for instance one that begins with the name of the plug-in.
""",
    )
)
MISSING_FOLDER = register(
    Code(
        "E2309",
        "a folder or file of the plug-in is missing",
        """
`templates` and `headers` of a plug-in are folders beside its module, and its emitters name templates as `NAME:FILE`.
The folder or the file does not exist.

    error[E2309]: plug-in `acme` has no template `list.h` in `/opt/acme/templates`
      = help: did you mean `lists.h`?

Check the name, and that the package of the plug-in contains the file when it is installed.
""",
    )
)
EMITTER_MISFIT = register(
    Code(
        "E2310",
        "the emitter does not fit its family",
        """
An emitter names the family that it belongs to, and one of the output folders of this family. The family must be one
that the plug-in adds.

    error[E2310]: plug-in `acme`: the emitter `lists` is of the family `list`, which the plug-in does not add
      = help: did you mean `acme_list`?

Write the name of the family of the plug-in, and a folder that the family has in `folders`.
""",
    )
)
UNKNOWN_INPUT = register(
    Code(
        "E2311",
        "no plug-in reads the file",
        """
`opwright generate --input FILE` names a file of a dialect that a plug-in adds. The dialect recognises its files by
their names or by their first field, and no dialect of the plug-ins of this run recognises this one.

    error[E2311]: no plug-in of this run reads `kernels.yaml`
      = help: there are: `acme_kernels`

Name the plug-in with `--plugin`, or give the file the name or the first field of its dialect. Files of operators,
libraries and backends have options of their own.
""",
    )
)
WRONG_NAMES = register(
    Code(
        "E2312",
        "the names of plug-ins are no list of texts",
        """
`plugins` in the table `[tool.opwright]` of `pyproject.toml`, or in the head of a library or backend file, is a list of
names of plug-ins: installed ones, modules, or paths relative to the file.

    error[E2312]: `plugins` of `[tool.opwright]` in `pyproject.toml` is not a list of names
      = help: write `plugins = ["NAME"]`

Write a list, even for one name.
""",
    )
)
NO_FINGERPRINT = register(
    Code(
        "E2313",
        "a unit has no fingerprint",
        """
Opwright makes a fragment again when its unit changed, and tells by a fingerprint of the unit. It knows the fingerprints
of operators and groups, texts, numbers, and of lists, tuples and mappings of these. A unit holds something else.

    error[E2313]: the emitter `lists` cannot be used: a unit holds a `Row`, which has no fingerprint

Use a tuple or a named tuple in place of the class, or derive the class from `HasFingerprintKey` with a property
`fingerprint_key`: a tuple of all that a fragment reads from the unit.
""",
    )
)
_NOT_ALLOWED_PAGE = """
Plug-ins are programs, and files come from everywhere. So a library file, a backend file or a `pyproject.toml` only
declares which plug-ins it is written for, and Opwright imports those that you allowed. It opens no others.

    error[E2314]: plug-in `./acme.py` is not loaded: `acme.yaml` names it, and you have not allowed it
      = help: `opwright trust .` allows it; `--plugin ./acme.py` for one run; `--no-plugins` does without it

Read the plug-in. If you want to run it, allow it with `opwright trust FOLDER` until its sources change, with `--plugin`
for one run, or in the environment of a build with `OPWRIGHT_ALLOW_PLUGINS=FOLDER`.
"""
NOT_ALLOWED = register(Code("E2314", "a file names a plug-in that you have not allowed", _NOT_ALLOWED_PAGE))
LEFT_OUT = register(
    Code(
        "W2314",
        "a file names a plug-in that you have not allowed",
        f"""
Where Opwright can do without the plug-in, it does, and warns; a generation is an error, {NOT_ALLOWED}. The keys that
plug-ins may declare are then not checked.

{_NOT_ALLOWED_PAGE.lstrip(chr(10))}""",
    )
)
DAMAGED_TRUST = register(
    Code(
        "E2315",
        "the file of trusted plug-ins cannot be read",
        """
`opwright trust` keeps what you trust in a JSON file of your own configuration. The file is damaged, cannot be opened,
or is of another version of Opwright. Until it is repaired, no plug-in is trusted.

    error[E2315]: `/home/me/.config/opwright/trust.json` cannot be read: Expecting value: line 1 column 1 (char 0)

Correct the file, or remove it and trust the folders again.
""",
    )
)
ENDED = register(
    Code(
        "E2316",
        "a plug-in ended the process",
        """
A plug-in ended the process of the run, as `os._exit` does, or a library that it uses. Whatever the exit status says,
the run was not done: files may be missing.

    error[E2316]: a plug-in ended the process with the exit status 0, before the run was done
      = help: raise an exception in place of `os._exit`

Find the call in the plug-in. To report a mistake in an input, raise `Fault.at(CODE, message, span)`.
""",
    )
)
