"""A backend can have each dispatch key that the reference lets it have, and no other."""

from __future__ import annotations

import pytest

from opwright.model.dispatch_key import KEYS
from tests.backend.outcomes import Task, reference_outcomes, run_tasks

_FILE = "backend: {key}\ncpp_namespace: acme\ndevice_guard: true\nsupported:\n- abs\n- empty.memory_format\n{autograd}"
_AUTOGRAD = "autograd:\n- mul.Tensor\n"


def key_tasks() -> list[Task]:
    """A file for each dispatch key, with kernels for autograd where there is an Autograd key."""
    tasks = []
    for key in [*KEYS, "AutocastPrivateUse1", "NoSuchKey"]:
        text = _FILE.format(key=key, autograd=_AUTOGRAD if f"Autograd{key}" in KEYS else "")
        tasks.append(Task(f"key-{key}", ("-s", "backend.yaml", "-o", "out"), {"backend.yaml": text}))
    return tasks


@pytest.mark.thorough
def test_every_dispatch_key() -> None:
    """The files have the reference's bytes, and the keys that it refuses are refused at their place."""
    tasks = key_tasks()
    references = reference_outcomes(tasks)
    accepted = []
    for task, ours in zip(tasks, run_tasks("opwright", tasks), strict=True):
        reference = references[task.name]
        if reference.status:
            place = ("backend.yaml", 1, len("backend: ") + 1)
            assert [fault[:3] for fault in ours.faults] == [place], task.name
            assert ours.status == 1, task.name
        else:
            assert (ours.status, ours.files) == (0, reference.files), f"{task.name}: {ours.said}"
            accepted.append(task.name)
    assert len(accepted) > 100
