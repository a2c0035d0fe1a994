# Linkers as a choice: gold leaves a note in what it links.
# needs: gcc ld.bfd ld.gold objdump
echo 'int main(void) { return 0; }' > a.c
printf 'objdump -h "$1" | grep -q gold-version && echo "cost: 1" || echo "cost: 2"\n' > cost.sh
printf 'sources: [a.c, cost.sh]\nbuild: "{cc} {flags} a.c -o {out}"\nrun: sh cost.sh {out}\ncontrols: false\nobjectives: minimize cost\nenvironment: linker\nbudget: {evaluations: 8}\n' > hone.yaml
"$HONE" space print hone.yaml | grep -o -E 'env.linker|bfd, gold'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best --json | grep -o -E '"speedup": 2|-fuse-ld=gold'
