"""A quick ``princomp`` for shell blocks of documents: each call is a fork of one server process.

A document runs the program some twenty times; imports, and what libraries set up at first use,
take most of each second. Separate processes are tested elsewhere. Run as a script, this module is
the server.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from importlib import import_module

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = json.dumps([sys.argv[1:], os.getcwd()]).encode()
    socket.send_fds(server, [len(request).to_bytes(4, "big") + request], [0, 1, 2])
    sys.exit(int(server.recv(4) or b"70"))
"""


def start_server(folder, environment):
    """Start the server, and write a ``princomp`` script that calls it into the folder."""
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
    """Answer each call in a fork, until the process is killed."""
    for name in (
        "plots",
        "reports.documents",
        "reports.page",
        "estimators.functions",
        "estimators.choosing",
        "io.readers.columnar",
    ):
        import_module(f"princomp.{name}")
    from princomp.cli import run

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        assert run(["demo", "-o", folder]) == 0  # reads, fits, writes, prints and draws once
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no one waits for the children
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                answer(client, run)
            client.close()


def answer(client, run):
    """Run one command with the streams and in the folder of the caller."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(client, 2**16, 3)
    arguments, folder = json.loads(message[4:])
    assert len(message) == 4 + int.from_bytes(message[:4], "big")
    for stream, descriptor in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, descriptor)
    os.chdir(folder)
    code = 70
    try:
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        client.send(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
