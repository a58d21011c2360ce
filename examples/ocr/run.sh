#!/bin/sh
# Reads scanned pages through an OCR API, a language model and object storage that
# fail now and then, and shows what becomes of each. Needs Go and nothing else. Waits
# are as they are in earnest, but time passes 100 times faster.
#
# Everything is built and written in REDRIVE_EXAMPLE_DIR (default: a new temporary
# folder); the checkout stays as it is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=${REDRIVE_EXAMPLE_DIR:-$(mktemp -d)}
mkdir -p "$work/bin"
work=$(cd "$work" && pwd)

echo "Building ocr in $work/bin"
(cd "$here" && go build -o "$work/bin/" .)
rm -rf "$work/data" # left by an earlier run in the same folder

"$work/bin/ocr" -dir "$work/data" "$@"
