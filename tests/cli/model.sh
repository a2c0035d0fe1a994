# compile, run, verify and bench of models: files, summaries, refusals.
# quick
calm() { sed -E 's/code [0-9.]+ [A-Za-z]+/code N/; s/[0-9.]+ (ns|us|ms|s)$/T/; s/target .*/target T/; s/worst error .*/worst error E/; s/; [0-9]+ reference versions//; s/ \([0-9]+ [a-z].*\)//'; }
cat > mlp.ir <<'END'
ir 1
symbol n in 1..8
input %0 : f32[n, 4] "x"
%1 = const {value = f32[4, 3] (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
output %2 "y"
END
sed 's/4\] "x"/5] "x"/' mlp.ir > wrong.ir
echo '-- compile'
hone compile mlp.ir -o out/mlp --target generic | calm | grep -v '^time'
ls out
grep -E '^(model|target|numeric|sizes|weights|  - name|    (shape|parity))' out/mlp.manifest
cat > pick.ir <<'END'
ir 1
symbol n in 1..
symbol m in 1..
symbol k in 1..
symbol j in 1..
input %0 : f32[n, m] "x"
input %1 : i64[k, j] "at"
%2 = gather_elements %0, %1 {axis = 1}
output %2 "y"
END
hone compile pick.ir -o pick.so --target generic | grep parity; grep -c '    inputs: [1-9]' pick.manifest
cat > positions.ir <<'END'
ir 1
input %0 : i64[40] "before"
input %1 : i64[40] "mask"
input %2 : f32[30, 4] "table"
%3 = const {value = i64[1] (1)}
%4 = mul %0, %1
%5 = broadcast %3 {shape = [40], map = [0]}
%6 = add %4, %5
%7 = gather %2, %6 {axis = 0}
%8 = exp %7
output %8 "y"
END
hone compile positions.ir -o positions --target generic | grep parity
echo '-- wrong models'
hone compile wrong.ir
hone compile missing.onnx
hone compile mlp.ir --target z80
echo '-- run'
hone run out/mlp.so --random 1 --size n=2 -o y.npz --json
hone run out/mlp.so --random 1 --size n=9
hone run out/mlp.so y.npz
hone run mlp.ir --random 3 -o y.npy | cut -d' ' -f1-3
head -c 6 y.npy | tail -c 5; echo
hone run out/mlp.so nothing.npy
: > empty.npy; hone run out/mlp.so empty.npy
cp out/mlp.so alone.so; hone run alone.so --random 1
cat > types.ir <<'END'
ir 1
input %0 : f32[3] "x"
%1 = cast %0 {dtype = f64}
%2 = cast %0 {dtype = i32}
%3 = cast %0 {dtype = bool}
%4 = cast %0 {dtype = f16}
%5 = cast %0 {dtype = u8}
output %1 "f64"
output %2 "i32"
output %3 "bool"
output %4 "f16"
output %5 "u8"
END
cat > three.ir <<'END'
ir 1
%0 = const {value = f32[3] (1.5, 0, 300)}
output %0 "x"
END
hone run three.ir -o x.npy
hone compile types.ir -o types --target generic > made
hone run types.so x.npy
hone run three.ir -o three.npz > made; hone run types.so -i three.npz -o types.npz > made
cat > double.ir <<'END'
ir 1
%0 = const {value = f64[3] (1, 2, 3)}
output %0 "x"
END
hone run double.ir -o double.npy > made; hone run types.so double.npy
sed 's/<f8/>f8/' double.npy > big_endian.npy; hone run types.so big_endian.npy
hone compile mlp.ir --cc nosuchcc -o none/mlp --no-cache; ls none
echo '-- verify'
hone verify mlp.ir --size n=3 | calm
cat > half.ir <<'END'
ir 1
input %0 : f32[3, 4] "x"
%1 = cast %0 {dtype = f16}
%2 = exp %1
output %2 "y"
output %0 "kept"
END
hone verify half.ir | grep -o ' through.*'
hone verify half.ir --rtol 0.01 | grep -c through
hone verify half.ir --json | grep -E '"(through|tolerance)'
cat > nan.ir <<'END'
ir 1
input %0 : f32[3, 4] "x"
%1 = sqrt %0
%2 = exp %0
%3 = neg %2
%4 = sqrt %3
output %1 "some"
output %4 "all"
END
hone verify nan.ir | grep -o ';.*NaN.*'
hone verify nan.ir --json | grep -E '"n_(nan|elements)'
hone verify mlp.ir --against onnxruntime
hone verify mlp.ir --rtol 1e-3x
hone verify mlp.ir --atol nan
hone verify mlp.ir --symbol n=3
hone compile mlp.ir --symbol n=3 -o none/mlp; ls none
hone ir mlp.ir --symbol n=99
hone verify mlp.ir out/mlp.so
echo '-- bench'
hone bench out/mlp.so --threads 1 --time 0.05 | head -2 | tr -s ' '
hone bench out/mlp.so --against onnxruntime
hone bench mlp.ir --threads 1 --time 0.05 --json | grep '"model"'
echo '-- sizes that do not fit together'
cat > cache.ir <<'END'
ir 1
symbol past in 0..64
symbol seq in 1..64
symbol total in 1..64
equal past + seq, total
input %0 : f32[past, 2] "kept"
input %1 : f32[seq, 2] "new"
input %2 : f32[total, 2] "bias"
%3 = concat %0, %1 {axis = 0}
%4 = add %3, %2
output %4 "y"
END
hone compile cache.ir -o cache --target generic --no-parity | head -1
hone bench cache.so --threads 1 --time 0.05 | head -1
hone bench cache.so --threads 1 --time 0.05 --size total=64 --json | grep sizes
hone bench cache.so --size past=1,seq=1,total=1
hone run cache.so --random 1 --size total=5
hone run cache.so --random 1 --size past=3,seq=2,total=5 | cut -d' ' -f1-3
