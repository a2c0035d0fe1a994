# An opt that crashes, hangs or writes garbage for some orders of passes: those trials fail, the message names the stage, the search goes on.
# long
# needs: clang-19 opt-19
echo 'int main(int n, char **v) { (void)v; int s = n; for (int i = 0; i < n; i++) s = s * 3 + i; return s == 77; }' > a.c
mkdir bin; cat > bin/opt-19 <<S
#!/bin/sh
for word; do [ "\$last" != -o ] || out=\$word; last=\$word; done
case "\$*" in
*-print-pipeline-passes*) echo 'function(sroa,early-cse,instcombine)'; exit ;;
*'-passes=function(early-cse,instcombine)'*) kill -SEGV \$\$ ;;
*'-passes=function(sroa,instcombine)'*) sleep 1000 ;;
*'-passes=function(sroa,early-cse)'*) echo no bitcode > "\$out"; exit ;;
esac
exec $(command -v opt-19) "\$@"
S
chmod +x bin/opt-19; export PATH=$PWD/bin:$PATH
cat > hone.yaml <<'Y'
name: faults
sources: [a.c]
build: "{cc} {flags} a.c -o {out}"
run: "{out}"
compilers: [clang-19]
baseline: -O2 -march=x86-64
controls: {passes: true, lto: false}
objectives: minimize file_size
stages: {build: 6 s}
budget: {evaluations: 10}
Y
"$HONE" tune -q --no-canary --seed 1 > said 2>&1; echo "= $?"; grep -E "^(failures|trials)" said | sed "s/, [0-9]* with .*//"
"$HONE" results --failures --json > results.json; grep -o "the build of 'a.c' ([^)]*)" results.json | sort -u
