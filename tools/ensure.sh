#!/bin/sh
# Make a program or a library available to the tests: tools/ensure.sh postgres|mariadb|chromium|openmp|npm|poppler
# It is installed with Debian's packages where that is possible; without it the tests that need it are skipped.
set -eu

have_postgres() {
    if command -v initdb >/dev/null 2>&1 && command -v pg_ctl >/dev/null 2>&1; then
        return 0
    fi
    # The tests look in Debian's versioned directory too.
    for dir in /usr/lib/postgresql/*/bin; do
        if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; then
            return 0
        fi
    done
    return 1
}

have_mariadb() {
    command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ]
}

have_chromium() {
    for program in "${CHROMIUM:-}" chromium chromium-browser google-chrome chrome; do
        if [ -n "$program" ] && command -v "$program" >/dev/null 2>&1; then
            return 0
        fi
    done
    return 1
}

# LightGBM brings everything but this.
have_openmp() {
    [ "$(uname)" != Linux ] || [ -n "$(find /lib /usr/lib /usr/local/lib -name 'libgomp.so.1' 2>/dev/null | head -n 1)" ]
}

have_npm() {
    command -v npm >/dev/null 2>&1
}

have_poppler() {
    command -v pdftoppm >/dev/null 2>&1
}

case "${1:-}" in
    postgres) package=postgresql ;;
    mariadb) package=mariadb-server ;;
    chromium) package=chromium ;;
    openmp) package=libgomp1 ;;
    npm) package=npm ;;
    poppler) package=poppler-utils ;;
    *) echo "usage: tools/ensure.sh postgres|mariadb|chromium|openmp|npm|poppler" >&2; exit 2 ;;
esac

if "have_$1"; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing $package for the tests that need it"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package"; } >"$log" 2>&1 \
        && "have_$1"; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
fi

echo "The package '$package' was not found: the tests that need it will be skipped. Install it to run them."
