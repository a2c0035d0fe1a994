# The search is told which programs are equal: of more than a hundred parameters it clears those that do nothing, and
# sweeps them.
# needs: gcc
python3 - > a.c <<'P'
parts = "".join(f"#if P{i} > 1\n    + x * {i + 3} % {i + 7}\n#endif\n" for i in range(0, 110, 10))
print("int f(int x) {\n    return x\n" + parts + "    ;\n}")
P
python3 - > hone.yaml <<'P'
print("""hone: 1
name: neutral
controls: false
sources: [a.c]
build: "gcc {defines} -c a.c -o {out}"
objectives: minimize code_size
parameters:""")
for i in range(110):
    print(f"  P{i}: {{type: int, range: [0, 3], default: 2}}")
P
"$HONE" tune hone.yaml --evals 80 --seed 1 -q --json > out.json; echo "exit $?"
"$HONE" results --all --json > trials.json
python3 - <<'P'
import json
trials = [t for t in json.load(open("trials.json"))["trials"] if t["phase"] == "search"]
origins = {t["origin"] for t in trials}
print(len(trials), "sweep" in origins, "mutant" in origins)
P
