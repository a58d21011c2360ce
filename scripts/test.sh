#!/bin/sh
# Runs all tests. Needs Go. As root on Debian it installs the other programs that the
# tests use; elsewhere they use the installed ones. The tests get a private PostgreSQL
# and a private Redis, which are removed afterwards, or the servers that
# REDRIVE_TEST_POSTGRES and REDRIVE_TEST_REDIS name. Only the output of failed tests is
# shown. Skipped tests are listed at the end. Arguments are passed to `go test`.
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
