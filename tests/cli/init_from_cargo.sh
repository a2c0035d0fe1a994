# A draft from a Cargo project.
# needs: cargo rustc gcc
mkdir -p src/bin; printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
printf 'fn main() { println!("{}", (1..1000u64).map(|x| x * x).sum::<u64>()); }\n' > src/main.rs; cp src/main.rs src/bin/other.rs
"$HONE" init --from .; echo "= $?"
"$HONE" init --from . --program non; echo "= $?"
"$HONE" init --from . --run "target/release/app" 2>&1 | sed -E 's/\([0-9.]+ [mun]?s\)/(TIME)/g'; sed -n '/^sources:/,/^controls/p' hone.yaml | grep -v -e '^#' -e '^$'
