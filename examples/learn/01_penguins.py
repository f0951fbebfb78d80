"""
Penguins: from a file to a publication
======================================

Gorman, Williams & Fraser (2014) measured 344 penguins of three species on three islands of the
Palmer Archipelago. We want to know whether four measurements of the body tell the species apart,
and to publish a figure and a paragraph about it.

The file :download:`penguins.csv <../../../examples/learn/penguins.csv>` is the one of the R
package palmerpenguins (CC0).
"""

# %%
# Look at the file first
# ----------------------
# A PCA takes every numeric column. So find out what they are.

import pandas as pd

penguins = pd.read_csv("penguins.csv")
penguins.head()

# %%
# ``year`` is a number, but not a measurement of a penguin: it stays out of the analysis.
# ``species``, ``island`` and ``sex`` are text. They stay out as well, and serve to colour the
# figures later.

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins[measured].describe().round(1)

# %%
# Two things stand out. Two penguins have no measurements, and the body mass is in grams: its
# standard deviation is 802, that of the bill depth 2. A PCA of these numbers would be a PCA of
# the mass alone.
#
# Prepare
# -------
# The two penguins have no value in *any* column, so there is nothing to fill: leave them out.
# (For single missing cells, see :doc:`/howto/missing`.)

complete = penguins.dropna(subset=measured).reset_index(drop=True)
complete["species"].value_counts()

# %%
# Fit
# ---
# ``scale="unit"`` divides each column by its standard deviation, so that all four count alike.

from princomp import PCA

model = PCA(scale="unit").fit(complete[measured])
model

# %%
# The first two components hold 88% of the variance. Is that enough? Ask the rules:

from princomp import choose

choose(complete[measured], scale="unit")

# %%
# They say from one to three. The choice depends on what it is for. We want a figure, so we keep
# two, and we say so in the text. The scree plot shows why: after two components little is left.
# The dashed line is the limit of one of the rules, parallel analysis:

from princomp import plots

two = model.truncated(2)
plots.scree(
    model, decision=choose(complete[measured], ["parallel"], scale="unit")["parallel"]
).figure

# %%
# What the components are
# -----------------------

from princomp import diagnostics

table = diagnostics.variables(two, form="wide").set_index("variable")
table.filter(like="correlation").round(2)

# %%
# PC1 correlates with flipper length, body mass and bill length, and negatively with bill depth:
# it is size, and large penguins have flat bills. PC2 is the size of the bill: its depth and its
# length. A circle of correlations shows this in one picture. Arrows that reach the circle are
# described completely by the two components:

plots.circle(two).figure

# %%
# The figure
# ----------

ax = plots.biplot(two, complete[measured], groups=complete["species"].tolist(), label=0)
ax.figure

# %%
# Gentoo penguins are apart from the others along PC1. Adélie and Chinstrap penguins are of
# similar size and differ mostly in PC2, the bill. Note what the ellipses are: 95% of *further
# penguins* of a species would lie inside.
#
# Is it reliable?
# ---------------
# First, the axes. Had we measured other penguins, would they be the same?

from princomp import bootstrap

sure = bootstrap(complete[measured], n=500, random_state=0, n_components=2, scale="unit")
print(sure)

# %%
# The axes turn by a few degrees: they are stable. Error bars on the loadings say the same in a
# figure:

plots.loadings(two, bootstrap=sure).figure

# %%
# Second, penguins that do not fit. ``training=True`` because these are the rows of the fit:

odd = diagnostics.outliers(two, complete[measured], training=True, level=0.999)
odd[["position", "t2", "q", "q_variables"]].head()

# %%
# One penguin of 342 is beyond a limit of 99.9%, which is no surprise. Its bill of 58 mm is the
# longest of all Chinstrap penguins, 9 mm above their mean. Look at such rows, and leave them in
# unless you find an error in the data.
#
# Third, do the groups differ? The share of each component's variance that species explains, η²:

diagnostics.metadata(
    two, complete[measured], complete[["species", "island", "sex"]].to_dict("list")
)[["column", "component", "n", "eta2", "p_adjusted", "note"]]

# %%
# Publish
# -------
# A figure across two columns of a journal is 174 mm wide: give the size in inches, draw into it,
# and save it. Vector formats stay sharp. Labels are placed for the size that the figure has, so
# set it first.

from matplotlib.figure import Figure

figure = Figure(figsize=(174 / 25.4, 80 / 25.4), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=(1, 2))
plots.scree(model, ax=left)
plots.scores(two, complete[measured], groups=complete["species"].tolist(), ax=right, label=0)
figure.savefig("penguins.pdf")
figure

# %%
# The text of the methods section needs: the columns, the scaling, the rows that were left out,
# how k was chosen, and the program with its version.

import princomp

rates = two.explained_variance_ratio_
print(
    f"Principal component analysis of {', '.join(measured)} (standardised to unit variance) "
    f"of {len(complete)} penguins; {len(penguins) - len(complete)} without measurements were "
    f"left out. Two components were kept for display; they hold {rates[0]:.1%} and {rates[1]:.1%} "
    f"of the variance. Intervals are from {500} bootstrap resamples. "
    f"princomp {princomp.__version__}."
)

# %%
# For colleagues, write the report: all of this in one page that needs no network.

from princomp import report

page = report(
    two,
    complete[measured],
    "penguins.html",
    groups={"species": complete["species"].tolist()},
    title="Penguins of the Palmer Archipelago",
)
print(f"{len(page) / 1e6:.1f} MB")

# %%
# And keep the model. It can be loaded without this program, on another machine, and has no
# pickled code inside:

two.save("penguins.pca")
again = princomp.load("penguins.pca")
again.transform(complete[measured].iloc[:2]).round(3)

# %%

from pathlib import Path

for made in ("penguins.pdf", "penguins.html", "penguins.pca"):
    Path(made).unlink()
