"""Names of ExecuTorch's templates. Programs read them before they know whether there is anything to do."""

from __future__ import annotations

import os

TEMPLATES = (
    "Functions.h",
    "NativeFunctions.h",
    "RegisterCodegenUnboxedKernels.cpp",
    "RegisterDispatchKeyCustomOps.cpp",
    "RegisterKernels.cpp",
    "RegisterKernels.h",
    "RegisterSchema.cpp",
)


def template_paths(folder: str) -> list[str]:
    """Paths of the templates in a folder, whether they are there or not."""
    return [os.path.join(folder, name) for name in TEMPLATES]
