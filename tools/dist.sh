#!/bin/sh
# Build the wheel and the source distribution of pellucid and of pellucid-lab: tools/dist.sh PYTHON FOLDER
# PYTHON is that of an environment with hatchling. What was in FOLDER before is removed.
set -eu

python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
rm -f "$folder"/pellucid*.whl "$folder"/pellucid*.tar.gz
"$python" -m hatchling build -d "$folder" -t sdist -t wheel
(cd lab && "$python" -m hatchling build -d "$folder" -t sdist -t wheel)
