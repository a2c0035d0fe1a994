# A small recorded space, made here: time is least at x = 7, y = 3.
python3 - <<'P'
with open("hill.tsv", "w") as f:
    f.write("# kernel=hill device=none problem=small objective=time unit=ms\n")
    f.write("# values x=0|1|2|3|4|5|6|7|8|9 y=0|1|2|3|4|5|6|7\n")
    f.write("x\ty\ttime_ms\tsd_ms\tcompile_ms\tstatus\n")
    for x in range(10):
        for y in range(8):
            if (x + y) % 7 == 6: continue
            f.write(f"{x}\t{y}\t{1 + (x - 7) ** 2 / 10 + (y - 3) ** 2 / 5:.6g}\t0.01\t{100 + x}\tok\n")
P
"$HONE" replay hill.tsv --engine random --evals 30 --seeds 3 --json > out.json; echo "exit $?"
python3 - <<'P'
import json
r = json.loads(open("out.json").read())
print(list(r)[:5], list(r["fraction_of_best"]))
print(r["space"], r["engine"], 0 < r["fraction_of_best"]["25"] <= 1, r["fraction_of_best"]["50"], r["evals"], r["seeds"])
P
"$HONE" replay hill.tsv --engine random --evals 20 --seeds 2 --json --curve |
    python3 -c 'import json, sys; c = json.load(sys.stdin)["curve"]; print(len(c), c == sorted(c))'
"$HONE" replay hill.tsv hill.tsv --engine random --evals 30 --seeds 2 | awk '{ print $1, NF }'
echo "== the same seed gives the same figures"
for _ in 1 2; do "$HONE" replay hill.tsv --engine evolve --evals 25 --seeds 2 --json | sed 's/, "ask_s".*//'; done | uniq | wc -l
for more in --noisy --two-objectives "--batch 4" "--constraints unknown" "--seed 5"; do
    # shellcheck disable=SC2086
    "$HONE" replay hill.tsv --engine random --evals 25 --seeds 2 --json $more | python3 -m json.tool > /dev/null && echo "ok $more"
done
"$HONE" replay hill.tsv --engine nonsense; echo "= $?"
"$HONE" replay hill.tsv --engine random --engine-options nonsense=1 --evals 5 --seeds 1; echo "= $?"
printf 'x\ty\n1\n' > broken.tsv
"$HONE" replay broken.tsv --engine random; echo "= $?"
