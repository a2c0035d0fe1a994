#!/usr/bin/env bash
# keep.sh PROGRAM: runs a test and keeps its points in the folder $HONE_TEST_SAID, where tests/run.sh finds what failed.
#
# They reach prove when the program has ended, and from this process: one that a test leaves behind holds no pipe that
# prove waits for. A program that does not end within HONE_TEST_LIMIT seconds is ended; prove calls it dubious, status 124.
# The processor time of the program and its children goes to $HONE_TEST_SAID.cpu: prove's own figures hold those of its neighbours.
name=$(basename "$1")
said=$HONE_TEST_SAID/$name.$$
TIMEFORMAT="%U %S %R $name"
{ time timeout --kill-after=20 "$HONE_TEST_LIMIT" "$1" >"$said" 2>&3 </dev/null; } 3>&2 2>>"$HONE_TEST_SAID.cpu"
status=$?
[ "$status" -ne 124 ] || echo "not ok 999 - $name ends within $HONE_TEST_LIMIT s" >>"$said"
cat "$said"
exit "$status"
