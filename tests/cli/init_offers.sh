# Drafts show the parts of a search that can work here, each as a line whose '#' is taken off.
# needs: gcc
printf '#include <stdio.h>\nint main(void) { puts("sum: 3"); return 0; }\n' > a.c; echo 'int f(int x) { return x; }' > 'b c.c'
optional() { grep -oE '^#(train|environment|per_file|floating_point|parity): [^#]*' "$1"; grep -q '^#post_link' "$1" && echo "BOLT" >> bolt; }
# What is offered is valid as it stands, all of it at once (without controls, which would have to be probed).
taken() { sed -E 's/^#(train|environment|post_link|floating_point|parity):/\1:/; /^parity: exact/d' "$1" > all.yaml; echo "controls: false" >> all.yaml; "$HONE" space count all.yaml > /dev/null; echo "= $?"; }
draft() { echo "== $*"; "$HONE" init "$@" --force --no-try 2> /dev/null; optional hone.yaml; taken hone.yaml; }
draft a.c
draft --build "gcc -O2 a.c 'b c.c' -o x"
draft --build "gcc -O2 -DA -c a.c && gcc -O2 -c 'b c.c' -o b.o && gcc a.o b.o -o x"
draft --build "gcc -O2 a.c -o x && cp x y"
draft --build "gcc -O2 -c a.c"
echo "== BOLT is offered where it is installed"
here=0; if command -v llvm-bolt-19 llvm-bolt > /dev/null; then here=4; fi
[ "$(cat bolt 2> /dev/null | wc -l)" = $here ] && echo yes
