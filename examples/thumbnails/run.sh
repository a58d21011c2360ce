#!/bin/sh
# Makes thumbnails of the pictures in images/ with redrive: ten succeed at once, three are broken
# and end dead after one run, and one, late.png, is uploaded only after the work has begun and
# succeeds on a retry. Needs Go and nothing else.
#
# Everything is built and written in REDRIVE_EXAMPLE_DIR (default: a new temporary folder); the
# checkout stays as it is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=${REDRIVE_EXAMPLE_DIR:-$(mktemp -d)}
mkdir -p "$work/bin" "$work/images"
work=$(cd "$work" && pwd)

echo "Building redrive and thumb in $work/bin"
(cd "$here/../.." && go build -o "$work/bin/" ./cmd/redrive ./examples/thumbnails/thumb)

cp "$here"/images/* "$work/images/"
cp "$here/redrive.yaml" "$here/policy.yaml" "$here/jobs.jsonl" "$work/"
rm -f "$work/images/late.png" # left by an earlier run in the same folder

cd "$work"
PATH=$work/bin:$PATH

echo
redrive enqueue --config redrive.yaml --file jobs.jsonl

# The late upload, once its job has failed and waits for its retry. Copied beside its place and then
# renamed, so that no worker sees half of it.
(
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		redrive jobs list --config redrive.yaml --state retrying | grep -q thumbnail && break
		sleep 1
	done
	cp "$here/upload/late.png" images/.late.png.part
	mv images/.late.png.part images/late.png
) &
upload=$!
trap 'kill "$upload" 2>/dev/null || true' EXIT

echo
redrive work --config redrive.yaml --until-idle
wait "$upload"
trap - EXIT

echo
redrive jobs list --config redrive.yaml

# The first number of the list of dead jobs is the id of one.
dead=$(redrive jobs list --config redrive.yaml --state dead | awk '$1 ~ /^[0-9]+$/ { print $1; exit }')
if [ -z "$dead" ]; then
	echo "run.sh: expected dead jobs (truncated.png, notes.jpg, empty.gif), found none" >&2
	exit 1
fi

echo
echo "Why is job $dead dead?"
redrive explain --config redrive.yaml "$dead"

echo
echo "Thumbnails: $work/out/images"
ls "$work/out/images"
