"""
How far the axes turn
=====================

Draw the rows again, many times, and measure the angle between each axis and that of the table. A
component whose axis turns by more than 45° should not be interpreted alone.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from princomp import bootstrap

wine = load_wine(as_frame=True)
sure = bootstrap(wine.data, n=300, random_state=0, n_components=6, scale="unit")

figure = Figure(figsize=(6, 3.2), layout="constrained")
ax = figure.subplots()
ax.boxplot(sure.angles, tick_labels=[f"PC{i + 1}" for i in range(6)], showfliers=False)
ax.axhline(45, linestyle="--", color="gray")
ax.set(ylabel="angle, degrees", ylim=(0, 90))
figure
