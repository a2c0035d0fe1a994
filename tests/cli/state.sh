# State: --state makes inputs and outputs stay in an instance; hone run carries it from file to file.
# quick
cat > count.ir <<'END'
ir 1
symbol n in 0..
input %x : f32[n] "x"
input %old : f32[n] "total"
%new = add %x, %old
%y = neg %new
output %y "y"
output %new "total_next"
END
hone compile count.ir -t generic --no-cache --state total=total_next -o count | grep -c parity
sed -n '/^inputs/,/^sizes/p' count.manifest
echo "-- three steps"
hone run count.so --random 1 --size n=2 --state-out s.bin
hone run count.so --random 1 --size n=2 --state-in s.bin --state-out s.bin
hone run count.so --random 1 --size n=2 --state-in s.bin
wc -c < s.bin
echo "-- the program"
hone ir --program -t generic count.ir --state 'total=total_*' 2>&1
hone ir --program -t generic count.ir --state total=total_next | sed -n '/^state/,$p'
echo "-- verified and timed"
hone verify count.ir -t generic --no-cache --state total=total_next --size n=3 --inputs 1 --steps 3
hone bench count.ir -t generic --state total=total_next --size n=3 --steps 2 --time 1ms --threads 1 --json | grep -c '"who"'
echo "-- wrong"
head -c 100 s.bin > cut.bin
hone run count.so --random 1 --size n=2 --state-in cut.bin
head -c 260 s.bin > cut.bin
hone run count.so --random 1 --size n=2 --state-in cut.bin
hone run count.so --random 1 --size n=3 --state-in s.bin
hone run count.ir --random 1 --size n=3 --state-in s.bin
hone compile count.ir --state total --no-parity -o x
hone compile count.ir --state total=total_next --specialize total=2 --no-parity -o x
