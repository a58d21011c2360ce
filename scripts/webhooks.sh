#!/bin/sh
# Prints the folder with the libraries of Standard Webhooks for Python and JavaScript, with which tests
# verify our signatures. They are installed from PyPI and npm into a cache if they are missing.
# Without them it prints the reason, and the exit code is 1, or 2 if they could not be
# fetched. REDRIVE_TEST_INSTALL=no forbids fetching. A filled cache needs no network.
set -eu

python=1.1.0
javascript=1.0.0

. "$(dirname "$0")/cache.sh"
place=$cache/standardwebhooks-$python-$javascript
if [ -f "$place/whole" ]; then
	echo "$place"
	exit
fi
may_fetch "they are not installed"
for program in python3 npm; do
	command -v "$program" >/dev/null 2>&1 || fail 1 "they are not installed, and there is no $program; on Debian: apt-get install python3-venv npm"
done

fetching "standardwebhooks"
# A virtual environment has its path in it, so it is made in its place. The file "whole" says that
# all is there.
{ python3 -m venv --clear "$place" && timeout 120 "$place/bin/pip" install -q --disable-pip-version-check "standardwebhooks==$python" &&
	timeout 120 npm install --silent --no-audit --no-fund --prefix "$place" "standardwebhooks@$javascript" &&
	touch "$place/whole"; } >&2 </dev/null || {
	rm -rf "$place"
	fail 2 "pip or npm could not fetch them"
}
echo "$place"
