#!/bin/sh
# Runs all tests. Needs Go; everything else is found out, and what had to be
# skipped is said at the end. Arguments go to `go test`.
set -eu
cd "$(dirname "$0")/.."

# The race detector needs a C compiler.
race=-race
notes=""
if ! { [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; }; then
	race=""
	notes="$notes
SKIPPED: the race detector (no C compiler; on Debian: apt-get install gcc libc6-dev)"
fi

out=$(mktemp)
trap 'rm -f "$out"' EXIT

echo "== build and vet"
go build ./...
go vet ./...

echo "== tests of the module $race"
status=0
go test $race -timeout 20m -v "$@" ./... >"$out" 2>&1 || status=$?
grep -E '^(ok|FAIL|---? FAIL|panic:)|no test files' "$out" | grep -v 'no test files' || true
if [ "$status" -ne 0 ]; then
	echo "== what failed"
	grep -vE '^(=== (RUN|PAUSE|CONT|NAME)|    --- PASS|--- PASS|PASS$|ok  )' "$out" | tail -n 200
fi
passed=$(grep -cE '^ *--- PASS' "$out" || true)
failed=$(grep -cE '^ *--- FAIL' "$out" || true)
skipped=$(grep -cE '^ *--- SKIP' "$out" || true)
if [ "$skipped" -gt 0 ]; then
	notes="$notes
SKIPPED tests:
$(grep -E -A2 '^ *--- SKIP' "$out" | grep -v '^--$')"
fi

echo "== tests of the bench module"
(cd bench && go vet ./... && go test -timeout 10m ./...) || status=1

[ -z "$notes" ] || printf '%s\n' "$notes"
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
