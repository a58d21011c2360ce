#!/bin/sh
# Clones the committed state into a new folder and runs the README's two commands there
# as a new user would, with an empty home and empty module and build caches. It times
# both commands. It keeps the settings for Go's module proxy and npm's registry.
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
	echo "== took $(($(date +%s) - start)) s: $*"
}

run go run ./cmd/redrive demo
run sh examples/thumbnails/run.sh
run make test
if [ -n "$(git status --porcelain)" ]; then
	echo "the commands left the clone changed:" >&2
	git status --short >&2
	exit 1
fi
