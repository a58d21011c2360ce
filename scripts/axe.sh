#!/bin/sh
# Prints the path of axe-core, the checks of accessibility for pages in a browser. npm fetches it into
# a cache if it is missing. Without it the reason is printed, and the exit code is 1, or 2 if it could
# not be fetched. REDRIVE_TEST_INSTALL=no forbids fetching. A filled cache needs no network.
set -eu

release=4.14.1
sum=1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5

. "$(dirname "$0")/cache.sh"
place=$cache/axe-core-$release
if [ -f "$place/axe.min.js" ]; then
	echo "$place/axe.min.js"
	exit
fi
may_fetch "it is not in $cache"
command -v npm >/dev/null 2>&1 || fail 1 "it is not in $cache, and there is no npm to fetch it; on Debian: apt-get install npm"

fetching "axe-core $release"
work=$(mktemp -d "$cache/fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
(cd "$work" && timeout 120 npm pack --loglevel=error --fetch-retries=1 --fetch-timeout=30000 "axe-core@$release" >log 2>&1 </dev/null) ||
	fail 2 "npm could not fetch axe-core@$release: $(sed -n 's/^npm .* code //p' "$work/log" | grep . || echo no answer)"
mv "$work"/*.tgz "$work/package.tgz"
echo "$sum  $work/package.tgz" | sha512sum --status -c - || fail 2 "axe-core@$release has changed: its SHA-512 differs"
tar -xzf "$work/package.tgz" --no-same-owner -C "$work" package/axe.min.js
# Another run may have created the directory first.
mv -T "$work/package" "$place" 2>/dev/null || true
echo "$place/axe.min.js"
