"""Running a command: its exit code, its errors, its signals.

Data go to stdout, everything else to stderr. With ``--json`` stdout carries exactly
one document, also on error. Exit codes: 0 done, 2 usage, 65 bad data, 66 no such
input, 73 cannot create, 74 input or output failed, 75 try again, 130 and 143 after
signals.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any, NoReturn

import click

from princomp import errors
from princomp.cli.commands import cli

__all__ = ["run"]

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.ParameterError, 2),
    (errors.DataError, 65),
    (errors.NotAvailableError, 65),
    (errors.InputNotFoundError, 66),
    (errors.OutputExistsError, 73),
    (errors.OutputError, 73),
    (errors.MissingLibraryError, 75),
    (errors.InUseError, 75),
    (MemoryError, 75),
    (OSError, 74),
)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    asked = given.copy()  # ``resume`` makes it the words of the run that it goes on with
    signal.signal(signal.SIGTERM, _terminated)
    _replace_closed_streams()
    try:
        cli.main(args=given, prog_name="princomp", standalone_mode=False, obj=asked)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        return 130
    except BrokenPipeError:
        return _unheard()
    except SystemExit as stop:
        if stop.code != 1:
            raise
        return _unheard()  # click itself makes exit code 1 of a closed pipe
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        return _failed(error, [*given, *asked], _usage(error), 2)
    except Exception as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), 70)
        if isinstance(error, errors.PrincompError):
            return _failed(error, [*given, *asked], error.to_dict(), code)
        what = {"kind": type(error).__name__, "message": str(error) or type(error).__name__}
        hint = None if code != 70 else "this is a fault of princomp; --debug shows where"
        return _failed(error, [*given, *asked], {**what, "place": {}, "hint": hint}, code)


def _replace_closed_streams() -> None:
    """Where stdout or stderr was closed by the caller (``>&-``), nobody hears what is said.

    The descriptor is taken, too: else the first output would get it, and what a library
    prints would land there.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _unheard() -> int:
    """The reader has seen enough; nothing more may be written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _terminated(*_: Any) -> NoReturn:
    raise SystemExit(143)


def _usage(error: click.UsageError) -> dict[str, Any]:
    command = error.ctx.command_path if error.ctx else "princomp"
    return {
        "kind": "UsageError",
        "message": error.format_message(),
        "place": {"command": command},
        "hint": f"see '{command} --help'",
    }


def _failed(error: Exception, given: list[str], told: dict[str, Any], code: int) -> int:
    """Print an error where and as it was asked for."""
    if "--debug" in given:
        traceback.print_exception(error)
    if "--json" in given:
        plain = json.dumps({"error": {**told, "exit_code": code}}, ensure_ascii=False, default=str)
        click.echo(plain)
    else:
        click.echo(f"princomp: {told['message']}", err=True)
        if told["hint"]:
            click.echo(f"Hint: {told['hint']}", err=True)
    return code
