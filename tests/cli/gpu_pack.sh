# The pack of the GPU examples: every file as hone wrote it, the index as hone would write it.
cp -r "$ROOT/examples/gpu/pack" .
cp pack/index.yaml before
"$HONE" pack build pack > table; echo "= $?"
cmp before pack/index.yaml && echo "same index"
awk 'NR > 1 { sub(".*/", "", $3); print $1, $2, $3, $4, $5 }' table
for f in pack/*.hone; do cmp "${f%.hone}.rsp" "$ROOT/examples/gpu/pack/$(basename "${f%.hone}").rsp" || echo "$f: other flags"; done
