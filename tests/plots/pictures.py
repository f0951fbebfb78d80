"""The pictures that tests compare with ``baseline/``, drawn small.

``python tests/plots/pictures.py`` rewrites them; look at each one before you commit it.
"""

from __future__ import annotations

import csv
from functools import cache
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np

from princomp import PCA, RobustPCA, bootstrap, choose, plots

HERE = Path(__file__).parent
BASELINE = HERE / "baseline"
DPI = 50
# Side of the blocks of pixels whose means are compared, so that edges of letters do not matter.
CELL = 4


@cache
def table(name, columns):
    """Names of rows, numbers and last column of a table in the repository."""
    root = HERE.parents[1]
    path = root / "examples" / name
    with (path if path.exists() else HERE.parent / "references" / name).open() as file:
        header, *lines = csv.reader(file)
    numbers = [header.index(column) for column in columns]
    values = np.array([[float(line[j]) for j in numbers] for line in lines])
    return [line[0] for line in lines], values, [line[-1] for line in lines]


def arrests():
    names, X, _ = table("usarrests.csv", ("Murder", "Assault", "UrbanPop", "Rape"))
    return names, X, PCA(2, scale="unit").fit(X)


def irises():
    columns = ("Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width")
    _, X, species = table("iris.csv", columns)
    return species, X, PCA(3, scale="unit").fit(X)


def many_rows():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30_000, 5)) * [4, 2, 1, 1, 0.5]
    return X, PCA(2).fit(X)


def scree(dark):
    _, X, model = arrests()
    decision = choose(X, ["parallel"], scale="unit")["parallel"]
    return plots.scree(model, decision=decision, dark=dark)


def scree_line(dark):
    _, X, model = irises()
    decision = choose(X, ["gavish-donoho"], scale="unit")["gavish-donoho"]
    return plots.scree(model, decision=decision, dark=dark)


def scree_tested(dark):
    _, X, model = arrests()
    decision = choose(X, ["permutation"], scale="unit")["permutation"]
    return plots.scree(model, decision=decision, dark=dark)


def robust(dark):
    names, X, _ = arrests()
    model = RobustPCA(2, scale="mad").fit(X)
    return plots.outliers(model, X, ids=names, dark=dark)


def scores(dark):
    names, X, model = arrests()
    return plots.scores(model, X, ids=names, dark=dark)


def groups(dark):
    species, X, model = irises()
    return plots.scores(model, X, groups=species, dark=dark)


def density(dark):
    X, model = many_rows()
    return plots.scores(model, X, dark=dark)


def biplot(dark):
    names, X, model = arrests()
    return plots.biplot(model, X, ids=names, dark=dark)


def circle(dark):
    return plots.circle(arrests()[2], dark=dark)


def contributions(dark):
    return plots.contributions(arrests()[2], dark=dark)


def cos2(dark):
    return plots.cos2(arrests()[2], dark=dark)


def loadings(dark):
    _, X, model = arrests()
    return plots.loadings(model, bootstrap=bootstrap(model, X, n=100), dark=dark)


def pairs(dark):
    species, X, model = irises()
    return plots.pairs(model, X, groups=species, dark=dark)[0, 0]


def outliers(dark):
    names, X, model = arrests()
    return plots.outliers(model, X, ids=names, dark=dark)


def metadata(dark):
    _, X, model = arrests()
    data = {
        "murder": X[:, 0],
        "urban": X[:, 2] > 66,
        "batch": np.ones(50),
        "turn": [f"t{i % 5}" for i in range(50)],
    }
    return plots.metadata(model, X, data, dark=dark)


PICTURES = {
    f"{draw.__name__}{'_dark' if dark else ''}": (draw, dark)
    for draw, themes in (
        *((draw, (False, True)) for draw in (scree, groups, biplot, outliers, metadata)),
        *((draw, (False,)) for draw in (scores, density, circle, contributions, cos2)),
        *((draw, (False,)) for draw in (loadings, pairs, scree_line, scree_tested, robust)),
    )
    for dark in themes
}


def render(name):
    """A picture as the bytes of a PNG."""
    draw, dark = PICTURES[name]
    file = BytesIO()
    draw(dark).figure.savefig(
        file, format="png", dpi=40 if name == "density" else DPI, metadata={"Software": None}
    )
    return file.getvalue()


def downsample(png):
    """Means of a picture over cells of 4 × 4 pixels, 0 to 255 for each colour."""
    pixels = 255.0 * matplotlib.image.imread(BytesIO(png), format="png")[:, :, :3]
    high, wide = (size // CELL for size in pixels.shape[:2])
    cells = pixels[: high * CELL, : wide * CELL].reshape(high, CELL, wide, CELL, 3)
    return cells.mean(axis=(1, 3))


def main():
    BASELINE.mkdir(exist_ok=True)
    for name in PICTURES:
        path = BASELINE / f"{name}.png"
        path.write_bytes(render(name))
        print(f"{path.stat().st_size / 1000:5.1f} kB  {path.name}")


if __name__ == "__main__":
    main()
