#!/bin/sh
# tools/pythons.sh find VERSION           print the interpreter of a version of Python, such as 3.10
# tools/pythons.sh try FOLDER VERSION...  run tools/smoke.py with several versions, which have to propose the same
# Each version has an environment in FOLDER, with pellucid and plotly from the checkout and the versions of
# constraints.txt. Versions that this machine lacks are skipped.
set -eu

# The interpreter of a version: from the search path, or one that pyenv has installed but not selected.
interpreter() {
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        number=$("$candidate" -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")' 2>/dev/null || true)
        if [ "$number" = "$1" ]; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

attempt() {
    folder=$1
    shift
    first=
    for version in "$@"; do
        if ! program=$(interpreter "$version"); then
            echo "Python $version is not installed here: its test is skipped."
            continue
        fi
        environment=$folder/python$version
        stamp=$environment/.stamp
        if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ] || [ constraints.txt -nt "$stamp" ]; then
            echo "Installing pellucid and plotly into $environment"
            "$program" -m venv --clear "$environment"
            "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plots]'
            touch "$stamp"
        fi
        "$environment/bin/python" tools/smoke.py >"$environment/smoke.txt" || { cat "$environment/smoke.txt"; exit 1; }
        cat "$environment/smoke.txt"
        digest=$(sed -n 's/^  digest of proposals: //p' "$environment/smoke.txt")
        if [ -z "$digest" ] || [ "$digest" != "${first:=$digest}" ]; then
            echo "Failed: Python $version proposes other configurations than the first one here."
            exit 1
        fi
    done
    echo "All of them propose the same configurations."
}

case "${1:-}" in
    find) shift; interpreter "$@" ;;
    try) shift; attempt "$@" ;;
    *) echo "usage: tools/pythons.sh find VERSION | try FOLDER VERSION..." >&2; exit 2 ;;
esac
