"""The codes of mistakes with actions of build systems; their numbers follow those of building."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["NOT_DESCRIBABLE", "NOT_HERMETIC", "OTHER_OUTPUTS"]

NOT_HERMETIC: Final = register(
    Code(
        "E0616",
        "a run that cannot be hermetic",
        """
With `--hermetic` a run reads only files that its arguments name, and the files that these name. The installed PyTorch
(`--torch auto`, which is the default) depends on the environment, and a version such as `--torch 2.13.0` on the network
and the user's cache. A build system can declare neither as an input of an action. Files about the run, such as
`--depfile`, are of no use there, because all inputs are known before.

    error[E0616]: a hermetic run cannot read PyTorch 2.13.0 from the package index

Name a folder with `--source-path`, or a wheel with `--torch FILE.whl`.
""",
    )
)
NOT_DESCRIBABLE: Final = register(
    Code(
        "E0617",
        "a generation that no build system can run elsewhere",
        """
`--describe` prints the inputs of a generation for a build system, which copies them to another folder or another
machine. So each input is below the working folder, or belongs to PyTorch's inputs, which are in a folder on this
machine. A file elsewhere has no path that a build system could use.

    error[E0617]: `/home/me/acme.yaml` is neither below the working folder nor among PyTorch's inputs

Run the command in the folder of the build that has the file. Name plug-ins by their paths too, and leave out `--shard`:
`--describe` describes all parts, as many as `--actions` says.
""",
    )
)
OTHER_OUTPUTS: Final = register(
    Code(
        "E0618",
        "the run makes other files than the build declares",
        """
Build systems such as Bazel know the outputs of each action before it runs. `--describe` prints them, and with them a
digest of their paths, which the action passes with `--declared`. An edit of the inputs since then added or removed an
output: a new operator may have a header of its own, and many new operators another source file. Without this check, the
build would lose the new file. Opwright wrote nothing.

    error[E0618]: the run makes other files than the build declares: 7 files with the digest 1c9d3cf1f6bd0b1a

Describe the generation again, with the same `--describe` as before, and compare the two descriptions.
""",
    )
)
