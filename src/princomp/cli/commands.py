"""The group of all commands."""

from __future__ import annotations

import click

from princomp import __version__
from princomp.cli.applying import inverse, transform
from princomp.cli.bootstrapping import bootstrap
from princomp.cli.choosing import choose
from princomp.cli.demo import demo
from princomp.cli.fitting import fit, plan, resume
from princomp.cli.models import merge, show
from princomp.cli.plotting import plot
from princomp.cli.reporting import report
from princomp.cli.rotating import rotate


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
