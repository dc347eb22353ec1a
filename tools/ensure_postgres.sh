#!/bin/sh
# Make PostgreSQL's server programs available to the integration tests.
# The tests look for initdb and pg_ctl on PATH, then in Debian's versioned directory; so does this script.
set -eu

have_postgres() {
    if command -v initdb >/dev/null 2>&1 && command -v pg_ctl >/dev/null 2>&1; then
        return 0
    fi
    for dir in /usr/lib/postgresql/*/bin; do
        if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; then
            return 0
        fi
    done
    return 1
}

if have_postgres; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing PostgreSQL for the integration tests"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >"$log" 2>&1 \
        && have_postgres; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
fi

echo "PostgreSQL (initdb, pg_ctl) was not found: the tests that need a server will be skipped." \
    "Install the package 'postgresql' to run them."
