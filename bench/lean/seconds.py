"""How long generated sources compile, usual and lean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: Seconds of the processor of the first shard with GCC 12 and `-O2`, and its bytes: usual, and lean where that differs.
_MEASURED: Final = {
    "CompositeViewCopyKernels": ((17.2, 337_709), (14.1, 271_434)),
    "Functions": ((119.8, 2_538_963),),
    "Operators": ((85.9, 818_561), (53.6, 424_299)),
    "RegisterCPU": ((36.8, 465_958), (35.9, 427_908)),
    "RegisterCompositeExplicitAutograd": ((130, 1_317_658), (30, 332_187)),
    "RegisterCompositeExplicitAutogradNonFunctional": ((44, 1_213_691), (26, 498_121)),
    "RegisterCompositeImplicitAutograd": ((64, 794_157), (17, 201_131)),
    "RegisterFunctionalization": ((60.0, 1_240_124), (32.5, 580_197)),
    "RegisterMeta": ((70, 1_520_647), (25, 337_686)),
    "TraceType": ((55.4, 435_320),),
    "VariableType": ((77.3, 588_799),),
}
#: What headers take, and a million bytes of the sources that were not measured.
_HEADERS, _MILLION = 12.0, 60.0


def seconds_of_generated(path: Path, *, lean: bool) -> float:
    """What a generated source takes: the time of the measured shard, with what its code takes by size."""
    measured = _MEASURED.get(re.sub(r"_\d+$", "", path.stem), ((_HEADERS + _MILLION, 1_000_000),))
    seconds, size = measured[-1 if lean else 0]
    return _HEADERS + (seconds - _HEADERS) * path.stat().st_size / size
