"""``choose``: the rules side by side, in Python and on the command line."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from command_line import ARRESTS, run_command
from princomp import PCA, RobustPCA, choose
from princomp.cli.options import RULES as CLI_RULES
from princomp.errors import MissingLibraryError, NotAvailableError, ParameterError
from princomp.rules import RULES, Choices, Decision, Parallel

ARRESTS_K = {"kaiser": 1, "broken-stick": 1, "elbow": 1, "parallel": 1, "mle": 2, "gcv": 2}


def test_all_rules_of_usarrests(arrests):
    found = choose(arrests, scale="unit")
    assert list(found) == list(RULES)
    assert {name: found.k[name] for name in ARRESTS_K} == ARRESTS_K
    assert found["kaiser"].at(1) == pytest.approx(2.480242, abs=1e-6)
    assert found["kaiser"].at(2) == pytest.approx(0.9897652, abs=1e-6)
    assert found["kaiser"].threshold_at(2) == pytest.approx(1)
    assert found["parallel"].threshold_at(1) > found["parallel"].threshold_at(2)
    assert (found["kaiser"].at(5), found["kaiser"].at(0)) == (None, None)
    with pytest.raises(KeyError):
        found["kayser"]


def test_choose_agrees_with_fits(arrests):
    found = choose(arrests, scale="unit", random_state=3)
    for name in RULES:
        model = PCA(name, scale="unit", random_state=3).fit(arrests)
        assert (model.decision_.k, model.decision_.reason) == (found.k[name], found[name].reason)


def test_printed_tables_and_sentences_of_agreement(arrests):
    found = choose(arrests, ["kaiser", "gcv", "mle"], scale="unit")
    assert found.agreement == (
        "The rules disagree, from 1 to 2. gcv, mle: 2 components; kaiser: 1 component."
    )
    lines = str(found).splitlines()
    assert lines[0] == "How many components of 50 rows × 4 columns"
    assert lines[2].split()[:6] == ["kaiser", "1", "2.48", "1", "0.9898", "1"]
    assert lines[-1] == found.agreement
    assert choose(arrests, ["gcv", "mle"], scale="unit").agreement == (
        "All 2 rules that apply keep 2 components."
    )
    assert choose(arrests, "gcv", scale="unit").agreement == (
        "One rule applies: gcv keeps 2 components."
    )
    none = Choices((Decision.none("mine", "it is mine"),), None, 3)
    assert none.agreement == "No rule applies."
    assert "unknown rows" in str(none)


def test_the_title_says_what_rows_count_as(rng):
    faded = PCA(decay=0.9).partial_fit(rng.standard_normal((500, 4)))
    title, *_ = str(choose(faded, "kaiser")).splitlines()
    assert title == "How many components of 500 rows (counted as 10) × 4 columns"
    counts = np.full(50, 3.0)
    title, *_ = str(choose(faded.transform(np.eye(50, 4)), sample_weight=counts)).splitlines()
    assert title == "How many components of 50 rows (counted as 150) × 4 columns"


def test_frames_json_and_html_agree(arrests):
    found = choose(arrests, scale="unit")
    frame = found.to_frame()
    assert frame.index.tolist() == list(RULES)
    assert frame["k"].tolist() == list(found.k.values())
    assert frame.loc["gcv", "at k"] == pytest.approx(0.58782, abs=5e-6)
    document = json.loads(found.to_json())
    assert document["k"] == found.k
    assert len(document["decisions"]) == len(RULES)

    class Cells(HTMLParser):
        rows = 0

        def handle_starttag(self, tag, attrs):
            self.rows += tag == "tr"

    page = Cells()
    page.feed(found._repr_html_())
    assert page.rows == len(RULES) + 1
    odd = Choices((Decision("<b>", 1, "a < b & c"),), 3, 2)
    assert "<b>" not in odd._repr_html_()


def test_missing_pandas_is_reported(arrests, monkeypatch):
    found = choose(arrests, "kaiser")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibraryError, match="pandas"):
        found.to_frame()


def test_models_and_summaries_answer_without_rows(arrests):
    whole = choose(arrests, scale="unit", random_state=2)
    model = PCA(2, scale="unit").fit(arrests)
    stream = PCA(scale="unit").partial_fit(arrests[:20]).partial_fit(arrests[20:])
    for X, parameters in ((model, {}), (stream, {}), (model.summary_, {"scale": "unit"})):
        found = choose(X, random_state=2, **parameters)
        for name in RULES:
            if name in ("cv", "bi-cv", "permutation"):
                assert found.k[name] is None
                assert "only a summary" in found[name].reason
            else:
                assert found[name].reason == whole[name].reason
        assert found.n_samples == 50
    events = []
    choose(model, "parallel", progress=events.append)
    assert events[-1].done
    assert model.n_components_ == 2  # the model is unchanged


def test_a_rule_that_does_not_apply_says_why(arrests):
    found = choose(arrests[:3])
    assert found.k["mle"] is None
    assert found["mle"].reason == "does not apply: 3 rows are fewer than 4 columns"
    constant = choose(np.ones((9, 3)))
    assert set(constant.k.values()) == {None}
    assert constant["cv"].reason == "does not apply: every column is constant"
    weighted = choose(arrests, sample_weight=np.ones(50))
    assert "weights" in weighted["cv"].reason


def test_invalid_arguments_are_refused(arrests):
    model = PCA(2).fit(arrests)
    for arguments, options, message in (
        ((arrests,), {"n_components": 2}, "n_components"),
        ((arrests, "kayser"), {}, "kayser"),
        ((arrests, []), {}, "none"),
        ((arrests, ["gcv", Parallel(), Parallel(50)]), {}, "parallel twice"),
        ((arrests,), {"missing": "em"}, "missing='em'"),
        ((PCA(2, missing="em").fit(arrests),), {}, "so it cannot help to find it"),
        ((arrests,), {"random_state": -1}, "random_state=-1"),
        ((arrests,), {"random_state": 0.5}, r"random_state=0\.5"),
        ((model,), {"scale": "unit"}, "scale"),
        ((model.summary_,), {"sample_weight": [1]}, "sample_weight"),
        ((RobustPCA(2).fit(arrests),), {}, "RobustPCA"),
    ):
        with pytest.raises(ParameterError, match=message) as caught:
            choose(*arguments, **options)
        assert caught.value.hint
    with pytest.raises(NotAvailableError, match="summary of columns"):
        choose(PCA(2, svd_solver="lanczos").fit(arrests).summary_)


# ---- princomp choose -----------------------------------------------------------------------


def test_the_command_prints_the_table(capfd):
    done = run_command(capfd, "choose", ARRESTS, "--scale", "unit")
    assert done.code == 0
    expected = choose(
        np.loadtxt(ARRESTS, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4)), scale="unit"
    )
    assert done.out == f"{expected}\n"
    assert "the rows are named by column 'State'" in done.err


def test_the_command_gives_one_document(capfd):
    args = ("--rules", "gcv, parallel", "--seed", "5", "--scale", "unit", "--json")
    done = run_command(capfd, "choose", ARRESTS, *args)
    document = done.document
    assert (document["document"], document["version"]) == ("princomp.choose", 1)
    assert document["k"] == {"gcv": 2, "parallel": 1}
    assert (document["rows"], document["columns"], document["seed"]) == (50, 4, 5)
    assert document["decisions"][0]["statistic"][1] == pytest.approx(0.71825, abs=5e-6)
    assert done.err == ""
    other = run_command(capfd, "choose", ARRESTS, *args[:3], "6", *args[4:]).document
    assert other["decisions"][1]["threshold"] != document["decisions"][1]["threshold"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--rules", "kayser"], "--rules kayser is not a rule\nHint: Did you mean 'kaiser'?"),
        (["--rules", "gcv,gcv"], "rules names gcv twice"),
        (["--rules", "gcv,"], "has an empty rule"),
        (["--seed", "-3"], "-3"),
        (["--missing", "em"], "--missing em needs the number of components"),
        (["--columns", "Nobody"], "Nobody"),
    ],
)
def test_invalid_options_are_reported(capfd, args, message):
    done = run_command(capfd, "choose", ARRESTS, *args)
    assert done.code in (2, 65)
    assert message in done.err


def test_the_hint_about_missing_cells_works(capfd, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(ARRESTS.read_text().replace("13.2", "", 1))
    done = run_command(capfd, "choose", table)
    assert "--missing drop" in done.err
    assert "--missing em" not in done.err  # it needs the number of components
    assert run_command(capfd, "choose", table, "--missing", "drop").code == 0


def test_fit_takes_a_rule_and_show_reports_it(capfd, tmp_path):
    folder = tmp_path / "out"
    done = run_command(capfd, "fit", ARRESTS, "--scale", "unit", "-k", "parallel", "-o", folder)
    assert "chosen by parallel: 1 leading variance exceeds" in done.out
    shown = run_command(capfd, "show", folder / "model.pca", "--json").document
    assert shown["parameters"]["n_components"] == "parallel"
    assert shown["decision"]["k"] == shown["n_components"] == 1
    refused = run_command(capfd, "choose", folder / "model.pca")
    assert refused.code == 2
    assert "model.pca: it is a model, and a table is needed" in refused.err
    unknown = run_command(capfd, "fit", ARRESTS, "-k", "kayser")
    assert unknown.code == 2
    assert "broken-stick" in unknown.err


def test_the_command_line_knows_all_rules():
    assert tuple(RULES) == CLI_RULES


def test_the_command_warns_of_a_dominant_column(capfd, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("small,large\n" + "".join(f"{i % 5},{i * i * 100}\n" for i in range(20)))
    message = "'large' has the largest; if their units differ, --scale unit"
    assert message in run_command(capfd, "choose", path).err
    assert message in run_command(capfd, "choose", path, "--json").document["notes"][0]
    assert run_command(capfd, "choose", path, "--scale", "unit").err == ""
