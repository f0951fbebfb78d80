"""
What the rules say
==================

Eleven rules for the number of components, side by side. Where they agree, the choice is easy;
where they do not, it depends on what it is for.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from princomp import choose

wine = load_wine(as_frame=True)
found = choose(wine.data, scale="unit")
ks = {name: k for name, k in found.k.items() if k is not None}

figure = Figure(figsize=(6, 3.5), layout="constrained")
ax = figure.subplots()
ax.hlines(range(len(ks)), 0, ks.values(), color="#0072B2", linewidth=1)
ax.plot(ks.values(), range(len(ks)), "o", color="#0072B2")
ax.set(yticks=range(len(ks)), yticklabels=ks, xlabel="components kept", xlim=(0, None))
ax.invert_yaxis()
figure
