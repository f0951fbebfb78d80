"""The command line: arguments to calls, nothing else.

commands  the list of commands
fitting, choosing, applying, models, rotating, bootstrapping, plotting, reporting   the commands
options   their flags
calls     what the commands do
robustly, by_kernel   the options of robust and kernel fits
model_or_rows   commands that take a model or a table
beside    columns that are shown next to the rows
tidy      tables of text and numbers
printed, watching   output for people: results, and progress
run       exit codes, errors and signals
"""

from princomp.cli.commands import cli
from princomp.cli.run import run

__all__ = ["cli", "run"]
