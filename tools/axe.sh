#!/bin/sh
# Download axe-core, which tests of pages run in a browser: tools/axe.sh FOLDER
set -eu

version=4.14.0
sum=f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b826035d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971
folder=$1

sh "$(dirname "$0")/ensure.sh" npm
mkdir -p "$folder"
cd "$folder"
npm pack --silent "axe-core@$version" >/dev/null
if [ "$(sha512sum "axe-core-$version.tgz" | cut -d ' ' -f 1)" != "$sum" ]; then
    echo "axe-core-$version.tgz is not the file that was expected: its checksum is another one." >&2
    rm "axe-core-$version.tgz"
    exit 1
fi
tar -xzf "axe-core-$version.tgz" --strip-components=1 package/axe.min.js package/LICENSE
rm "axe-core-$version.tgz"
