#!/bin/sh
# Runs all tests. Needs Go; everything else is found out. Of a test that fails its
# own output is shown; what had to be skipped is said at the end. Arguments go to
# `go test`.
set -eu
cd "$(dirname "$0")/.."

# The race detector needs a C compiler.
race=-race
note=""
if ! { [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; }; then
	race=""
	note="SKIPPED: the race detector (no C compiler; on Debian: apt-get install gcc libc6-dev)"
fi

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT

echo "== build and vet"
go build ./...
go vet ./...
go build -o "$tools/testreport" ./scripts/testreport

status=0
for module in bench examples/ocr retry/sdk/*; do
	echo "== tests of the $module module"
	if ! (cd "$module" && go vet ./... && go test -timeout 10m ./...); then
		status=1
		note="FAILED: the $module module, see above${note:+
$note}"
	fi
done

echo "== tests of the module $race"
"$tools/testreport" -note "$note" go test -json $race -timeout 20m "$@" ./... || status=1
exit "$status"
