"""The group of all commands, and running one: exit codes, errors and signals.

Data goes to stdout, everything else to stderr. With ``--json``, stdout gets exactly
one document, even after an error, but none after a signal. Exit codes: 0 success, 2 usage
error, 65 bad data, 66 no such input, 70 bug in princomp, 73 cannot create output, 74 input
or output failed, 75 try again, 130 and 143 after signals.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import sys
import traceback
import warnings
from typing import Any, NoReturn

import click

from princomp import __version__, errors
from princomp.cli.bootstrapping import bootstrap
from princomp.cli.demo import demo
from princomp.cli.distances import distances
from princomp.cli.fitting import choose, fit, plan, resume
from princomp.cli.hints import as_flags
from princomp.cli.models import inverse, merge, rotate, show, transform
from princomp.cli.output import (
    ClosedStream,
    StdoutError,
    discard,
    echo,
    encodes_all,
    print_json,
    print_notes,
    writing_to_stdout,
)
from princomp.cli.plotting import plot
from princomp.cli.reporting import report

# The first of these classes that an error is an instance of decides.
_EXIT_CODES: dict[type[BaseException], int] = {
    click.UsageError: 2,
    StdoutError: 74,
    errors.ParameterError: 2,
    errors.DataError: 65,
    errors.NotAvailableError: 65,
    errors.InputNotFoundError: 66,
    errors.OutputExistsError: 73,
    errors.OutputError: 73,
    errors.MissingLibraryError: 75,
    errors.InUseError: 75,
    MemoryError: 75,
    OSError: 74,
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="princomp", message="%(prog)s %(version)s")
def cli() -> None:
    """Principal component analysis of tables."""


for _command in (
    demo,
    fit,
    resume,
    transform,
    inverse,
    distances,
    show,
    merge,
    plan,
    choose,
    rotate,
    bootstrap,
    plot,
    report,
):
    cli.add_command(_command)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    # Commands get this list as ``context.obj``; ``resume`` replaces its contents with the arguments
    # of the resumed run.
    executed = typed.copy()
    signal.signal(signal.SIGTERM, _exit_on_signal)
    # A terminal or a connection was closed; ``nohup`` ignores this.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _exit_on_signal)
    _prepare_streams()
    try:
        with warnings.catch_warnings():
            # The file and line of the library's code mean nothing to users of commands.
            warnings.showwarning = lambda message, *_: print_notes([message])
            # A note of ``open_for_model`` says it, and names the file; one of ``notes_on_cells``.
            warnings.filterwarnings("ignore", "X has feature names, but")
            warnings.filterwarnings("ignore", "missing=.*NOT CONVERGED")
            warnings.filterwarnings("ignore", ".* rows have missing values and were left out")
            cli.main(args=typed, prog_name="princomp", standalone_mode=False, obj=executed)
        with writing_to_stdout():
            sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        return 130
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and stop.code != 1:  # click exits with 1
            raise
        discard(sys.stdout)  # the reader has closed the pipe
        return 0
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        return 2
    except Exception as error:
        code = _print_error(error, [*typed, *executed])
        try:
            sys.stdout.flush()
        except OSError:  # it would fail again at exit and replace the exit code
            discard(sys.stdout)
        return code


def _prepare_streams() -> None:
    """Let stdout and stderr take any text, and replace closed streams by empty ones."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, ClosedStream())
        stream = getattr(sys, name)
        # A code page may lack characters of messages and names: write escapes for them.
        if isinstance(stream, io.TextIOWrapper) and not encodes_all(stream):
            stream.reconfigure(errors="backslashreplace")


def _exit_on_signal(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _describe(error: Exception, code: int) -> dict[str, Any]:
    """Return kind, message, place and hint of an error."""
    if isinstance(error, errors.PrincompError):
        return error.to_dict()
    kind = type(error).__name__
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "princomp"
        kind, message, place = "UsageError", error.format_message(), {"command": command}
        hint: str | None = f"{_suggestion(error)}see '{command} --help'"
    else:
        message, place, hint = str(error) or kind, {}, None
        if code == 70:
            hint = "this is a bug in princomp: please report it with what --debug shows"
    return {"kind": kind, "message": message, "place": place, "hint": hint}


def _suggestion(error: click.UsageError) -> str:
    """Suggest a valid choice of an option, or the command that fits a file."""
    quoted = re.search("'([^']*)'", error.message)
    value = quoted[1] if quoted else ""
    kind = getattr(getattr(error, "param", None), "type", None)
    if isinstance(kind, click.Choice):
        return errors.did_you_mean(value, kind.choices)
    if error.message.startswith("No such command") and os.path.exists(value):
        return f"to analyse a table: princomp fit {shlex.quote(value)}; "
    return ""


def _print_error(error: Exception, arguments: list[str]) -> int:
    """Print an error as text on stderr, or as JSON on stdout; return the exit code."""
    code = next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 70)
    contents = _describe(error, code)
    about_parameter = "parameter" in contents["place"] and "column" not in contents["place"]
    texts = {name: contents[name] for name in ("message", "hint") if contents[name]}
    rephrased = {name: as_flags(text, bare_names=about_parameter) for name, text in texts.items()}
    contents = {**contents, **rephrased}
    if "--debug" in arguments:
        traceback.print_exception(error)
    if "--json" in arguments:
        # If stdout has failed, print the error on stderr.
        with contextlib.suppress(OSError):
            print_json({"error": {**contents, "exit_code": code}}, allow_nan=True, default=str)
            return code
    echo(f"princomp: {contents['message']}", err=True)
    if contents["hint"]:
        echo(f"Hint: {contents['hint']}", err=True)
    return code
