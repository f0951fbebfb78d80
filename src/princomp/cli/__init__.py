"""The command line: arguments to calls, nothing else.

commands  what a person can type
calls     what a command does with it
printed   what a person reads
run       exit codes, errors and signals
"""

from princomp.cli.commands import cli
from princomp.cli.run import run

__all__ = ["cli", "run"]
