#!/bin/sh
# Runs all tests. Needs Go. As root on Debian it installs what else they use;
# elsewhere they use what is there. They run beside a private PostgreSQL and a
# private Redis, which go with them, or those that REDRIVE_TEST_POSTGRES and
# REDRIVE_TEST_REDIS name. Of a test that fails its own output is shown; what had to
# be skipped is said at the end. Arguments go to `go test`.
set -eu
cd "$(dirname "$0")/.."

note=$(sh scripts/install.sh)
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

echo "== build and vet"
go build ./...
go vet ./...
go build -o "$tools/" ./scripts/testreport ./scripts/testservers

"$tools/testservers" sh scripts/suite.sh "$tools/testreport" "$note" "$@"
