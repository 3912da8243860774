"""What the tests take of the processor, beside a run of the reference on the same machine: `make test-times`."""

from __future__ import annotations
