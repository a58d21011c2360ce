#!/bin/sh
# Runs the tests of all modules, where it is: scripts/test.sh puts servers beside
# it. The first argument is the program testreport, the second what was found
# missing, and the others go to `go test`.
set -eu
testreport=$1
note=$2
shift 2

# The race detector needs a C compiler.
race=-race
if ! { [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; }; then
	race=""
fi

status=0
for module in bench bench/riverpg examples/ocr retry/sdk/*; do
	echo "== tests of the $module module"
	if ! (cd "$module" && go vet ./... && go test -timeout 10m ./...); then
		status=1
		note="FAILED: the $module module, see above${note:+
$note}"
	fi
done

echo "== tests of the module $race"
"$testreport" -note "$note" go test -json $race -timeout 20m "$@" ./... || status=1
exit "$status"
