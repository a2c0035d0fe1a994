#!/usr/bin/env bash
# bench/gemm.sh — products with a constant matrix, one thread, as shares of what the core does at most; beside oneDNN, in
# turns in one process with the chain of multiply-adds (and the reading of memory) that they are held against.
#
# usage: bench/gemm.sh
#   SHAPES="128x768x768 …" (MxNxK)    TIME=6 (seconds a shape)    BUILD=build    SMALL_PAGES=1 (operands in 4 KiB pages)
# Shares are medians over turns with 95 % intervals of the median. A product of one row is held against reading its matrix.
# oneDNN 2 is Debian 12's package libdnnl-dev; without it its columns stay empty, and the table says so.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/gemm.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
python=$(peers_python)
work=$OUT/gemm
mkdir -p "$work"
peer=()
if echo '#include <dnnl.h>
int main(void) { dnnl_matmul_desc_t d; (void)d; return DNNL_VERSION_MAJOR != 2; }' |
    ${CC:-cc} -x c - -o "$work/probe" -ldnnl 2>/dev/null; then
    peer=(-DWITH_DNNL -ldnnl)
fi
${CC:-cc} -std=gnu11 -O2 -march=native -ffp-contract=fast -Iinclude bench/gemm.c -o "$work/gemm" -ldl -lm "${peer[@]}"
header "Products" "bench/gemm.sh"
[ ${#peer[@]} -gt 0 ] || echo "- oneDNN 2 is missing: apt-get install libdnnl-dev"
echo
echo "| M x N x K | hone | share of the peak | oneDNN | share of the peak | peak |"
echo "|---|---|---|---|---|---|"
for shape in ${SHAPES:-128x768x768 128x3072x768 128x768x3072 1024x1024x1024 49x512x4608 3136x64x576 1x4096x4096}; do
    IFS=x read -r m n k <<<"$shape"
    "$python" - "$work/$shape.onnx" "$m" "$n" "$k" <<'PY'
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
path, (m, n, k) = sys.argv[1], map(int, sys.argv[2:])
i = np.arange(n * k, dtype=np.uint64)
w = (((i * 2654435761) & 0xFFFFFFFFFFFFFFFF) >> 8) % 1024 / np.float32(1024) - np.float32(0.5)
w = w.astype(np.float32).reshape(k, n)
f = onnx.TensorProto.FLOAT
g = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "product", [h.make_tensor_value_info("x", f, [m, k])],
                 [h.make_tensor_value_info("y", f, [m, n])], [numpy_helper.from_array(w, "w")])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
PY
    "$HONE" compile "$work/$shape.onnx" -o "$work/$shape" >/dev/null
    OMP_NUM_THREADS=1 "$work/gemm" "$m" "$n" "$k" "${TIME:-6}" "$work/$shape.so" >"$work/$shape.json"
    "$python" - "$work/$shape.json" "$m" "$n" "$k" <<'PY'
import json, math, statistics as st, sys
turns = [json.loads(line) for line in open(sys.argv[1])]
m, n, k = map(int, sys.argv[2:])
work, top, unit = (2.0 * m * n * k, "flops", "GFLOP/s") if m > 1 else (4.0 * n * k, "bytes", "GB/s")
def median(values):
    v, half = sorted(values), 0.98 * math.sqrt(len(values))
    at = lambda i: v[min(max(round(i), 0), len(v) - 1)]
    return st.median(v), at(len(v) / 2 - half), at(len(v) / 2 + half)
def cells(key):
    if not turns[0][key]:
        return ["", ""]
    share = median([work / t[key] / t[top] for t in turns])
    return [f"{st.median(work / t[key] for t in turns) / 1e9:.4g} {unit}", "%.1f %% (%.1f .. %.1f)" % tuple(100 * s for s in share)]
print("|", " | ".join([f"{m} x {n} x {k}"] + cells("hone_s") + cells("dnnl_s") + [f"{st.median(t[top] for t in turns) / 1e9:.4g} {unit}"]), "|", flush=True)
PY
done
