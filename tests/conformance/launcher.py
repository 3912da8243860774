"""The process between a measuring process and a measured command.

The system counts the memory of the process that starts a command as memory of the command. So this one loads little. It
takes the number of a pipe and the command, and writes to the pipe the wall seconds, the wait status and the peak
resident size of the command.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Run the command."""
    results, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(results, False)
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    os.write(results, f"{time.perf_counter() - start} {status} {usage.ru_maxrss}".encode())


if __name__ == "__main__":
    main()
