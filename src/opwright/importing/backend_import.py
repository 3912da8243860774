"""Writes the backend file of a backend that exists, from the kernels that its sources register for PyTorch's operators.

The wrappers that are generated from it call the same kernels and do no more: devices are neither checked nor set, and
no overload is made from another.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.dialects.native_functions.scope import LoadScope
from opwright.explain.resolution import Entries
from opwright.extension.generated import update_backend_code
from opwright.importing.cpp_reader import CPP_HEADERS, CppRegistrations, read_cpp_sources
from opwright.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import KEYS, LIBRARY_KEYS
from opwright.release.inputs import open_inputs
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, shorten
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile
