#!/usr/bin/env bash
# keep.sh PROGRAM: runs a test and keeps a copy of its points in the folder $HONE_TEST_SAID; tests/run.sh shows those that failed.
set -o pipefail
"$1" | tee "$HONE_TEST_SAID/$(basename "$1").$$"
