# What is in a model, for people and for programs; a model that cannot be compiled; what is no model.
"$HONE" gen mlp mlp.onnx --dynamic >/dev/null 2>&1
"$HONE" inspect mlp.onnx
"$HONE" inspect mlp.onnx --json | python3 -c '
import json, sys
m = json.load(sys.stdin)
print(sorted(m))
print(m["supported"], m["refusals"], m["inputs"][0]["shape"][0], sum(o["count"] for o in m["operators"]) == m["nodes"])'
# The same model, its first Gemm called Gemo.
python3 - <<'PY'
data = open("mlp.onnx", "rb").read()
open("other.onnx", "wb").write(data.replace(b"\x22\x04Gemm", b"\x22\x04Gemo", 1))
open("half.onnx", "wb").write(data[:len(data) // 2])
PY
"$HONE" inspect other.onnx | tail -2
"$HONE" inspect half.onnx
"$HONE" inspect nothing.onnx
