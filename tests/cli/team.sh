# hone team: controls files and stores of several folders; what is stale, not validated, damaged; page and JSON.
. "$CASES/bowl.inc"
look() { python3 - <<'P'
import json
r = json.load(open("out.json"))
print(r["programs"], r["machines"], r["results"], {k: n for k, n in r["states"].items() if n}, [(g["metric"], g["holding"]) for g in r["groups"]])
for x in r["rows"]:
    print(x["program"], x["state"], x["why"], x["where"], x["session"], *[g["objective"] + " " + str(g["gain"] or g["claimed"]) for g in x["goals"]])
for p in r["problems"]:
    print(p["where"] + ":", p["text"][:70])
P
}
mkdir a empty
mv bowl.* hone.yaml a/; rm -rf .hone validated
echo "== one that holds"
"$HONE" team a --json > out.json; echo "= $?"; look
"$HONE" team a | tail -1; echo "= ${PIPESTATUS[0]}"
echo "== stale, not validated, damaged"
cp -r a b; echo '#define BEST 8' > b/bowl.h; rm -rf b/.hone
mkdir c; cp a/hone.yaml a/bowl.c a/bowl.h c/
(cd c && "$HONE" tune -q --no-canary --evals 4 --seed 1 > /dev/null 2>&1; echo "tuned $?")
mkdir -p d/.hone d/.hidden; echo junk > d/.hone/hone.db; head -c 500 a/bowl.hone > d/cut.hone; cp a/bowl.hone d/.hidden/
cp a/bowl.hone d/edited.hone; cp a/bowl.rsp d/edited.rsp; sed -i 's/TILE: 6/TILE: 5/' d/edited.hone
"$HONE" team a b c d --json > out.json; echo "= $?"; look
"$HONE" team . --out team.html > text; echo "= $?"
sed -n '/^b.bowl/,$p' text; grep -c '^bowl ' text
head -c 15 team.html; echo; grep -c '"programs":1' team.html
echo "== a file alone, and the same twice"
"$HONE" team a/bowl.hone a --json > out.json; look
echo "== nothing"
"$HONE" team empty; echo "= $?"
"$HONE" team nowhere; echo "= $?"
"$HONE" team a --out /nowhere/team.html; echo "= $?"
