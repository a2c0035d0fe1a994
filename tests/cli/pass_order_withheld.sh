# Passes where no compiler has them, and commands that cannot be made in stages: withheld, with the reason.
# needs: gcc
echo 'int main(void) { return 0; }' > a.c
printf 'name: pw\nsources: [a.c]\nbuild: "{cc} {flags} a.c -o {out}"\nrun: "{out}"\ncompilers: [gcc]\nbaseline: -O2\ncontrols: {passes: true}\nobjectives: minimize file_size\n' > hone.yaml
"$HONE" tune --no-canary --evals 1 --seed 1 2>&1 | grep withheld
sed 's/{out}"/{out} \&\& true"/' hone.yaml > bad.yaml; "$HONE" tune bad.yaml --no-canary --evals 1 --seed 1 2>&1 | grep withheld
echo '{"passes.clang-19": true}' > point.json; "$HONE" explain -q --point point.json
sed 's/passes: true/passes: 3/' hone.yaml > bad.yaml; "$HONE" space print bad.yaml
