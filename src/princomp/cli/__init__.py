"""The command line: from arguments to calls of the core and of the other rooms.

commands          the list of commands
fitting, choosing, applying, models, rotating, bootstrapping, plotting, reporting   the commands
demo              the first analysis, on a table that comes with the package
options           options that commands share
read_options      how a table is written, and which of its columns are read
robust_options, kernel_options   options of robust and kernel fits
actions           reading tables, binding their columns, writing results
model_or_rows     commands that take a model or a table
extra_columns     columns that are shown with the rows
table_writer      tables of text and numbers
printed, watching results and progress for people
hints             messages of the library in the words of the command line
run               exit codes, errors and signals
"""

from princomp.cli.commands import cli
from princomp.cli.run import run

__all__ = ["cli", "run"]
