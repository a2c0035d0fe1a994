#!/usr/bin/env bash
# A version of a model is tried on live requests and promoted, one with a wrong weight is rolled back, and a person goes
# back by hand. Takes some ten seconds. usage: examples/canary/run.sh (HONE=build/hone; curl is needed)
set -eu
hone=$(realpath "${HONE:-$(dirname "$0")/../../build/hone}")
folder=$(mktemp -d)
cd "$folder"
export XDG_RUNTIME_DIR=$folder XDG_DATA_HOME=$folder # sockets and decisions of this example alone

# Three models as graph text: y = x W. `next` computes the same as `now`; `wrong` has another last weight.
model() {
    cat <<END
ir 1 # $1
symbol batch in 1..64
input %0 : f32[batch, 2] "x"
%1 = const {value = f32[2, 2] (0x1p+0, 0x1p+1, 0x0p+0, $2)}
%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[batch, 2]
output %2 "y"
END
}
model "the version in use" 0x1p+0 >now.ir
model "a new one" 0x1p+0 >next.ir
model "a wrong one" 0x1.8p+0 >wrong.ir

"$hone" serve model=now.ir --port 0 --threads 1 --json >ready.json 2>notes.txt &
server=$!
trap 'kill $server 2>/dev/null; wait; rm -rf "$folder"' EXIT
until [ -s ready.json ]; do sleep 0.1; done
port=$(sed 's/.*"port": *\([0-9]*\).*/\1/' ready.json)

# Clients that ask all the time; an answer that is not [1, 3] is noted.
touch wrong_answers ask
body='{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 1]}]}'
while [ -e ask ]; do
    curl -sS "http://127.0.0.1:$port/v2/models/model/infer" -d "$body" | grep -q '"data":\[1.0,3.0\]' || echo x >>wrong_answers
done &
clients=$!

say() { printf '\n$ %s\n' "$*"; }
quick=(--margin 50% --pairs 10 --runs 200 --elements 400) # enough to see how it goes; leave them out to be sure
say hone deploy next.ir --share 20% --wait
"$hone" deploy next.ir --port "$port" --share 20% --wait "${quick[@]}"
say hone deploy wrong.ir --shadow --wait
"$hone" deploy wrong.ir --port "$port" --shadow --wait "${quick[@]}" && exit 1
say hone rollback
"$hone" rollback --port "$port"
say hone deploy --list
"$hone" deploy --list --port "$port"
rm ask
wait $clients
printf '\n%s wrong answers; what the server said of it:\n' "$(wc -l <wrong_answers)"
cat notes.txt
[ ! -s wrong_answers ]
