"""The command line as a real process: streams, pipes, signals, help and imports."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import click
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import princomp
from command_line import (
    ARRESTS,
    ENVIRONMENT,
    ROOT,
    files_in,
    run_command,
    shell_environment,
    spawn,
)
from princomp.cli import cli

if os.name == "nt":
    pytest.skip("needs a POSIX shell, its signals and /dev/full", allow_module_level=True)

COMMANDS = dict(cli.commands.items())
FLAGS = [
    (name, flag)
    for name, command in COMMANDS.items()
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for flag in (*parameter.opts, *parameter.secondary_opts)
]


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A folder with 600,000 rows, whose scores take a while to write, and a model of them."""
    folder = tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600_000, 3))
    np.save(folder / "x.npy", X)
    princomp.PCA().fit(X[:1000]).save(folder / "m.pca")
    return folder


def test_the_command_runs_as_a_module(tmp_path):
    with spawn("fit", ARRESTS, "--scale", "unit", "-k", "0.8", "--json", cwd=tmp_path) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["n_components"] == 2
    with spawn("fit", "no.csv", "--json", cwd=tmp_path) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (66, "")
    assert json.loads(out)["error"]["exit_code"] == 66


def _run_in_shell(line, folder):
    environment = shell_environment(folder / "bin")
    args = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(args, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_reader_that_stops_early_is_no_error(big, tmp_path):
    m, x = shlex.quote(str(big / "m.pca")), shlex.quote(str(big / "x.npy"))
    done = _run_in_shell(f"princomp transform {m} {x} | head -1", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "row,PC1,PC2,PC3\n", "")
    for args in (f"show {m}", "--help"):
        done = _run_in_shell(f"princomp {args} | true", tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), args


def test_the_exit_code_does_not_depend_on_readers_of_messages(tmp_path):
    read, write = os.pipe()
    os.close(read)
    with spawn("fit", "no.csv", cwd=tmp_path, stdout=write, stderr=write) as process:
        os.close(write)
    assert process.returncode == 66


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_no_temporary_file(big, tmp_path, number, code):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("this signal is ignored, as under nohup")
    arguments = ("transform", big / "m.pca", "-", "--no-header", "-o", "out/scores.csv")
    with spawn(*arguments, cwd=tmp_path, stdin=subprocess.PIPE) as process:
        # The rows do not end before the signal, so the command cannot finish before it.
        while not list(tmp_path.glob("out/.scores*.tmp")) and process.poll() is None:
            process.stdin.write("1,2,3\n" * 10_000)
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == code
    assert files_in(tmp_path) == []
    assert out == ""
    assert "Traceback" not in err


def test_a_full_device_is_reported(big):
    args = ("transform", big / "m.pca", big / "x.npy")
    with open("/dev/full", "w") as full, spawn(*args, stdout=full) as process:
        err = process.stderr.read()
    assert process.returncode == 74
    assert "No space left on device" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    ["transform m.pca x.npy", "show m.pca", "bootstrap m.pca x.npy -n 5", "plan x.npy"],
)
def test_results_that_only_standard_output_gets_are_not_lost_silently(tmp_path, arguments):
    X = np.random.default_rng(0).standard_normal((9, 3))
    np.save(tmp_path / "x.npy", X)
    princomp.PCA().fit(X).save(tmp_path / "m.pca")
    for flags in ("", " --json"):
        done = _run_in_shell(f"princomp {arguments}{flags} >&-", tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (74, 2)
        assert "princomp: standard output is closed, so the results would be lost\n" in done.stderr
        done = _run_in_shell(f"princomp {arguments}{flags} >/dev/full", tmp_path)
        assert (done.returncode, done.stderr.splitlines()[-2]) == (
            74,
            "princomp: standard output could not be written: No space left on device",
        )


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_show_reports_a_full_device(tmp_path, flags):
    princomp.PCA().fit(np.random.default_rng(0).standard_normal((90, 60))).save(tmp_path / "m.pca")
    with (
        open("/dev/full", "w") as full,
        spawn("show", tmp_path / "m.pca", *flags, stdout=full) as process,
    ):
        err = process.stderr.read()
    assert process.returncode == 74
    assert "No space left on device" in err
    assert "Traceback" not in err


def test_characters_that_the_output_cannot_encode_are_escaped(tmp_path):
    content = "größe,😀,z\n1,2,4\n2,1,5\n3,5,1\n4,4,3\n"
    (tmp_path / "größe.csv").write_text(content, encoding="utf-8")
    code = (
        "from princomp.cli import run\n"
        "print(run(['plan', 'größe.csv', '--no-id']))\n"
        "print(run(['plan', 'größe.csv', '--no-id', '--json']))\n"
        "print(run(['fit', 'größe.csv', '--no-id', '--columns', 'größe,ñ,😀', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    *text, planned, code_of_plan, refused, code_of_fit = done.stdout.decode("cp1252").splitlines()
    assert "n \\u2265 p" in "\n".join(text)
    assert (text[-1], code_of_plan, code_of_fit) == ("0", "0", "65")
    assert "n ≥ p" in json.loads(planned)["plan"]["reasons"][0]
    assert json.loads(refused)["error"]["place"]["available"] == ["größe", "😀", "z"]


def test_times_in_nanoseconds_name_rows(tmp_path):
    """The command does not import pandas, which alone has such times."""
    times = pa.array([1, 1000, None, 3]).cast(pa.timestamp("ns"))
    table = pa.table({"t": times, "x": [1.0, 2.0, 5.0, 3.0], "y": [2.0, 0.0, 1.0, 4.0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow")
    flags = [
        [name, *id_column, "--memory", "1GB", "-o", f"of_{name}", "--force", "--json"]
        for name in ("t.parquet", "t.arrow")
        for id_column in ([], ["--id", "t"])
    ]
    code = (
        "import sys\n"
        "from princomp.__main__ import main\n"
        f"for flags in {flags}:\n"
        "    sys.argv = ['princomp', 'fit', *flags]\n"
        "    try:\n        main()\n    except SystemExit as stop:\n        assert not stop.code\n"
        "assert 'pandas' not in sys.modules"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for folder in ("of_t.parquet", "of_t.arrow"):
        assert "1970-01-01 00:00:00.000000001," in (tmp_path / folder / "scores.csv").read_text()


def test_closed_streams_are_handled(tmp_path):
    line = (
        # Standard input is closed.
        "princomp fit - <&-; echo $? >>codes; "
        # Standard output and error are closed; the model is still written.
        f"princomp fit {shlex.quote(str(ARRESTS))} -o out >&- 2>&-; echo $? >>codes"
    )
    done = _run_in_shell(line, tmp_path)
    assert (tmp_path / "codes").read_text().split() == ["65", "0"]
    assert done.stdout == ""
    assert done.stderr.count("standard input: no rows, the input is empty") == 1
    assert done.stderr.count("Hint: ") == 1
    assert "Traceback" not in done.stderr
    names = ["eigenvalues.csv", "loadings.csv", "model.pca", "scores.csv"]
    assert files_in(tmp_path / "out") == names
    for name in names[:2]:
        assert "rows" not in (tmp_path / "out" / name).read_text()


# ---- help -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *COMMANDS])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_command_and_flag(capsys, name, flag):
    from princomp.cli import run

    assert run([*([name] if name else []), flag]) == 0
    text = capsys.readouterr().out
    expected = COMMANDS if name is None else [flag for command, flag in FLAGS if command == name]
    assert [word for word in expected if not re.search(rf"(?<![\w-]){word}\b", text)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_shows_every_command_and_generates_its_flags(name):
    manual = (ROOT / "docs" / "cli.md").read_text()
    assert re.search(rf"^princomp {name}\b", manual, re.MULTILINE)
    directive = rf"^\.\. click:: princomp\.cli\.commands:{name}\n   :prog: princomp {name}$"
    assert re.search(directive, manual, re.MULTILINE)


def test_every_command_and_flag_has_help():
    for name, command in COMMANDS.items():
        assert command.help, name
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, parameter.name


def test_the_version_is_printed(capsys):
    from princomp.cli import run

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"princomp {princomp.__version__}\n"


@pytest.mark.parametrize(
    ("args", "loaded"),
    [
        (["--help"], []),
        (["fit", "--help"], []),
        (["--version"], []),
        (["fit", "-k", "many", "x.csv"], []),
        (["fit", str(ARRESTS), "--json", "--force"], ["numpy", "pyarrow", "scipy"]),
    ],
)
def test_commands_import_only_needed_libraries(tmp_path, args, loaded):
    code = (
        "import sys\n"
        "from princomp.__main__ import main\n"
        f"sys.argv = ['princomp', *{args!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert 'pandas' not in sys.modules\n"
        "heavy = {'numpy', 'pyarrow', 'sklearn', 'scipy', 'polars', 'matplotlib', 'torch'}\n"
        "heavy |= {'h5py', 'zarr', 'rich.console'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == str(loaded)


def test_the_working_folder_may_be_deleted(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    out, table = shlex.quote(str(tmp_path / "out")), shlex.quote(str(ARRESTS))
    done = _run_in_shell(f"cd {folder}; rmdir {folder}; princomp fit {table} -o {out}", tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out" / "scores.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit", "x.csv"), 66, "x.csv: no such file"),
        (("report", "x.csv"), 66, "x.csv: no such file"),
        (("fit", ARRESTS), 73, "could not be written"),
        (("plan", ARRESTS, "x.csv"), 66, "x.csv: no such file"),
        (("fit", ARRESTS, "-o", "OUT", "--checkpoint", "c"), 73, "c: could not be written"),
    ],
)
def test_relative_names_in_a_deleted_folder_are_refused(
    arguments, code, message, capfd, tmp_path, monkeypatch
):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    arguments = [tmp_path / "out" if word == "OUT" else word for word in arguments]
    done = run_command(capfd, *arguments)
    assert done.code == code
    assert message in done.err
    assert "folder" in done.err.split("Hint: ")[1]
