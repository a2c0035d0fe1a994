# The pack that comes with hone: every file as hone wrote it, the index as hone would write it.
cp -r "$ROOT/examples/pack" .
cp pack/index.yaml before
"$HONE" pack build pack > table; echo "= $?"
cmp before pack/index.yaml && echo "same index"
awk 'NR > 1 { print $1, $2, $3 }' table
for f in pack/*.hone; do cmp "${f%.hone}.rsp" "$ROOT/examples/pack/$(basename "${f%.hone}").rsp" || echo "$f: other flags"; done
