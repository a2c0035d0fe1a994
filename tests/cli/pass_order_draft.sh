# A draft mentions the order of passes where the build calls a clang that has an opt of its version, or gcc beside such a
# clang; files may have flags of their own.
echo 'int main(void) { return 0; }' > a.c; mkdir bin
tool() { printf '#!/bin/sh\ncase "$1" in --version) echo "LLVM version %s" ;; *) %s ;; esac\n' "$2" "$3" > bin/$1; chmod +x bin/$1; }
draft() { echo "= $1"; PATH=$PWD/bin:$PATH "$HONE" init --build "$1" --no-try --force 2> /dev/null; grep passes hone.yaml || echo "not mentioned"; }
tool clang-77 77.1.7 true; tool opt-77 77.1.7 'echo "a,f(b)"'
draft "clang-77 -O2 a.c -o a"
tool clang "77.1.7, clang version 77.1.7" true
echo 'int f(void) { return 0; }' > b.c
draft "clang-77 -O2 -DA -c a.c && clang-77 -O2 -c b.c && clang-77 a.o b.o -o a"
draft "clang-77 -O2 -DA -c a.c && clang-77 -O2 -c -fsanitize=undefined b.c && clang-77 a.o b.o -o a"
draft "gcc -O2 a.c -o a"
echo "== of several the newest"
tool clang-78 "78.1.0, clang version 78.1.0" true; tool opt-78 78.1.0 'echo "a,f(b)"'
draft "gcc -O2 -DA -c a.c && gcc -O2 -c b.c && gcc a.o b.o -o a"
rm bin/*78
draft "gcc -O2 a.c -o a && cp a b"
draft "make CC=clang-77"
tool opt-77 77.1.6 'echo "a,f(b)"'
draft "clang-77 -O2 a.c -o a"
