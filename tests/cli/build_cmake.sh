# needs: cmake gcc
# examples/build-systems/cmake: with controls, without them, rebuilt when they change, checked by ctest.
. "$CASES/build_systems.inc"
configure() { CC=gcc cmake -S cmake -B "$@" > log 2>&1 || cat log; }
build() { cmake --build "$1" > log 2>&1 || cat log; "$1/program" 2> /dev/null; }
configure plain && build plain
controls 2 && configure tuned -DHONE="$HONE" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON && build tuned
grep -o -- '-O3.*kernel.rsp' tuned/compile_commands.json | sed 's/ -o .*@/ @/; s#/.*/##'
(cd tuned && ctest 2>&1 | grep -E '^1/1' | sed 's/ \.\..*Passed.*/ passed/')
controls 1 && build tuned
rm kernel.rsp kernel.hone && build plain
controls 2 && CC=gcc cmake -S cmake -B launched -DCMAKE_C_COMPILER_LAUNCHER="$HONE;cc;--controls;$PWD/kernel.hone;--" > log 2>&1 || cat log
build launched
