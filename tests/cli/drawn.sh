# What inputs look like that nobody gave: sizes that the model's relations allow, masks, ids.
cat > m.ir <<'IR'
ir 1
symbol batch in 0..
symbol seq in 0..
divisible seq, 48
input %0 : i64[batch, seq] "input_ids"
input %1 : i64[batch, seq] "attention_mask"
%2 = const {value = f32[6, 1] (1, 2, 3, 4, 5, 6)}
%3 = gather %2, %0 {axis = 0, batch = 0} : f32[batch, seq, 1]
%4 = reshape %3 {shape = [batch, seq]} : f32[batch, seq]
%5 = cast %1 {dtype = f32, saturate = 1} : f32[batch, seq]
%6 = mul %4, %5 : f32[batch, seq]
output %6 "y"
IR
hone verify m.ir -t generic
hone verify m.ir -t generic --size batch=3
hone verify m.ir -t generic --size batch=1,seq=48 --json | grep -v max_
hone bench m.ir -t generic --time 0.01 --json | grep -A 4 sizes
hone bench m.ir -t generic --time 0.01 --size seq=50 2>&1 | tail -1
