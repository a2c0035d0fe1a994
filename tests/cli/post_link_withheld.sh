# BOLT that cannot: the stage is withheld, with the reason, or the candidate fails. Tools that lie stand in for it.
# needs: gcc
cat > a.c <<'C'
#include <stdio.h>
int main(void) { puts("right"); return 0; }
C
w() { printf 'name: pw\nsources: [a.c]\nbuild: "%s"\nrun: "{out}"\ncompilers: [gcc]\nbaseline: -O2\ncontrols: false\nobjectives: minimize file_size\npost_link: bolt\nbudget: {evaluations: 6}\n' "${1-{cc\} {flags\} a.c -o {out\}}"; }
w > hone.yaml
mkdir bin
cat > bin/llvm-bolt <<'S'
#!/bin/sh
case "$*" in
--version) echo "LLVM version 99.1"; exit;;
--help) printf '%s\n' '  --icf            - fold functions' '  --reorder-blocks=<value>  - layout' '    =ext-tsp   - good' '    =reverse  - bad'; exit;;
*-instrument*)
    . "$(dirname "$0")/instrument"
    printf '#!/bin/sh\necho 1 > "$(dirname "$0")/prog.fdata.$$"\nexec "$(dirname "$0")/prog.linked"\n' > prog; chmod +x prog;;
*) . "$(dirname "$0")/optimise"; cp prog.linked prog;;
esac
S
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; echo 1 > "$2"\n' > bin/merge-fdata
chmod +x bin/*; PATH=$PWD/bin:$PATH
lie() { printf '%s\n' "$1" > bin/instrument; printf '%s\n' "$2" > bin/optimise; echo "# $3" >> bin/llvm-bolt; rm -rf .hone; }
t() { "$HONE" tune --no-canary --seed 1 2>&1 | grep -E 'withheld|^failures|^result' | sed -E 's/[0-9]+\.[0-9]+×/N×/'; }
echo "== an honest one"
lie : : 0; "$HONE" space print hone.yaml | grep -o 'post.*type: [a-z]*.*\(off\|\]\)' | sed 's/{.*values: //'; t
echo "== one that crashes while it instruments"
lie 'echo "BOLT-ERROR: no relocations" >&2; kill -SEGV $$' : 1; t
"$HONE" space count hone.yaml --json | grep '"parameters"'
echo "== what was seen is remembered, and said again"
"$HONE" tune --no-canary --new 2>&1 | grep -c withheld
echo "== one that leaves a program that does not train"
lie 'printf "#!/bin/sh\nexit 3\n" > prog; chmod +x prog; exit 0' : 2; t
echo "== one whose program writes no profile"
lie 'cp prog.linked prog; exit 0' : 3; t
echo "== one that crashes with an option"
lie : 'case "$*" in *-icf*) kill -SEGV $$;; esac' 4; t
echo "== one whose smaller program says something else"
lie : 'case "$*" in *-icf*) printf "#!/bin/sh\necho wrong\n" > prog; chmod +x prog; exit 0;; esac' 5; t
echo "== no such tool"
mkdir few; for x in gcc as ld sh; do ln -s "$(command -v $x)" few; done
PATH=$PWD/few "$HONE" tune --no-canary --new 2>&1 | "$(command -v grep)" withheld
echo "== the other commands, where it was there once"
lie : : 6; "$HONE" tune --no-canary --seed 1 2>&1 | grep -c 'BOLT behind the linker'
echo '{"post.bolt": true, "post.bolt.icf": true}' > point.json
lie 'echo "BOLT-ERROR: no relocations" >&2; exit 1' : 7
withheld() { "$HONE" "$@" 2>&1 | grep -o -m 1 "'post.bolt.*' is withheld here: BOLT says: no relocations"; }
for x in explain validate minimize; do withheld $x --point point.json; done
echo "== what is wrong"
w 'gcc a.c -o {out}' > bad.yaml; "$HONE" space print bad.yaml
w | sed 's/post_link: bolt/post_link: bold/' > bad.yaml; "$HONE" space print bad.yaml
{ w; echo "measure: {on: 'ssh://nowhere/tmp'}"; } > far.yaml; "$HONE" space print far.yaml
w | sed 's/post_link: bolt/post_link: none/' > none.yaml; "$HONE" space count none.yaml --json | grep '"parameters"'
