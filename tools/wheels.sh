#!/bin/sh
# Build the wheels of both distributions and try them as a user would: tools/wheels.sh PYTHON ENVIRONMENT
# The wheels are installed into a fresh environment, with the versions of constraints.txt, and used from outside the
# checkout.
set -eu

python=$1
environment=$2
checkout=$(pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$python" -m venv --clear "$environment"
program=$(cd "$environment" && pwd)/bin/python
install() {
    "$program" -m pip install --quiet --disable-pip-version-check -c "$checkout/constraints.txt" "$@"
}

echo "Building the wheels"
"$program" -m pip wheel --quiet --disable-pip-version-check --no-deps -w "$folder/wheels" . ./lab
ls "$folder/wheels"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/pellucid/__init__.py)

echo "Installing pellucid $version and mypy into $environment"
install "$folder/wheels/pellucid-$version-py3-none-any.whl[plots]" mypy
cp tools/smoke.py "$folder"
cd "$folder"
"$program" smoke.py

# What a user's type checker sees, with py.typed in the wheel.
cat >right.py <<'END'
import optuna
import pellucid
study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
importance = pellucid.importance(study)
print(importance.notes, pellucid.stopping_verdict(study).stop)
END
cat >wrong.py <<'END'
import optuna
import pellucid
study = optuna.create_study(sampler=pellucid.BayesianSampler(seed="zero"))
print(pellucid.stopping_verdict(study).halt)
print(pellucid.no_such_name)
END
echo "Checking types"
"$program" -m mypy --strict right.py
if "$program" -m mypy --strict wrong.py >wrong.txt; then
    echo "Failed: mypy accepts a script with three mistakes"
    exit 1
fi
cat wrong.txt
for mistake in 'wrong.py:3: .*\[arg-type\]' 'wrong.py:4: .*\[attr-defined\]' 'wrong.py:5: .*\[attr-defined\]'; do
    grep -q "$mistake" wrong.txt || { echo "Failed: mypy does not report $mistake"; exit 1; }
done

echo "Installing pellucid-lab"
install "$folder/wheels/pellucid_lab-$version-py3-none-any.whl"
"$program" -m pellucid.cli bench --help >help.txt
echo "  \`pellucid bench\` is there"
