#!/bin/sh
# Prints the directory with openapi-python-client, a generator of Python clients, and with
# the Python that runs them. They are installed from PyPI into a cache if they are missing.
# Without them it prints the reason, and the exit code is 1, or 2 if they could not be
# fetched. REDRIVE_TEST_INSTALL=no forbids fetching. A filled cache needs no network.
set -eu

release=0.29.1

. "$(dirname "$0")/cache.sh"
place=$cache/openapi-client-$release
if [ -x "$place/bin/openapi-python-client" ]; then
	echo "$place/bin"
	exit
fi
may_fetch "it is not installed"
command -v python3 >/dev/null 2>&1 || fail 1 "it is not installed, and there is no Python; on Debian: apt-get install python3-venv"

fetching "openapi-python-client $release"
# The programs of a virtual environment have its path in them, so it is made in its place. The
# generator is the last program that pip writes; without it the environment is made again.
{ python3 -m venv --clear "$place" && timeout 300 "$place/bin/pip" install -q --disable-pip-version-check \
	"openapi-python-client==$release" && test -x "$place/bin/openapi-python-client"; } >&2 </dev/null || {
	rm -rf "$place"
	fail 2 "pip could not fetch it; on Debian: apt-get install python3-venv"
}
echo "$place/bin"
