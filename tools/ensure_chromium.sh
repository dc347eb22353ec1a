#!/bin/sh
# Make a Chromium available to the tests and commands that draw figures as pictures.
set -eu

have_chromium() {
    for program in "${CHROMIUM:-}" chromium chromium-browser google-chrome chrome; do
        if [ -n "$program" ] && command -v "$program" >/dev/null 2>&1; then
            return 0
        fi
    done
    return 1
}

if have_chromium; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the tests that draw figures"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >"$log" 2>&1 \
        && have_chromium; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
fi

echo "No Chromium was found: the tests that need a browser will be skipped." \
    "Install the package 'chromium', or set CHROMIUM, to run them."
