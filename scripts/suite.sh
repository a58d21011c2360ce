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

# failed NAME: notes for the end that a part of the run failed.
failed() { echo "FAILED: $1, see above" >>"$logs/failed"; }

# modules MODULE...: the tests of these modules, one after the other.
modules() {
	for module; do
		echo "== tests of the $module module"
		(cd "$module" && go vet ./... && "$testreport" go test -json -vet=off -timeout 10m ./...) || failed "the $module module"
	done
}

# Every package is vetted with all analyzers before its tests, so go test need not vet it again.
set -- -vet=off "$@"
# Most tests of servers and processes wait, so more of them run at a time than there are processors.
wide="-parallel 3"
# The race detector needs a C compiler.
race=""
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then
	race=-race
fi

# What waits most of its time for other processes runs side by side: the other versions of
# PostgreSQL, the modules that start brokers and peers, and the other modules.
#
# The whole suite of stores runs on the installed version, with the race detector below, and on
# the newest. The versions between them run what differs from version to version: statements,
# plans, settings of the server, its functions, replication, and the migration. The newest leaves
# out slow tests that do not depend on the version.
differs='Statement|Plan|Prepared|Doctor|Migrat|Function|Setting|Standby|FailOver|Server|Listener|Schemas|Order|Deadlock'
slow='AFleetOfProcesses|FailOverOfFastTransactions|HangingServer|Conformance/X3_|Conformance/Q7_|Conformance/I25_FilterEquals'
others=$(sh scripts/postgres.sh)
for version in $others; do
	bin=$(REDRIVE_TEST_INSTALL=no sh scripts/postgres.sh "$version") || continue # the note says why
	tests=$differs
	[ "$version" = "${others##* }" ] && tests=.
	{
		echo "== tests on $("$bin/postgres" --version)"
		REDRIVE_TEST_POSTGRES="" REDRIVE_TEST_POSTGRES_BIN=$bin REDRIVE_TEST_POSTGRES_FSYNC=off \
			go test -count=1 -timeout 20m "$@" -run "$tests" -skip "$slow" ./store/postgres || failed "the tests on PostgreSQL $version"
	} >"$logs/$version" 2>&1 &
done
modules bench examples/chat stream >"$logs/waiting" 2>&1 &
modules bench/riverpg bench/powercut examples/ocr tests/browser tests/judgement retry/sdk/*

# These packages run without the race detector, which makes them several times as slow:
# the comparisons of stores with each other and with broken stores, the command's scripts,
# which start hundreds of processes, and packages that start no goroutine. The suite of
# stores and what the command calls run with it below. The stores are compared beside the others,
# because this waits for PostgreSQL.
plain="./classify ./failure ./internal/decide ./policy/preset ./tests/golden"
{
	echo "== comparison of the stores"
	"$testreport" go test -json -timeout 20m "$@" ./store/storetest || failed "the comparison of the stores"
} >"$logs/stores" 2>&1 &
echo "== tests without the race detector"
"$testreport" go test -json -timeout 20m "$@" $plain || failed "the tests without the race detector"
scripts='TestScripts|TestF11' # of ./cli; its other tests run once, with the race detector if there is one
"$testreport" go test -json -timeout 20m ${race:+-run "$scripts"} "$@" ./cli || failed "the tests of the command"

if [ -n "$race" ]; then
	# SQLite itself, which was translated from C to Go, is excluded, because it is three times slower
	# with it. Its driver is included.
	off='-race=false -d=checkptr=0'
	set -- -race "-gcflags=modernc.org/sqlite/lib=$off" "-gcflags=modernc.org/libc=$off" \
		"-gcflags=modernc.org/libc/...=$off" "$@"
	echo "== tests of the command -race"
	"$testreport" go test -json -timeout 20m "$@" -skip "$scripts" ./cli || failed "the tests of the command with the race detector"
fi

wait
for log in "$logs"/*; do
	[ "$log" = "$logs/failed" ] || cat "$log"
done
if [ -e "$logs/failed" ]; then
	status=1
	note="$(cat "$logs/failed")${note:+
$note}"
fi

echo "== tests of the module $race"
# The longest begin first, so that no processor is idle at the end.
long="./store/postgres ./store/sqlite ./server"
raced="$(go list $long) $(go list ./... | grep -vxF "$(go list $plain $long ./cli ./store/storetest ./tests/torture)")"
# The torture tests run alone, because their checker looks at times.
"$testreport" go test -json -timeout 20m "$@" ./tests/torture || status=1
"$testreport" -note "$note" go test -json -timeout 20m $wide "$@" $raced || status=1
exit "$status"
