#!/bin/sh
# Runs every fuzz target for the given time (default 30s).
set -eu
cd "$(dirname "$0")/.."
time=${1:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' . | grep -v '^./bench/' | sort | while read -r file; do
	package=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/^func //' | while read -r target; do
		echo "== $package $target"
		go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
	done
done
