"""The command line: parse arguments, and call the other packages of princomp.

commands          the list of commands
fitting, choosing, applying, models, rotating, bootstrapping, plotting, reporting   the commands
demo              a first analysis of a table that comes with the package
options           options that several commands share
read_options      options for reading tables: how they are written, which columns are used
robust_options, kernel_options   options of robust and kernel fits
actions           read tables, match their columns to a model, check outputs
results           write the results of commands
model_or_rows     commands that take a model or a table
extra_columns     columns that are shown with the rows
table_writer      write tables of text and numbers
output, progress  print results; show progress
hints             rephrase the library's messages with the flags of the command line
run               exit codes, errors and signals
"""

from princomp.cli.commands import cli
from princomp.cli.run import run

__all__ = ["cli", "run"]
