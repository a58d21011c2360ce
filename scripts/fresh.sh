#!/bin/sh
# Clones the committed state into a new folder and runs the demo, an example and the tests there
# as a new user would, with an empty home and empty module and build caches. It times
# each command, and fails if the demo takes more than 60 s with all that it downloads and compiles.
# It keeps the settings for Go's module proxy and npm's registry. "sh scripts/fresh.sh demo" runs only the demo.
set -eu
cd "$(dirname "$0")/.."
source=$(pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/home"
proxy=$(go env GOPROXY)
sumdb=$(go env GOSUMDB)
registry=$(npm config get registry 2>/dev/null || echo "")

git clone -q "$source" "$work/redrive"
cd "$work/redrive"

run() {
	echo "== $*"
	start=$(date +%s)
	env -i PATH="$PATH" HOME="$work/home" GOPROXY="$proxy" GOSUMDB="$sumdb" npm_config_registry="$registry" GOFLAGS=-buildvcs=false "$@"
	took=$(($(date +%s) - start))
	echo "== took $took s: $*"
}

run go run ./cmd/demo
if [ "$took" -gt 60 ]; then
	echo "the first demo took $took s, more than 60" >&2
	exit 1
fi
[ "${1:-}" != demo ] || exit 0
run sh examples/thumbnails/run.sh
run make test
if [ -n "$(git status --porcelain)" ]; then
	echo "the commands left the clone changed:" >&2
	git status --short >&2
	exit 1
fi
