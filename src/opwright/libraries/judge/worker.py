"""Program that runs candidates: a server that imports PyTorch once, and copies itself for each worker.

It imports nothing of Opwright and knows no reference. A worker maps the tensors of calls, calls the candidate, and
writes the bytes of results. Nothing that it says of itself counts as evidence.

`python -I worker.py DESCRIPTOR` serves the socket with that number.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import locale
import mmap
import os
import re
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

#: PyTorch has no types here.
_Torch: TypeAlias = Any
_Tensor: TypeAlias = Any
_Message: TypeAlias = "dict[str, Any]"

_PAGE: Final = mmap.PAGESIZE
_C: Final = ctypes.CDLL(None, use_errno=True)
_C.mmap.restype = ctypes.c_void_p
_C.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_FAILED: Final = ctypes.c_void_p(-1).value
_FIXED: Final = 0x10

#: Flags of `unshare`.
_NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
#: `PR_SET_DUMPABLE`, `PR_CAPBSET_DROP`, `PR_SET_NO_NEW_PRIVS`, and the right to read the memory of other processes.
_DUMPABLE, _DROP_BOUND, _NO_NEW_PRIVILEGES, _CAN_TRACE = 4, 24, 38, 19
#: Kernels of PyTorch's own operators that programs in Python replace. PyTorch adds those for other keys when it needs
#: them.
_OF_PYTORCH: Final = re.compile(r"aten/.*/(CPU|AutogradCPU)")
#: Modules of Python whose functions others call.
_MODULES: Final = (
    *("builtins", "copy", "ctypes", "functools", "gc", "importlib", "inspect", "io", "json", "math", "mmap", "os"),
    *("pickle", "random", "signal", "socket", "struct", "subprocess", "sys", "threading", "time", "traceback"),
)
#: What statements call.
_STATEMENTS: Final = ("__import__", "__build_class__")
#: Names in classes that are no functions, and those that PyTorch's compiler replaces once it is imported.
_CHANGING: Final = ("__dict__", "__weakref__", "torch.nn.Module.__init__", "torch.nn.Module.__setstate__")
#: Seconds that a call may take beside one that is stopped, before it seems to wait for that one.
_PATIENCE: Final = 0.3
#: `M_PERTURB`: the byte that new memory of the GNU C library is filled with, inverted.
_PERTURB: Final = -6


def receive(connection: socket.socket) -> tuple[_Message, list[int]] | None:
    """The next message with its file descriptors; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 16)
    data = _rest(connection, bytearray(head), 8) if head else None
    if data is None:
        return None
    text = _rest(connection, bytearray(), int.from_bytes(data, "little"))
    return None if text is None else (json.loads(text), list(descriptors))


def _rest(connection: socket.socket, data: bytearray, size: int) -> bytearray | None:
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return data


