"""``princomp`` for the shell blocks of documents: forks of one process that has all loaded.

A document calls the program some twenty times, and loading takes most of each second. What a
process of its own does is tested elsewhere. Run as a script this is that process.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from importlib import import_module

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    sent = json.dumps([sys.argv[1:], os.getcwd()]).encode()
    socket.send_fds(there, [len(sent).to_bytes(4, "big") + sent], [0, 1, 2])
    sys.exit(int(there.recv(4) or b"70"))
"""


def program(folder, environment):
    """Start the process, and write a ``princomp`` into the folder that has it answer."""
    address = str(folder / "commands")
    script = folder / "princomp"
    script.write_text(CLIENT.format(python=sys.executable, address=address))
    script.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(server.kill)
    assert server.stdout.readline() == b"ready\n"
    return server


def serve(address):
    """Answer each call by a fork, until standard input ends."""
    for room in (
        "plots",
        "reports.documents",
        "reports.page",
        "estimators.comparison",
        "io.readers.columnar",
    ):
        import_module(f"princomp.{room}")
    from princomp.cli import run

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(address)
        here.listen()
        print("ready", flush=True)
        while True:
            there, _ = here.accept()
            if os.fork() == 0:
                answer(there, run)
            there.close()


def answer(there, run):
    """One command, with the streams and in the folder of who called."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(there, 2**16, 3)
    arguments, folder = json.loads(message[4:])
    assert len(message) == 4 + int.from_bytes(message[:4], "big")
    for stream, place in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, place)
    os.chdir(folder)
    code = 70
    try:
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        there.send(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
