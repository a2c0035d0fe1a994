# needs: make gcc
# examples/build-systems/make: with controls, without them, rebuilt when they change, checked.
. "$CASES/build_systems.inc"
cd make || exit 1
make -s && ./program 2> /dev/null
(cd .. && controls 2) && make | grep -o 'O2.*@.*rsp' && ./program 2> /dev/null
make -q; echo "up to date: $?"
(cd .. && controls 1) && make > /dev/null && ./program 2> /dev/null
make -s check-controls HONE="$HONE" | cut -d : -f 1,2
echo >> ../kernel.c; make -s check-controls HONE="$HONE" 2> /dev/null | head -n 1
make -s clean && make -s CC="$HONE cc --controls ../kernel.hone -- gcc" CONTROLS= && ./program 2> /dev/null
