"""
Extra columns in a circle
=========================

Columns that took no part in the fit, drawn by their correlations with the components.
"""

from sklearn.datasets import load_wine

from princomp import PCA, diagnostics

wine = load_wine(as_frame=True)
active = wine.data.drop(columns=["proline", "ash"])
model = PCA(2, scale="unit").fit(active)
extra = diagnostics.supplementary_columns(
    model, active, {"proline": wine.data["proline"], "ash": wine.data["ash"]}
)

ax = model.plot.circle()
wide = extra.pivot(index="column", columns="component", values="correlation")
for name, (x, y) in wide.iterrows():
    ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": "#D55E00"})
    ax.annotate(name, (x, y), (3, 3), textcoords="offset points", color="#D55E00")
ax.figure
