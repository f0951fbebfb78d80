#!/usr/bin/env bash
# The files of a release, in dist/: built twice to the same bytes, checked, and tried in an
# environment without a compiler. BIN is the folder of the programs in release/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
BIN=$(cd "${BIN:?the folder of python with release/requirements.txt}" && pwd)
WORK=$PWD/build/release
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export PATH="$BIN:$PATH"
[ -z "$(git status --porcelain)" ] || echo "Changes that are not committed are not part of the release."

# Each time the last commit, in a new folder: the sdist, and the wheel from it.
rm -rf dist "$WORK"
for time in first second; do
  echo "== The $time build"
  git clone --quiet . "$WORK/$time"
  python -m build --outdir "$WORK/$time/built" "$WORK/$time"
  mkdir "$WORK/$time/dist"
  mv "$WORK/$time"/built/*.tar.gz "$WORK/$time/dist"
  if [ "$(uname)" = Linux ]; then
    auditwheel repair --wheel-dir "$WORK/$time/dist" "$WORK/$time"/built/*.whl
  else
    mv "$WORK/$time"/built/*.whl "$WORK/$time/dist"
  fi
done

echo "== The files are the same"
checksums() { (cd "$1" && python -c "
import hashlib, pathlib
for path in sorted(pathlib.Path().iterdir()):
    print(hashlib.sha256(path.read_bytes()).hexdigest(), '', path)"); }
checksums "$WORK/first/dist" | tee "$WORK/first.sha256"
diff "$WORK/first.sha256" <(checksums "$WORK/second/dist")
mv "$WORK/first/dist" dist

echo "== Their contents"
twine check --strict dist/*
check-wheel-contents dist/*.whl
python release/check_wheel.py dist/*.whl

echo "== The wheel in an environment without a compiler"
python -m venv "$WORK/clean"
"$WORK/clean/bin/python" -m pip install --disable-pip-version-check --only-binary :all: \
  "$(ls "$PWD"/dist/*.whl)[all]"
env -i HOME="$HOME" PATH="$WORK/clean/bin" "$WORK/clean/bin/python" -I release/smoke.py
(cd "$WORK" && env -i HOME="$HOME" PATH="$WORK/clean/bin" princomp demo --force)
echo "The release is in $PWD/dist"
