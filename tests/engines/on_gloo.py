"""torch.distributed: two processes connected by gloo."""

from __future__ import annotations

from importlib.util import find_spec

from on_local import table
from ranks_server import Server

SERVER = Server("gloo", 2)


def missing():
    return None if find_spec("torch") else "torch is not installed: make test-engines"


def fit(parts, **parameters):
    return SERVER.call("fit", parts, **parameters)[-1]


def transform(model, parts):
    return model.transform(table(parts))
