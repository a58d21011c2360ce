#!/bin/sh
# Starts the chat system: a broker, the services, two orchestrators and the backend.
# Needs Go and Java. What it writes is in temporary folders.
set -eu
cd "$(dirname "$0")"
exec go run . run "$@"
