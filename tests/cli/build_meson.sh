# needs: meson ninja gcc
# examples/build-systems/meson: with controls, without them, rebuilt when they change, checked by meson test.
. "$CASES/build_systems.inc"
configure() { CC=gcc meson setup "$1" meson > log 2>&1 || cat log; }
build() { ninja -C "$1" > log 2>&1 || cat log; "$1/program" 2> /dev/null; }
configure plain && build plain
controls 2 && configure tuned && build tuned
ninja -C tuned -n | tail -n 1
controls 1 && build tuned
meson test -C tuned 2>&1 | grep -E '^1/1' | sed 's/ *[0-9.]*s$//'
