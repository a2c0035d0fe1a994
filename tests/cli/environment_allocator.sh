# An allocator that is loaded first; without it malloc's own tunables are active.
# needs: /usr/lib/*/libjemalloc.so.2
printf 'case "$LD_PRELOAD" in */libjemalloc.so.2) echo "cost: 1";; *) echo "cost: 2";; esac\n' > cost.sh
printf 'sources: cost.sh\nrun: sh cost.sh\ncontrols: false\nobjectives: minimize cost\nenvironment: true\nbudget: {evaluations: 12}\n' > hone.yaml
"$HONE" space print hone.yaml | grep -o -E 'env.allocator|jemalloc|arena_max.*when: [^,]*' | sed 's/:.*when/ when/'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best --json | grep -o -E '"speedup": 2|"env.allocator": "jemalloc"|libjemalloc.so.2'
