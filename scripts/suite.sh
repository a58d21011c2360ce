#!/bin/sh
# Runs the tests of all modules. scripts/test.sh starts the servers for it. The first
# argument is the program testreport, the second is a note about missing programs, and
# the others are passed to `go test`. The PostgreSQL store is also tested on other
# versions of PostgreSQL, each with a private server.
set -eu
testreport=$1
note=$2
shift 2

status=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# The tests of a module, and of the store on a version of PostgreSQL, wait most of their
# time for other processes. So the versions are tested side by side, while the modules
# are tested.
#
# On the other versions, slow tests of the store that do not depend on the version are
# left out.
slow='AFleetOfProcesses|FailOverOfFastTransactions|Conformance/X3_|Conformance/I25_FilterEquals'
versions=""
for version in $(sh scripts/postgres.sh); do
	bin=$(REDRIVE_TEST_INSTALL=no sh scripts/postgres.sh "$version") || continue # the note says why
	versions="$versions $version"
	{
		echo "== tests on $("$bin/postgres" --version)"
		REDRIVE_TEST_POSTGRES="" REDRIVE_TEST_POSTGRES_BIN=$bin REDRIVE_TEST_POSTGRES_FSYNC=off \
			go test -count=1 -timeout 20m "$@" -skip "$slow" ./store/postgres && touch "$logs/$version.passed"
	} >"$logs/$version" 2>&1 &
done

for module in bench bench/riverpg bench/powercut examples/chat examples/ocr tests/browser tests/judgement stream retry/sdk/*; do
	echo "== tests of the $module module"
	if ! (cd "$module" && go vet ./... && "$testreport" go test -json -timeout 10m ./...); then
		status=1
		note="FAILED: the $module module, see above${note:+
$note}"
	fi
done

# The comparisons of stores with each other, and with broken stores, run without the race
# detector, which makes them several times as slow. The tests of each store run the suite
# itself with it, also the checks that call a store from several goroutines.
echo "== tests of store/storetest"
"$testreport" go test -json -timeout 20m "$@" ./store/storetest || {
	status=1
	note="FAILED: the tests of store/storetest, see above${note:+
$note}"
}

wait
for version in $versions; do
	cat "$logs/$version"
	[ -e "$logs/$version.passed" ] || {
		status=1
		note="FAILED: the tests on PostgreSQL $version, see above${note:+
$note}"
	}
done

# The race detector needs a C compiler. SQLite itself, which was translated from C to
# Go, is excluded, because it is three times slower with it. Its driver is included.
race=""
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then
	race=-race
	plain='-race=false -d=checkptr=0'
	set -- -race "-gcflags=modernc.org/sqlite/lib=$plain" "-gcflags=modernc.org/libc=$plain" \
		"-gcflags=modernc.org/libc/...=$plain" "$@"
fi

echo "== tests of the module $race"
"$testreport" -note "$note" go test -json -timeout 20m "$@" $(go list ./... | grep -v /store/storetest\$) || status=1
exit "$status"
