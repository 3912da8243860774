"""A worker of BuildGrid, run with the Python that has BuildGrid: `worker.py ADDRESS FOLDER [NAME=VALUE ...]`.

It runs one action at a time, in a root that has the system's programs and the inputs of the action alone: no network,
another host name, no environment. Its properties, such as `pool=generators`, choose the actions. While the file `hold`
is in its folder it waits before it runs an action, and says so with a file `held`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as execution
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2 as bots
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2_grpc, worker_pb2
from buildgrid.server.client.cas import Downloader, download, upload

#: What a worker has: the programs, compilers and headers of the system.
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")

#: How long a call waits for actions, in seconds. The service takes a worker that is silent for longer as lost.
POLL = 15

#: A service that has many calls at once, such as uploads of a build, refuses more: then the channel asks again.
ASKS_AGAIN = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.5s",
                    "maxBackoff": "10s",
                    "backoffMultiplier": 3,
                    "retryableStatusCodes": ["RESOURCE_EXHAUSTED"],
                },
            }
        ]
    }
)

#: Runs a command in a new root, as another user where root can: `sh -c ISOLATE sh ROOT FOLDER [NAME=VALUE...] COMMAND`.
#: SYSTEM is a variable of the environment.
ISOLATE = """
set -e
root=$1 folder=$2
shift 2
hostname worker
for path in $SYSTEM; do
  [ -e "$path" ] || continue
  if [ -d "$path" ]; then mkdir -p "$root$path"; else mkdir -p "$(dirname "$root$path")"; : > "$root$path"; fi
  mount --bind -o ro "$path" "$root$path"
done
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
: > "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
user=
if [ "$(id -u)" = 0 ] && [ -z "$MAPPED" ]; then user=--userspec=65534:65534; fi
exec chroot $user "$root" /usr/bin/env -i --chdir="$folder" "$@"
"""


class Inputs:
    """Files by digest, of which actions get links: most actions have the same inputs."""

    def __init__(self, channel: grpc.Channel, folder: Path) -> None:
        self._channel, self._folder = channel, folder
        folder.mkdir()

    def lay_out(self, digest: execution.Digest, folder: Path) -> None:
        """Make the folder of a digest."""
        folder.mkdir(exist_ok=True)
        with download(self._channel) as downloader:
            self._lay_out(downloader, digest, folder)

    def _lay_out(self, downloader: Downloader, digest: execution.Digest, folder: Path) -> None:
        directory = downloader.get_message(digest, execution.Directory())
        kept = {node.name: self._folder / f"{node.digest.hash}.{node.is_executable}" for node in directory.files}
        for node in directory.files:
            if not kept[node.name].exists():
                downloader.download_file(node.digest, str(kept[node.name]), is_executable=node.is_executable)
        downloader.flush()
        for name, path in kept.items():
            os.link(path, folder / name)
        for node in directory.symlinks:
            (folder / node.name).symlink_to(node.target)
        for node in directory.directories:
            (folder / node.name).mkdir()
            self._lay_out(downloader, node.digest, folder / node.name)


def run(channel: grpc.Channel, inputs: Inputs, folder: Path, action: execution.Action) -> execution.ActionResult:
    """What an action gives."""
    with download(channel) as downloader:
        command = downloader.get_message(action.command_digest, execution.Command())
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    work = root / "build"
    (root / "tmp").mkdir(parents=True)
    inputs.lay_out(action.input_root_digest, work)
    top = work / command.working_directory
    outputs = list(command.output_paths) or [*command.output_files, *command.output_directories]
    for path in outputs:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
    for path in (root / "tmp", work, *(path for path in work.rglob("*") if path.is_dir() and not path.is_symlink())):
        path.chmod(0o777)
    mapped = os.geteuid() != 0
    isolate = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", *(["--map-root-user"] if mapped else [])]
    variables = [f"{variable.name}={variable.value}" for variable in command.environment_variables]
    place = f"/build/{command.working_directory}"
    words = [*isolate, "sh", "-c", ISOLATE, "sh", str(root), place, *variables, *command.arguments]
    environment = {"PATH": os.environ["PATH"], "SYSTEM": " ".join(SYSTEM), "MAPPED": "1" if mapped else ""}
    done = subprocess.run(words, capture_output=True, check=False, env=environment)
    return _result(channel, done, top, outputs)


def _result(
    channel: grpc.Channel, done: subprocess.CompletedProcess[bytes], top: Path, outputs: list[str]
) -> execution.ActionResult:
    result = execution.ActionResult(exit_code=done.returncode, stdout_raw=done.stdout, stderr_raw=done.stderr)
    with upload(channel) as uploader:
        for path in outputs:
            if (top / path).is_dir():
                digest = uploader.upload_tree(str(top / path), queue=False)
                result.output_directories.add(path=path, tree_digest=digest)
            elif (top / path).exists():
                digest = uploader.upload_file(str(top / path), queue=False)
                result.output_files.add(path=path, digest=digest, is_executable=os.access(top / path, os.X_OK))
    return result


def answer(method: Callable[..., bots.BotSession], request: object) -> bots.BotSession:
    """The service's answer. A machine that stands still for seconds misses an answer, so the worker asks again."""
    while True:
        try:
            return method(request, timeout=POLL)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise


def main(address: str, name: str, *properties: str) -> None:
    """Run actions until someone ends the process."""
    folder = Path(name)
    channel = grpc.insecure_channel(address, options=[("grpc.service_config", ASKS_AGAIN)])
    stub = bots_pb2_grpc.BotsStub(channel)
    inputs = Inputs(channel, folder / "files")
    session = bots.BotSession(bot_id=f"{folder.name}.{os.getpid()}", status=bots.OK, worker=worker_pb2.Worker())
    device = session.worker.devices.add(handle="machine")
    for pair in properties:
        key, _, value = pair.partition("=")
        device.properties.add(key=key, value=value)
    session = answer(stub.CreateBotSession, bots.CreateBotSessionRequest(parent="", bot_session=session))
    while True:
        for lease in session.leases:
            if lease.state != bots.ACTIVE:
                continue
            action = execution.Action()
            if not lease.payload.Unpack(action):
                digest = execution.Digest()
                lease.payload.Unpack(digest)
                with download(channel) as downloader:
                    action = downloader.get_message(digest, action)
            while (folder / "hold").exists():
                (folder / "held").touch()
                time.sleep(0.05)
            lease.result.Pack(run(channel, inputs, folder, action))
            lease.state = bots.COMPLETED
        session = answer(stub.UpdateBotSession, bots.UpdateBotSessionRequest(name=session.name, bot_session=session))


if __name__ == "__main__":
    main(*sys.argv[1:])
