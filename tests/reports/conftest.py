"""The report that several tests read: USArrests with groups and metadata."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest
from pages import Page

from command_line import ARRESTS
from princomp import PCA, report


@pytest.fixture(scope="session")
def states():
    with ARRESTS.open() as file:
        return [line["State"] for line in csv.DictReader(file)]


@pytest.fixture(scope="session")
def table(arrests):
    return pd.DataFrame(arrests, columns=["Murder", "Assault", "UrbanPop", "Rape"])


@pytest.fixture(scope="session")
def model(table):
    return PCA(2, scale="unit").fit(table)


@pytest.fixture(scope="session")
def report_options(states):
    """Options of the report besides model and rows."""
    region = ["NSWE"[i % 4] for i in range(50)]
    return {"ids": states, "groups": region, "metadata": {"turn": np.arange(50.0)}}


@pytest.fixture(scope="session")
def html(model, table, report_options):
    return report(model, table, data="us.csv", **report_options)


@pytest.fixture(scope="session")
def page(html):
    return Page(html)
