#!/usr/bin/env bash
# keep.sh PROGRAM: runs a test and keeps a copy of its points in the folder $HONE_KEEP; tests/run.sh shows those that failed.
set -o pipefail
"$1" | tee "$HONE_KEEP/$(basename "$1").$$"