def send(connection: socket.socket, message: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
    """Send a message, with file descriptors."""
    data = json.dumps(message).encode()
    head = len(data).to_bytes(8, "little")
    if descriptors:
        socket.send_fds(connection, [head], list(descriptors))
        connection.sendall(data)
    else:
        connection.sendall(head + data)


def hide_memory() -> None:
    """Let no other process of the user read the memory of this one."""
    _C.prctl(_DUMPABLE, 0, 0, 0, 0)


# The server.


def serve(control: socket.socket) -> None:
    """Start a worker for each message, whose descriptors are its socket, the file for its results, and its status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide_memory()
    while (received := receive(control)) is not None:
        message, descriptors = received
        reader, writer = os.pipe()
        guard = os.fork()
        if guard == 0:
            try:
                os.close(reader)
                control.close()
                _guard(message, descriptors, writer)
            finally:
                os._exit(1)
        for descriptor in (writer, *descriptors):
            os.close(descriptor)
        with os.fdopen(reader, encoding="utf-8") as stream:
            send(control, json.loads(stream.readline() or "{}"))
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _guard(message: _Message, descriptors: list[int], writer: int) -> None:
    """Start the worker in namespaces of its own, and tell how it ended."""
    connection, results, status = descriptors
    isolated = {"network": _unshare(_NEW_NETWORK), "processes": _unshare(_NEW_PROCESSES)}
    child = os.fork()
    if child == 0:
        try:
            os.close(status)
            os.close(writer)
            os.setsid()
            _limit(message)
            # What the judge is called is nobody's business.
            sys.modules["__main__"], sys.argv = ModuleType("__main__"), [""]
            Worker(socket.socket(fileno=connection), results).run()
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.write(writer, json.dumps({"pid": child, "isolated": isolated}).encode() + b"\n")
    for descriptor in (connection, results, writer):
        os.close(descriptor)
    _, code = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(code)
    name = signal.Signals(-ended).name if ended < 0 else f"exit status {ended}"
    with contextlib.suppress(OSError):
        os.write(status, name.encode())


def _unshare(flag: int) -> bool:
    """Whether the process has a new namespace of a kind. Who is not root needs one of users first."""
    if _C.unshare(flag) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if user == 0 or _C.unshare(_NEW_USER) != 0:
        return False
    maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
    with contextlib.suppress(OSError):
        for name, text in maps:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
    return bool(_C.unshare(flag) == 0)


def _limit(message: _Message) -> None:
    """Limit time, memory and files, and give up the right to read the memory of other processes."""
    seconds, memory = int(message["seconds"]), int(message["memory"])
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * _PAGE
    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, used + memory),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        # The signal of the first limit of time says that it was reached; the second one kills without a word.
        hard = value + 10 if limit == resource.RLIMIT_CPU else value
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, hard))
    _C.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if os.getuid() == 0:
        _C.prctl(_DROP_BOUND, _CAN_TRACE, 0, 0, 0)
        head, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        if _C.capget(head, sets) == 0:
            for part in range(3):
                sets[part] &= ~(1 << _CAN_TRACE)
            _C.capset(head, sets)
    os.chdir(message["folder"])
    sink = os.open(message["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream_number in (1, 2):
        os.dup2(sink, stream_number)
    os.close(sink)


# A worker.


class _Place(NamedTuple):
    """Where a named tensor of a call is: among the arguments, or in a list of them."""

    name: str
    item: int


class Worker:
    """A process that has one candidate."""

    def __init__(self, connection: socket.socket, results: int) -> None:
        self._torch: Final[_Torch] = import_module("torch")
        self._connection: Final = connection
        self._results: Final = results
        self._tensors: Final[dict[str, list[_Tensor]]] = {}
        self._regions: Final[dict[str, tuple[int, int]]] = {}
        self._candidate: Callable[..., Any] | None = None
        self._last: list[Any] = []
        self._held: list[Any] = []
        self._returns = 1
        self._more: list[tuple[int, Any]] = []

    def run(self) -> None:
        """Answer messages until there are none."""
        while (received := receive(self._connection)) is not None:
            message, descriptors = received
            try:
                answer = getattr(self, f"_do_{message['do']}")(message, descriptors)
            except BaseException as error:
                answer = {"error": type(error).__name__, "text": _text_of(error)}
            send(self._connection, answer)

    # The candidate

    def _do_load(self, message: _Message, descriptors: list[int]) -> _Message:
        """Load a candidate: a file of Python, a shared object, or a module. It is an operator, or a function."""
        del descriptors
        self._returns = message["returns"]
        if message.get("clock"):
            _change_clock(message["clock"])
        path, function = message["path"], message["function"]
        module: Any = None
        if message["kind"] == "module":
            sys.path += filter(None, [message["folder"]])
            module = import_module(path)
        elif message["libraries"]:
            for library in message["libraries"]:
                self._torch.ops.load_library(library)
                # What `opwright.inline` builds registers its operators when it is asked to.
                register = getattr(ctypes.CDLL(library), "opwright_register", None)
                if register is not None:
                    register.restype = ctypes.c_char_p
                    if fault := register(1):
                        raise ImportError(fault.decode("utf-8", "replace"))
            if message["package"]:
                self._execute("candidate", message["package"], os.path.dirname(message["package"]))
        else:
            module = self._execute("candidate", path)
        for name in () if function else (message["operator"],):
            namespace, _, operator = name.partition("::")
            packet, _, overload = operator.partition(".")
            overloads = getattr(getattr(self._torch.ops, namespace), packet, None)
            chosen = None if overloads is None else getattr(overloads, overload or "default", None)
            if chosen is not None:
                self._candidate = chosen
                return {"form": "operator", "schema": str(chosen._schema)}
        if module is None and "::" in function:
            namespace, _, operator = function.partition("::")
            named: Any = getattr(getattr(self._torch.ops, namespace), operator).default
            self._candidate = named
            return {"form": "operator", "schema": str(named._schema)}
        names = [function] if function else message["names"]
        for name in names:
            value = getattr(module, name, None)
            if callable(value):
                self._candidate = value
                return {"form": "function", "name": name}
        return {"missing": names}

    def _execute(self, name: str, path: str, *folders: str) -> Any:  # noqa: ANN401
        spec = spec_from_file_location(name, path, submodule_search_locations=list(folders) or None)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    # Tensors

    def _do_map(self, message: _Message, descriptors: list[int]) -> _Message:
        """Map the tensors of a call between pages that nobody may touch. What is not written can only be read."""
        name = message["arena"]
        self._unmap(name)
        total = sum([segment["size"] + _PAGE for segment in message["segments"]]) + _PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        base = _C.mmap(None, total, 0, flags, -1, 0)
        if base == _FAILED:
            return {"error": "MemoryError", "text": "no memory for tensors"}
        self._regions[name] = base, total
        starts, at = [], base + _PAGE
        for segment in message["segments"]:
            is_written = segment["file"] == 1
            rights = mmap.PROT_READ | (mmap.PROT_WRITE if is_written else 0)
            shared = mmap.MAP_SHARED | _FIXED
            mapped = _C.mmap(at, segment["size"], rights, shared, descriptors[segment["file"]], segment["at"])
            if mapped == _FAILED:
                return {"error": "MemoryError", "text": "no memory for tensors"}
            starts.append(at)
            at += segment["size"] + _PAGE
        for descriptor in descriptors:
            os.close(descriptor)
        self._tensors[name] = [self._tensor(fact, starts) for fact in message["tensors"]]
        return {}

    def _unmap(self, name: str) -> None:
        self._tensors.pop(name, None)
        if name in self._regions:
            base, total = self._regions.pop(name)
            _C.munmap(ctypes.c_void_p(base), ctypes.c_size_t(total))

    def _tensor(self, fact: _Message, starts: list[int]) -> _Tensor:
        torch = self._torch
        dtype = getattr(torch, fact["dtype"])
        if not fact["nbytes"]:
            return torch.empty_strided(fact["shape"], fact["stride"], dtype=dtype, device="cpu")
        memory = (ctypes.c_char * fact["nbytes"]).from_address(starts[fact["segment"]] + fact["start"])
        stored = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
        empty = torch.empty(0, dtype=dtype, device="cpu")
        return empty.set_(stored, fact["offset"], fact["shape"], fact["stride"])

    def _value(self, spec: _Message, tensors: list[_Tensor]) -> Any:  # noqa: ANN401
        if "tensor" in spec:
            return tensors[spec["tensor"]]
        if "tensors" in spec:
            return [None if place is None else tensors[place] for place in spec["tensors"]]
        if "dtype" in spec:
            return getattr(self._torch, spec["dtype"])
        if "device" in spec:
            return self._torch.device(spec["device"])
        return spec["value"]

    def _with_leaves(self, message: _Message) -> list[_Tensor]:
        """The tensors of a call, some of which are leaves of a graph."""
        tensors, leaves = self._tensors[message["arena"]], message["leaves"]
        return [tensor.detach().requires_grad_() if place in leaves else tensor for place, tensor in enumerate(tensors)]

    def _given(self, message: _Message, tensors: list[_Tensor] | None = None) -> tuple[list[Any], dict[str, Any]]:
        tensors = self._tensors[message["arena"]] if tensors is None else tensors
        if "leaves" in message and tensors is self._tensors[message["arena"]]:
            tensors = self._with_leaves(message)
        positional = [self._value(spec, tensors) for spec in message["positional"]]
        return positional, {name: self._value(spec, tensors) for name, spec in message["named"].items()}

    # Calls

    @contextlib.contextmanager
    def _settings(self, settings: Mapping[str, Any]) -> Iterator[None]:
        torch = self._torch
        threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
        perturb = getattr(_C, "mallopt", None)
        if "threads" in settings:
            torch.set_num_threads(settings["threads"])
        if "dtype" in settings:
            torch.set_default_dtype(getattr(torch, settings["dtype"]))
        if "poison" in settings and perturb is not None:
            perturb(_PERTURB, settings["poison"])
        with torch.inference_mode() if settings.get("inference") else contextlib.nullcontext():
            try:
                yield
            finally:
                if "poison" in settings and perturb is not None:
                    perturb(_PERTURB, 0)
                # What the candidate itself changed stays, to be seen.
                if "threads" in settings:
                    torch.set_num_threads(threads)
                if "dtype" in settings and torch.get_default_dtype() == getattr(torch, settings["dtype"]):
                    torch.set_default_dtype(dtype)

    def _call(self, message: _Message, place: int = 0) -> Any:  # noqa: ANN401
        """Call the candidate, perhaps some times with the same arguments.

        Where a call gives others than the first one, it is the last, and both are read. Of written arguments, which
        can be read once, the values are those of the one of the two that is unlike a third.
        """
        assert self._candidate is not None
        positional, named = self._given(message)
        if not message.get("before"):
            return self._candidate(*positional, **named)
        written = [self._tensors[message["arena"]][place] for place in message["written"]]
        copies = [tensor.clone() for tensor in written]

        def called() -> tuple[Any, list[bytes], list[_Tensor]]:
            for tensor, value in zip(written, copies, strict=True):
                tensor.copy_(value)
            results = self._candidate(*positional, **named)  # type: ignore[misc]
            return results, self._image(results, written), [tensor.clone() for tensor in written]

        first = last = called()
        for number in range(message["before"]):
            last = called()
            if last[1] != first[1] and not written:
                self._more.append((place, first[0]))
                return last[0]
            if last[1] != first[1]:
                odd = first if number == 0 and called()[1] == last[1] else last
                for tensor, value in zip(written, odd[2], strict=True):
                    tensor.copy_(value)
                return odd[0]
        return last[0]

    def _image(self, results: Any, written: list[_Tensor]) -> list[bytes]:  # noqa: ANN401
        """The bytes of results, as far as they are tensors, and of written arguments."""
        tensors = [leaf for leaf in _flat(results) if type(leaf) is self._torch.Tensor]
        return [self._bytes(tensor)[1] for tensor in (*tensors, *written)]

    def _do_call(self, message: _Message, descriptors: list[int]) -> _Message:
        """Call the candidate once, and write its results.

        A `late` call writes them when it is asked to, and `held` ones wait for those of other calls.
        """
        del descriptors
        settings = message.get("settings", {})
        with self._settings(settings):
            results = _in_thread(lambda: self._call(message)) if settings.get("other") else self._call(message)
        if message.get("held"):
            self._held.append(results)
            return {"returned": True}
        self._last = [results]
        return {"returned": True} if message.get("late") else self._do_read(message, [])

    def _do_together(self, message: _Message, descriptors: list[int]) -> _Message:
        """Call the candidate in several threads at the same time, and each of them some times."""
        del descriptors
        calls = message["calls"]
        ready = threading.Barrier(len(calls))

        def called(place: int) -> Any:  # noqa: ANN401
            ready.wait()
            return self._call(calls[place], place)

        outcomes = _Outcomes(*[partial(called, place) for place in range(len(calls))])
        # Python's threads take turns within calls, which are shorter than its usual turns.
        turn = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        for thread in outcomes.threads:
            thread.start()
        for thread in outcomes.threads:
            thread.join()
        sys.setswitchinterval(turn)
        self._last = outcomes.results()
        return self._do_read(message, [])

    def _do_interrupt(self, message: _Message, descriptors: list[int]) -> _Message:
        """Stop a call at a step of its Python code, make another call meanwhile, and let the first one go on.

        Threads may run so. Where the other call waits for the first one, as for a lock, that one goes on.
        """
        del descriptors
        calls, wanted, steps = message["calls"], message["step"], 0
        stopped, goes_on = threading.Event(), threading.Event()
        given = [self._given(call) for call in calls]

        def trace(_frame: object, _event: str, _argument: object) -> Any:  # noqa: ANN401
            nonlocal steps
            steps += 1
            if steps == wanted:
                stopped.set()
                goes_on.wait()
            return trace

        def interrupted() -> Any:  # noqa: ANN401
            positional, named = given[0]
            sys.settrace(trace)
            try:
                return self._candidate(*positional, **named)  # type: ignore[misc]
            finally:
                sys.settrace(None)
                stopped.set()

        outcomes = _Outcomes(interrupted, lambda: self._candidate(*given[1][0], **given[1][1]))  # type: ignore[misc]
        outcomes.threads[0].start()
        stopped.wait()
        outcomes.threads[1].start()
        outcomes.threads[1].join(_PATIENCE)
        waits = outcomes.threads[1].is_alive()
        goes_on.set()
        self._last = outcomes.results()
        return {**self._do_read(message, []), "steps": steps, "waits": waits}

    def _do_read(self, message: _Message, descriptors: list[int]) -> _Message:
        """Write the results of the last calls, or those that are held."""
        del descriptors
        if message.get("held"):
            self._last, self._held = self._held, []
        header, at = [], 0
        for results in (*self._last, *[results for _, results in self._more]):
            are_many = self._returns != 1 and isinstance(results, (list, tuple))
            listed = results if are_many else () if results is None else (results,)
            rows = []
            for result in listed:
                row = []
                for tensor in result if isinstance(result, (list, tuple)) else [result]:
                    fact, at = self._write(tensor, at)
                    row.append(fact)
                rows.append(row)
            header.append(rows)
        count, places = len(self._last), [place for place, _ in self._more]
        self._last, self._more = [], []
        return {"results": header[:count], "more": [*zip(places, header[count:], strict=True)]}

    def _write(self, tensor: _Tensor, at: int) -> tuple[_Message, int]:
        torch = self._torch
        if type(tensor) is not torch.Tensor:
            return {"type": type(tensor).__name__}, at
        plain, data = self._bytes(tensor)
        os.pwrite(self._results, data, at)
        size = len(data)
        fact = {"dtype": str(plain.dtype).removeprefix("torch."), "shape": list(plain.shape), "at": at, "size": size}
        fact["stride"] = list(tensor.stride())
        fact["graph"] = tensor.requires_grad
        self._spoil(tensor)
        return fact, at + size

    def _bytes(self, tensor: _Tensor) -> tuple[_Tensor, bytes]:
        """A tensor without gaps, and its bytes."""
        plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        size = plain.numel() * plain.element_size()
        return plain, ctypes.string_at(plain.data_ptr(), size) if size else b""

    def _spoil(self, tensor: _Tensor) -> None:
        """Give a result other values, unless it is an argument: its memory is the caller's.

        What a candidate keeps to give it again, and other results in the same memory, are wrong then.
        """
        start = tensor.data_ptr()
        if not any(base <= start < base + total for base, total in self._regions.values()):
            # Expanded tensors cannot be written.
            with self._torch.inference_mode(), contextlib.suppress(RuntimeError):
                tensor.detach().fill_(85)

    # What operators do besides

    def _do_gradient(self, message: _Message, descriptors: list[int]) -> _Message:
        """Gradients of some arguments, and their gradients, for weights of results that follow from places."""
        del descriptors
        torch = self._torch
        tensors = self._with_leaves(message)
        leaves = [tensors[place] for place in message["leaves"]]
        positional, named = self._given(message, tensors)
        assert self._candidate is not None
        results = self._candidate(*positional, **named)
        leaving = [result for result in _flat(results) if isinstance(result, torch.Tensor) and result.requires_grad]
        if not leaving:
            return {"graph": False}
        first = self._gradients(leaving, leaves, create=message["second"])
        self._last = [tuple(first)]
        if message["second"]:
            again = [gradient for gradient in first if gradient.requires_grad]
            if not again:
                return {"graph": False}
            self._last = [(*first, *self._gradients(again, leaves, create=False))]
        return {"graph": True, **self._do_read(message, [])}

    def _gradients(self, results: list[_Tensor], leaves: list[_Tensor], *, create: bool) -> list[_Tensor]:
        torch = self._torch
        weights = [
            (torch.arange(result.numel()) % 7 + 1).reshape(result.shape).to(result.dtype) / 4 for result in results
        ]
        gradients = torch.autograd.grad(results, leaves, weights, allow_unused=True, create_graph=create)
        return [
            torch.zeros_like(leaf) if value is None else value for leaf, value in zip(leaves, gradients, strict=True)
        ]

    def _do_compile(self, message: _Message, descriptors: list[int]) -> _Message:
        """Call the candidate as `torch.compile` does, for dynamic sizes."""
        del descriptors
        torch, candidate = self._torch, self._candidate
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *given, **named: candidate(*given, **named),  # type: ignore[misc]
            fullgraph=True,
            dynamic=True,
            backend="aot_eager",
        )
        positional, named = self._given(message)
        self._last = [compiled(*positional, **named)]
        return self._do_read(message, [])

    def _do_export(self, message: _Message, descriptors: list[int]) -> _Message:
        """Call the program that `torch.export` makes of a call."""
        del descriptors
        torch, candidate = self._torch, self._candidate

        class Exported(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
                return candidate(*given, **named)  # type: ignore[misc]

        positional, named = self._given(message)
        program = torch.export.export(Exported(), tuple(positional), named)
        self._last = [program.module()(*positional, **named)]
        return self._do_read(message, [])

    def _do_vmap(self, message: _Message, descriptors: list[int]) -> _Message:
        """Map the candidate over the first dimension of some tensors."""
        del descriptors
        torch, candidate, places = self._torch, self._candidate, message["mapped"]
        tensors = self._tensors[message["arena"]]

        def mapped(*parts: _Tensor) -> Any:  # noqa: ANN401
            changed = list(tensors)
            for place, part in zip(places, parts, strict=True):
                changed[place] = part
            positional, named = self._given(message, changed)
            return candidate(*positional, **named)  # type: ignore[misc]

        self._last = [torch.vmap(mapped)(*[tensors[place] for place in places])]
        return self._do_read(message, [])

    def _do_fake(self, message: _Message, descriptors: list[int]) -> _Message:
        """Sizes, dtypes and strides of results in a trace."""
        del descriptors
        torch = self._torch
        fakes = import_module("torch._subclasses.fake_tensor")
        shapes = import_module("torch.fx.experimental.symbolic_shapes")
        with fakes.FakeTensorMode(shape_env=shapes.ShapeEnv()) as mode:
            tensors = [mode.from_tensor(tensor, static_shapes=True) for tensor in self._tensors[message["arena"]]]
            positional, named = self._given(message, tensors)
            results = self._candidate(*positional, **named)  # type: ignore[misc]
            return {
                "facts": [
                    {
                        "dtype": str(result.dtype).removeprefix("torch."),
                        "shape": [size if isinstance(size, int) else None for size in result.shape],
                        "stride": [step if isinstance(step, int) else None for step in result.stride()],
                    }
                    for result in _flat(results)
                    if isinstance(result, torch.Tensor)
                ]
            }

    def _do_time(self, message: _Message, descriptors: list[int]) -> _Message:
        """Call the candidate many times. The judge has the clock."""
        del descriptors
        assert self._candidate is not None
        positional, named = self._given(message)
        for _ in range(message["times"]):
            self._last = [self._candidate(*positional, **named)]
        if self._torch.cuda.is_available() and self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize()
        return {"returned": True}

    def _do_state(self, message: _Message, descriptors: list[int]) -> _Message:
        """What the process has set for all."""
        del message, descriptors
        torch = self._torch
        handlers = {number: signal.getsignal(number) for number in (1, 2, 6, 8, 11, 14, 15)}
        small = ctypes.c_float(1e-40)
        modes = import_module("torch.overrides")._get_current_function_mode_stack()
        modes += import_module("torch.utils._python_dispatch")._get_current_dispatch_mode_stack()
        sums = [first + second for first, second in ((0.1, 0.2), (-0.1, -0.2), (0.1, 0.7), (-0.1, -0.7))]
        return {
            "the default dtype": str(torch.get_default_dtype()),
            "the number of threads": torch.get_num_threads(),
            "the grad mode": torch.is_grad_enabled(),
            "the use of deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
            "PyTorch's random numbers": hash(torch.default_generator.get_state().numpy().tobytes()),
            "Python's random numbers": hash(str(import_module("random").getstate())),
            "the working folder": os.getcwd(),
            "the handlers of signals": str(handlers),
            "the treatment of denormal numbers": float((torch.tensor([small.value]) * 1).item()),
            "the precision of matrix products": torch.get_float32_matmul_precision(),
            "the limit of recursion": sys.getrecursionlimit(),
            "the turns of threads": sys.getswitchinterval(),
            "tracing": str((sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())),
            "the rounding of numbers": str([number.hex() for number in sums]),
            "modes of PyTorch": str([type(mode).__name__ for mode in modes]),
            "autocast": str([torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")]),
            "the detection of anomalies": str((torch.is_anomaly_enabled(), torch.is_inference_mode_enabled())),
            "kernels of PyTorch": sorted([name for name in torch.library._impls if _OF_PYTORCH.fullmatch(name)]),
            "the collection of garbage": str((gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())),
            "hooks of Python": str([id(hook) for hook in (sys.excepthook, sys.unraisablehook, sys.displayhook)]),
            "the standard streams": str([_facts_of_file(number) for number in range(3)]),
            "limits of the process": str([resource.getrlimit(number) for number in range(16)]),
            "the priority of the process": str((os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))),
            "the mask of new files": _mask(),
            "timers": str([signal.getitimer(number)[0] > 0 for number in range(3)]),
            "the locale": locale.setlocale(locale.LC_ALL),
            **_numpy_state(),
            "environment": dict(os.environ),
            "functions": _functions(torch),
        }


def _change_clock(days: int) -> None:
    """Let Python's clock be some days ahead, and forget variables of the environment that programs do not need."""
    clock: Any = import_module("time")
    dates: Any = import_module("datetime")
    seconds, real = days * 86400, clock.time
    clock.time = lambda: real() + seconds
    clock.time_ns = lambda: int(clock.time() * 1e9)

    def now(cls: Any, tz: Any = None) -> Any:  # noqa: ANN401
        return cls.fromtimestamp(clock.time(), tz)

    def today(cls: Any) -> Any:  # noqa: ANN401
        return cls.fromtimestamp(clock.time())

    moved = {"now": classmethod(now), "today": classmethod(today), "utcnow": classmethod(now)}
    dates.datetime = type("datetime", (dates.datetime,), moved)
    dates.date = type("date", (dates.date,), {"today": classmethod(today)})
    needed = ("PATH", "LD_", "HOME", "TMPDIR", "LANG", "LC_", "TRITON", "NUMBA", "CUDA", "OMP_", "MKL_")
    for name in [name for name in os.environ if not name.startswith(needed)]:
        del os.environ[name]


def _functions(torch: _Torch) -> dict[str, int]:
    """The identities of functions that others call."""
    homes = {
        "torch": torch,
        "torch.Tensor": torch.Tensor,
        "torch.nn.functional": torch.nn.functional,
        "torch.linalg": torch.linalg,
        "torch.testing": torch.testing,
        "torch.autograd": torch.autograd,
        "torch.cuda": torch.cuda,
        "torch.random": torch.random,
        "torch.nn.Module": torch.nn.Module,
        "torch.library": torch.library,
    }
    homes |= {name: import_module(name) for name in _MODULES}
    home_of_torch = os.path.dirname(torch.__file__)
    identities = {
        f"{home}.{name}": id(_original(value, home_of_torch))
        for home, holder in homes.items()
        for name, value in _members(holder).items()
    }
    return {name: identity for name, identity in identities.items() if not name.endswith(_CHANGING)}


def _original(value: Any, home: str) -> Any:  # noqa: ANN401
    """A function, or the one that code of PyTorch wraps, as its compiler does once it is imported."""
    home_of_code = getattr(getattr(value, "__code__", None), "co_filename", "")
    wrapped = getattr(value, "__wrapped__", None) if home_of_code.startswith(home) else None
    return value if wrapped is None else wrapped


def _members(holder: Any) -> dict[str, Any]:  # noqa: ANN401
    """The functions of a module, or of a class with those that it inherits."""
    if isinstance(holder, type):
        return {name: value for base in reversed(holder.__mro__) for name, value in list(vars(base).items())}
    return {
        name: value
        for name, value in list(vars(holder).items())
        if callable(value) and (name in _STATEMENTS or not name.startswith("__"))
    }


def _facts_of_file(number: int) -> object:
    try:
        facts = os.fstat(number)
    except OSError as error:
        return error.strerror
    return facts.st_dev, facts.st_ino


def _mask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _numpy_state() -> _Message:
    """What NumPy has set, if it is here."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return {}
    return {
        "NumPy's random numbers": hash(str(numpy.random.get_state())),
        "NumPy's treatment of errors": str(numpy.geterr()),
    }


def _flat(results: Any) -> list[Any]:  # noqa: ANN401
    if isinstance(results, (list, tuple)):
        return [leaf for result in results for leaf in _flat(result)]
    return [results]


class _Outcomes:
    """What calls give, each in a thread of its own."""

    def __init__(self, *calls: Callable[[], Any]) -> None:
        self._outcomes: Final[list[Any]] = [None] * len(calls)
        self.threads: Final = [
            threading.Thread(target=self._work, args=(place, call)) for place, call in enumerate(calls)
        ]

    def _work(self, place: int, call: Callable[[], Any]) -> None:
        try:
            self._outcomes[place] = True, call()
        except BaseException as error:
            self._outcomes[place] = False, error

    def results(self) -> list[Any]:
        """The results, once all threads end. Raises what a call raised."""
        for thread in self.threads:
            thread.join()
        for is_result, error in self._outcomes:
            if not is_result:
                raise error
        return [result for _, result in self._outcomes]


def _in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401
    outcomes = _Outcomes(call)
    outcomes.threads[0].start()
    return outcomes.results()[0]


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""


if __name__ == "__main__":
    import_module("torch")
    serve(socket.socket(fileno=int(sys.argv[1])))
