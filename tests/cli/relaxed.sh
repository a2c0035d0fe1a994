# needs: objdump
# --relaxed lets the compiler fuse a multiplication with the addition behind it; exact mode does not.
cat > madd.ir <<'END'
ir 1
symbol n in 1..
input %0 : f32[n] "x"
input %1 : f32[n] "y"
input %2 : f32[n] "z"
%3 = mul %0, %1
%4 = add %3, %2
output %4 "o"
END
fused() { objdump -d "$1" | grep -q vfmadd && echo "$1: fused" || echo "$1: not fused"; }
hone compile madd.ir -o exact --target x86-64-v3 >/dev/null
hone compile madd.ir -o relaxed --target x86-64-v3 --relaxed | grep parity
grep numeric ./*.manifest
fused exact.so
fused relaxed.so
hone compile madd.ir -o text/exact --emit=c --target x86-64-v3 >/dev/null
hone compile madd.ir -o text/relaxed --emit=c --target x86-64-v3 --relaxed >/dev/null
grep -rhoE -e '-ffp-contract=[a-z]+' text/exact.c; echo '--'; grep -rhoE -e '-ffp-contract=[a-z]+' text/relaxed.c
