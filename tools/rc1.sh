#!/bin/sh
# Build 1.0.0rc1 from the history of this repository and install it, to compare with: tools/rc1.sh PYTHON BUILDER FOLDER
# PYTHON creates the environment FOLDER; BUILDER is that of an environment with hatchling. All other packages have the
# versions that the working tree is tested with, so that only pellucid differs. A clone without that commit says so.
set -eu

commit=4729f4a19ad6628a023d8ced27b578123c485342
root=$(cd "$(dirname "$0")/.." && pwd)
if ! git -C "$root" cat-file -e "$commit^{commit}" 2>/dev/null; then
  echo "1.0.0rc1 is left out, because this clone has no history as far as 4729f4a: run \`git fetch --unshallow\` first." >&2
  exit 3
fi
echo "Building 1.0.0rc1 from 4729f4a and installing it into $3"
builder=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git -C "$root" archive "$commit" pyproject.toml README.md LICENSE src lab/pyproject.toml lab/README.md lab/src \
  | tar -x -C "$folder"
(cd "$folder" && "$builder" -m hatchling build -d "$folder/dist" -t wheel >/dev/null)
(cd "$folder/lab" && "$builder" -m hatchling build -d "$folder/dist" -t wheel >/dev/null)
"$1" -m venv --clear "$3"
"$3/bin/python" -m pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" "$folder"/dist/*.whl
