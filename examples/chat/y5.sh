#!/bin/sh
# Plays failures, kills and the work of an operator on the chat system, and says what
# happened. With a Python that has aiokafka (REDRIVE_PYTHON names one), that produces.
set -eu
cd "$(dirname "$0")"
exec go run . y5 "$@"
