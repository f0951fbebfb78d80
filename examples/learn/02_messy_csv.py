"""
A messy CSV
===========

Tables from instruments, spreadsheets and colleagues are rarely clean. The file
:download:`water.csv <../../../examples/learn/water.csv>` has most of what goes wrong: a title
above the header, semicolons, decimal commas, an old encoding, three ways to say "no value",
values below a detection limit, an empty row, and a row of means at the end.
"""

# %%
# Look at the bytes
# -----------------
# Before any program guesses, look at the first and the last lines as they are:

from pathlib import Path

lines = Path("water.csv").read_text(encoding="latin-1").splitlines()
print(*lines[:4], *lines[38:42], *lines[-2:], sep="\n")

# %%
# What if you do not look?
# ------------------------
# princomp does not analyse a table that it does not understand. A component of wrong numbers
# looks like any other.

from princomp import PCA
from princomp.errors import PrincompError

try:
    PCA(2, scale="unit").fit("water.csv")
except PrincompError as error:
    print(type(error).__name__)
    print(error)

# %%
# Read it right
# -------------
# Say what you saw: the separator, the marks of decimals and thousands, the encoding, the line to
# skip, and what stands for a missing value.

import pandas as pd

water = pd.read_csv(
    "water.csv",
    sep=";",
    decimal=",",
    thousands=".",
    encoding="latin-1",
    skiprows=1,
    na_values=["n.a.", "-999"],
    index_col="sample",
)
water.dtypes

# %%
# Two surprises. ``date`` is a number: points separate thousands here, so 05.01.2023 was read as
# 5,012,023. We do not analyse the date, so it does no harm; ``dtype={"date": str}`` would keep
# it. And nitrate is still text. Which cells are to blame?

text = water["nitrate (mg/l)"]
text[pd.to_numeric(text.str.replace(",", "."), errors="coerce").isna() & text.notna()].unique()

# %%
# "< 2,5" means: less than the smallest amount that the method can see. That is not a missing
# value, since we know that it is small. Half of the limit is a common stand-in, good enough if
# few cells have it. (Here 6 of 72. With many, use methods for censored data.) Write down what you
# did.

below = text.str.startswith("<", na=False)
water["nitrate (mg/l)"] = pd.to_numeric(text.str.replace(",", ".").where(~below, 2.5 / 2))
print(below.sum(), "values below the limit of detection")

# %%
# The row of means is no sample, and the empty row says nothing:

measured = water.columns[2:]
water = water.drop(index="Mean").dropna(how="all", subset=measured)
water[measured].describe().loc[["count", "mean", "min", "max"]].round(1)

# %%
# Always look at smallest and largest values: a forgotten -999 shows here. All are plausible now.
# The counts show which cells are missing.
#
# Skewed columns
# --------------
# Amounts such as nitrate and turbidity have a long tail. A logarithm makes differences into
# ratios, and a few large values no longer decide.

import numpy as np

table = water[measured].copy()
for name in ("nitrate (mg/l)", "turbidity (NTU)"):
    table[f"log {name}"] = np.log(table.pop(name))
table.skew().round(1)

# %%
# Missing cells
# -------------
# Nine cells of nine samples are missing. Leaving out these samples would waste the other cells;
# filling with means would pull them to the centre. ``missing="em"`` fills each cell from the
# other cells of its row, and repeats until nothing changes:

print(table.isna().sum().sum(), "cells of", table.isna().any(axis=1).sum(), "samples")
model = PCA(2, scale="unit", missing="em").fit(table)
print(model.imputed_)

# %%
# The result
# ----------

model.plot.biplot(table, groups=water["site"].tolist(), label=0).figure

# %%
# One direction is how polluted the stream is: nitrate, conductivity and turbidity are high, pH
# and oxygen low. The other is the season: warm water holds less oxygen. The sites differ in the
# first only.
#
# Did filling matter? Compare with the complete samples alone:

dropped = PCA(2, scale="unit", missing="drop").fit(table)
angles = np.degrees(
    np.arccos(np.abs(np.sum(model.components_ * dropped.components_, axis=1)).clip(0, 1))
)
print(f"{dropped.n_dropped_} samples left out; axes turn by {angles.round(1)} degrees")

# %%
# The filled values themselves, should you want them:

filled = pd.DataFrame(model.impute(table), index=table.index, columns=table.columns)
filled[table.isna().any(axis=1)].head().round(1)

# %%
# Keep the clean table, and the program that made it, together with the messy one:
#
# .. code-block:: python
#
#    filled.to_csv("water_clean.csv")
#
# What the command line makes of such files: :doc:`/cli`.
