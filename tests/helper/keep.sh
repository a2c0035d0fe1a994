#!/usr/bin/env bash
# keep.sh PROGRAM: runs a test and keeps its points in the folder $HONE_TEST_SAID, where tests/run.sh finds what failed.
#
# They reach prove when the program has ended, and from this process: one that a test leaves behind holds no pipe that
# prove waits for. A program that does not end within HONE_TEST_LIMIT seconds is ended; prove calls it dubious, status 124.
said=$HONE_TEST_SAID/$(basename "$1").$$
timeout --kill-after=20 "$HONE_TEST_LIMIT" "$1" >"$said" </dev/null
status=$?
[ "$status" -ne 124 ] || echo "not ok 999 - $(basename "$1") ends within $HONE_TEST_LIMIT s" >>"$said"
cat "$said"
exit "$status"
