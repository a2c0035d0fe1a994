# hone ir: text in, text out; passes; statistics; side files; what is wrong is told.
cat > g.ir <<'END'
ir 1
symbol n in 1..64
input %x : f32[n, 4] "x"
%one = const {value = f32[] (1)}
%ones = broadcast %one {shape = [n, 4], map = []}
%a = mul %x, %ones          # goes
%t = transpose %a {perm = [1, 0]}
%e = exp %t
%b = transpose %e {perm = [1, 0]}
%unused = neg %b
output %b "y"
END
hone ir g.ir
echo "-- after simplify"
hone ir g.ir --after=simplify
echo "-- after transpose"
hone ir g.ir --after=transpose -o t.ir && hone ir t.ir | cmp - t.ir && cat t.ir
echo "-- passes"
hone ir --list | head -4
hone ir --list --json | head -5
hone ir g.ir --after=dce --stats | sed -E 's/ +([0-9.]+ .?s|TIME)$/ TIME/'
echo "-- json"
hone ir t.ir --json
echo "-- weights in a file of their own"
{
    echo 'ir 1'
    printf '%%0 = const {value = u8[300] x"'
    printf 'ab%.0s' $(seq 300)
    printf '"}\noutput %%0 "w"\n'
} > w.ir
mkdir side
hone ir w.ir --weights side/w.bin -o side/w.ir
cat side/w.ir
wc -c < side/w.bin
hone ir side/w.ir | cmp - w.ir && echo same
truncate -s 100 side/w.bin
hone ir side/w.ir
echo "-- wrong"
hone ir
hone ir g.ir --after=simplfy
echo 'ir 1
input %0 : f32[2] "x"
input %1 : f32[3] "y"
%2 = add %0, %1' > bad.ir
hone ir bad.ir
hone ir missing.ir
hone ir missing.onnx
echo "-- program"
cat > p.ir <<'END'
ir 1
symbol n in 1..64
input %x : f32[n, 4] "x"
%a = neg %x
%b = transpose %a {perm = [1, 0]}
output %b "y"
END
hone ir --program -t generic p.ir | tee p.prog
hone ir --program p.prog | cmp - p.prog && echo same
hone ir --program p.prog --json | sed 's/"program":.*/"program": …/'
sed 's/-> (%[0-9]*)/-> (%1)/' p.prog > bad.prog
hone ir --program bad.prog
sed 's/launch/lunch/' p.prog > worse.prog
hone ir --program worse.prog
echo "-- nest"
hone ir --nest p.ir
hone ir --nest -t cuda:sm_80 p.ir
hone ir --nest -t opencl p.ir --json | sed 's/"nest":.*/"nest": …/'
hone ir --nest --kernel other p.ir
