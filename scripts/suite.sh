#!/bin/sh
# Runs the tests of all modules, where it is: scripts/test.sh puts servers beside
# it. The first argument is the program testreport, the second what was found
# missing, and the others go to `go test`. The store of PostgreSQL is tested on
# other versions of it, too, each time beside a server of its own.
set -eu
testreport=$1
note=$2
shift 2

status=0
for module in bench bench/riverpg examples/ocr retry/sdk/*; do
	echo "== tests of the $module module"
	if ! (cd "$module" && go vet ./... && go test -timeout 10m ./...); then
		status=1
		note="FAILED: the $module module, see above${note:+
$note}"
	fi
done

# Of the tests of the store, those are left out that take long and do not depend on
# the server: bounds of redrive's own, and crowds.
slow='ACrowdOfProcesses|FailOverOfFastTransactions|Conformance/X3_|Conformance/I25_FilterEquals'
for version in $(sh scripts/postgres.sh); do
	bin=$(REDRIVE_TEST_INSTALL=no sh scripts/postgres.sh "$version") || continue # the note says why
	echo "== tests on $("$bin/postgres" --version)"
	REDRIVE_TEST_POSTGRES="" REDRIVE_TEST_POSTGRES_BIN=$bin REDRIVE_TEST_POSTGRES_FSYNC=off \
		go test -count=1 -timeout 10m "$@" -skip "$slow" ./store/postgres || {
		status=1
		note="FAILED: the tests on PostgreSQL $version, see above${note:+
$note}"
	}
done

# The race detector needs a C compiler. SQLite itself, C made Go, is not for it to
# judge and three times as slow under it; its driver and all that calls it stay.
race=""
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then
	race=-race
	plain='-race=false -d=checkptr=0'
	set -- -race "-gcflags=modernc.org/sqlite/lib=$plain" "-gcflags=modernc.org/libc=$plain" \
		"-gcflags=modernc.org/libc/...=$plain" "$@"
fi

echo "== tests of the module $race"
"$testreport" -note "$note" go test -json -timeout 20m "$@" ./... || status=1
exit "$status"
