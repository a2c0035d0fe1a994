# A draft for a Rust source, which needs no compiler.
printf 'fn main() { println!("sum: 3"); }\n' > a.rs
"$HONE" init a.rs --no-try -o - | grep -q '^compilers: \[rustc\]'
