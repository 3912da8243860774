"""Diagnostic codes about plug-ins."""

from __future__ import annotations

# Programs import this before they know whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NOT_TAKEN: Final = "W1374"

UNKNOWN_PLUGIN: Final = "E2301"
DOES_NOT_LOAD: Final = "E2302"
NOT_A_PLUGIN: Final = "E2303"
WRONG_API: Final = "E2304"
RAISED: Final = "E2305"
WRONG_RESULT: Final = "E2306"
WRONG_ROW: Final = "E2307"
NAME_CLASH: Final = "E2308"
MISSING_FOLDER: Final = "E2309"
EMITTER_MISFIT: Final = "E2310"
VALUE_TYPE: Final = "E2330"
PLUGIN_UNKNOWN_WORD: Final = "E2331"
PLUGIN_UNKNOWN_KEY: Final = "E2332"
PLUGIN_MISSING_KEY: Final = "E2333"
PLUGIN_CPP_TEXT: Final = "E2334"
KEY_TAKEN: Final = "E2335"
