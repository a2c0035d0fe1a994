# Files and things that are not there or not readable: the error's text, exit code and JSON.
t() { echo "\$ hone $*"; "$HONE" "$@"; echo "= $?"; }
t tune
t tune missing.yaml
t status
t results
t best
t status --workload other/hone.yaml
t space
t space print missing.yaml
t space .
t sample
t targets no-such-compiler
t replay missing.tsv.xz
mkdir folder; : > empty.yaml; printf 'a: [1, 2\n' > broken.yaml; printf '\0\1\2' > binary.yaml
t space validate empty.yaml
t space validate broken.yaml
t space validate binary.yaml
t tune folder
t tune empty.yaml
t tune broken.yaml
mkdir .hone; echo "not a database at all, but long enough to be read as one" > .hone/hone.db
t status
echo "== as JSON"
for words in "tune" "tune --evls 3" "nonsense" "results 7" "space missing.yaml" "replay missing" "--nonsense"; do
    # shellcheck disable=SC2086
    "$HONE" $words --json 2> /dev/null > out; echo "$words: exit $?"
    python3 -c 'import json; e = json.load(open("out"))["error"]; print(" ", e["id"], e["exit"], bool(e["text"]))'
done
