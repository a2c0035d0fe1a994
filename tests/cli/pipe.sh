# Output nobody reads, output that cannot be written, locales without UTF-8, no terminal.
{ sleep 0.3; exec "$HONE" help --json; } | true; echo "reader gone: ${PIPESTATUS[0]}"
cat > one.yaml <<'Y'
hone-space: 1
parameters:
  a: {type: int, range: [1, 1000], default: 1}
Y
"$HONE" sample one.yaml -n 1000000 | head -n 1 > /dev/null; echo "reader leaves: ${PIPESTATUS[0]}"
printf 'ir 1\ninput %%0 : f32[4] "x"\n%%1 = exp %%0\noutput %%1 "y"\n' > exp.ir; mkdir tmp
for what in "run exp.ir --random 1" "bench exp.ir --time 0.01" "profile exp.ir --time 0.01" "verify exp.ir"; do
    { TMPDIR=$PWD/tmp "$HONE" $what; echo "$? by then" > status; } | true
    echo "${what%% *}: $(ls tmp | wc -l) folders left, $(cat status)"; rm status
done
"$HONE" engines > /dev/full; echo "full: $?"
"$HONE" engines --json > /dev/full; echo "full, JSON: $?"
"$HONE" engines >&-; echo "closed: $?"
echo "== colours only when asked for"
"$HONE" engines | grep -c $'\033'
"$HONE" engines --color=always | grep -c $'\033'
NO_COLOR=1 "$HONE" engines --color=always | grep -c $'\033'
"$HONE" help tune --color=always | grep -c $'\033' | awk '{ print ($1 > 3) ? "headings and names" : $1 }'
echo "== without a locale"
LC_ALL=C "$HONE" help > a; LC_ALL=C.UTF-8 "$HONE" help > b; cmp a b && echo same
