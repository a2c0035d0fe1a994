# Models of every architecture that is small enough to write here; the files say what they hold.
"$HONE" gen --list; echo "= $?"
"$HONE" gen --list --json | python3 -c 'import json, sys; print([a["name"] for a in json.load(sys.stdin)])'
"$HONE" gen mlp mlp.onnx; echo "= $?"
"$HONE" gen mlp again.onnx; cmp mlp.onnx again.onnx && echo "the same arguments give the same file"
"$HONE" gen mobilenet_v2 mobile.onnx --batch 2 --json | python3 -m json.tool
"$HONE" gen minilm_l6 minilm.onnx --dynamic
"$HONE" gen mlp /dev/stdout 2> words | cmp - mlp.onnx && cat words
echo "== what is refused"
"$HONE" gen resnet5 out.onnx; echo "= $?"
"$HONE" gen nonsense out.onnx; echo "= $?"
"$HONE" gen mlp; echo "= $?"
"$HONE" gen mlp out.onnx --batch 0; echo "= $?"
"$HONE" gen mlp out.onnx --dynamic --batch 2; echo "= $?"
"$HONE" gen mlp no/such/folder/out.onnx; echo "= $?"
"$HONE" gen mlp /dev/full; echo "= $?"
rm words; ls
