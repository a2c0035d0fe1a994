# Products in 8 bits: ranges from samples, the file that says which, its error, and what is refused.
# quick
cat > m.ir <<'IR'
ir 1
input %0 : f32[1, 64] "x"
%1 = iota {shape = [64, 64], axis = 0, dtype = f32}
%2 = iota {shape = [64, 64], axis = 1, dtype = f32}
%3 = mul %1, %2
%4 = sin %3
%5 = contract %0, %4 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
output %5 "y"
IR
cat > samples.ir <<'IR'
ir 1
input %0 : f32[8, 64] "z"
%1 = neg %0
output %1 "x"
IR
plain() { sed -E -e 's/[0-9.e+-]+ %/N %/g' -e '/^(time|target|memory|kernels|parity)/d'; }
hone run samples.ir -t generic --random 7 -o x.npz | cut -c 1-11
hone compile m.ir --precision int8
hone compile m.ir --precision int9
hone compile m.ir --data x.npz
hone compile m.ir -t generic --precision int8 --data x.npz -o out 2>&1 | plain
grep -v -e scale -e data out.precision | sed -E 's/"[0-9a-f]{32}"/HASH/'
grep -A 7 ^precision out.manifest | grep -v data
mkdir folder
cp x.npz folder/a.npz
cp x.npz folder/b.npz
hone verify m.ir -t generic --precision out.precision --data folder | plain
hone verify m.ir -t generic --precision int8 --calibrate entropy --data x.npz --json | grep -v -e rms -e largest
hone verify m.ir -t generic --precision out.precision
hone run m.ir -t generic --precision out.precision --random 1 | cut -c 1-11
hone run out.so --precision out.precision --random 1
hone compile samples.ir -t generic --precision out.precision
hone compile samples.ir -t generic --precision int8 --data x.npz
hone compile m.ir --precision mixed
hone compile m.ir --precision int8 --data x.npz --max-error 1%
hone compile m.ir --metric true
hone compile m.ir --prove-latency
hone compile m.ir --precision mixed --data x.npz --max-error much
hone tune m.ir --precision mixed
hone tune m.ir --data x.npz
hone tune m.ir --precision int8 --data x.npz --max-error 1%
hone tune m.ir --precision int7 --data x.npz
hone tune m.ir --precision mixed --data x.npz --engine fast
hone tune m.ir --output a
hone tune m.ir --precision out.precision --output a
hone tune m.ir --precision int8 --data x.npz --output nowhere/a
hone tune m.ir --precision out.precision --prove-latency
hone tune x.yaml --precision int8 --data x.npz
printf 'GGUF....' > m.gguf
hone tune m.gguf --precision int8 --data x.npz
hone compile m.ir --precision mixed --data x.npz --metric 'cat nowhere; false' 2>&1 | tail -1
hone compile m.ir --precision mixed --calibrate mse --data x.npz --max-error 2% -o mixed | grep ^front
grep kind mixed.precision
grep -c ranges mixed.front
hone compile m.ir --precision mixed --calibrate mse --data x.npz --max-error 0 --front mixed.front -o mixed --json | grep -A 7 -e '"front"' -e '"chosen": true' | grep -v -e latency -e error
hone tune m.ir --precision mixed --calibrate mse --data x.npz --max-error 2% --output mixed --budget 2s --threads 1 --winners w.db -q | grep -e ^precision -e ^front -e ^next
hone tune m.ir --precision bf16 --budget 1s --threads 1 --winners w.db -q | grep -e ^precision -e ^next
cut -c 1-21 m.precision | grep -e kind -e type
echo 3 > mixed.front
hone compile m.ir --precision mixed --data x.npz --front mixed.front
sed -i 's/f32.8, 64/f32[7, 64/' samples.ir
hone run samples.ir -t generic --random 7 -o few.npz | cut -c 1-11
hone compile m.ir --precision mixed --data few.npz
sed 's/= sin/= cos/' m.ir > other.ir
hone compile other.ir -t generic --precision out.precision
sed -i 's/zero: .*/zero: 300/' out.precision
hone compile m.ir -t generic --precision out.precision
hone run samples.ir -t generic --random 7 -o y.npy | cut -c 1-11
hone compile m.ir -t generic --precision int8 --data m.ir
