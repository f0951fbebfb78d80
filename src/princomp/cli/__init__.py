"""The command line: parse arguments, and call the other packages of princomp.

commands            the group of all commands, and running one: exit codes, errors, signals
fitting             fit and resume; plan and choose, which help to decide before a fit
models              show, merge, transform, inverse, rotate
distances           T² and Q of rows, with their limits
bootstrapping, plotting, reporting   bootstrap, plot, report
demo                a first analysis of a table that comes with the package
options             options that several commands share: of fits, of files, of reading tables
kinds_of_pca        plain, robust and kernel PCAs that flags describe
inputs              tables and models that commands read
results             files that commands write
output              print results and notes; show progress
hints               rephrase the library's messages with the flags of the command line
"""

from princomp.cli.commands import cli, run

__all__ = ["cli", "run"]
