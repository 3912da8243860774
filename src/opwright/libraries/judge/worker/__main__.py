"""Start the program that runs candidates: `python -I FOLDER DESCRIPTOR` serves the socket with that number."""

from __future__ import annotations

import os
import socket
import sys
from importlib import import_module

if __name__ == "__main__":
    sys.path[0], name = os.path.split(os.path.dirname(os.path.abspath(__file__)))
    server = import_module(f"{name}.server")
    del sys.path[0]
    import_module("torch")
    # What the judge is called is nobody's business.
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]
    server.serve(socket.socket(fileno=int(sys.argv[1])))
