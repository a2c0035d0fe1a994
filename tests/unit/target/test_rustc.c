/* The installed rustc: what it offers compiles, and changes no result. */
#include "compiler.h"

static const char program[] =
    "fn sum(v: &[f64]) -> f64 { let mut s = 0.0; for x in v { s += x; } s }\n"
    "fn dot(v: &[f32], w: &[f32]) -> f32 { v.iter().zip(w).map(|(a, b)| a * b).sum() }\n"
    "fn horner(t: f64) -> f64 { let mut s = 0.1; for _ in 0..9 { s = s * t + 0.3; } s }\n"
    "fn step(op: u8, p: i32, q: i32) -> i32 {\n"
    "    match op { 0 => p.wrapping_add(q), 1 => p.wrapping_sub(q), 2 => p ^ q, 3 => if q != 0 { p % q } else { 7 },\n"
    "               4 => p.wrapping_shl(q as u32 & 3), 5 => p & q, _ => i32::from(op) } }\n"
    "fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\n"
    "fn bits(name: &str, v: f64) { println!(\"{} {:016x}\", name, v.to_bits()); }\n"
    "fn main() {\n"
    "    let x: Vec<f64> = (0..1000).map(|i| 1.0 / f64::from(i + 1)).collect();\n"
    "    let y: Vec<f64> = (0..1000).map(|i| if i % 7 != 0 { x[i] * 1e-3 } else { -1e5 * x[i] }).collect();\n"
    "    let (mut a, mut b, mut c) = (vec![[0f32; 64]; 64], vec![[0f32; 64]; 64], vec![[0f32; 64]; 64]);\n"
    "    for i in 0..64 { for j in 0..64 { a[i][j] = 0.1 * (i + j) as f32; b[i][j] = 1.0 / (1 + i + j) as f32; } }\n"
    "    for i in 0..64 { for j in 0..64 { let mut s = 0.0; for k in 0..64 { s += a[i][k] * b[k][j]; } c[i][j] = s; } "
    "}\n"
    "    let text: Vec<u8> = (0..5000u32).map(|i| (i * 37 + i / 11) as u8).collect();\n"
    "    let mut pairs: Vec<(usize, f64)> = (0..100).map(|i| (i, x[i * 37 % 100] * y[i])).collect();\n"
    "    pairs.sort_by(|p, q| p.1.partial_cmp(&q.1).unwrap());\n"
    "    let h = text.iter().fold(5381u32, |h, b| h.wrapping_mul(33) ^ u32::from(*b));\n"
    "    let acc = text.windows(2).fold(1, |acc, t| step(t[0] % 7, acc & 0xffff, i32::from(t[1])));\n"
    "    bits(\"sum\", sum(&x)); bits(\"sum2\", sum(&y)); bits(\"dot\", f64::from(dot(&a[3], &b[5])));\n"
    "    bits(\"c\", f64::from(c[17][33])); bits(\"c2\", f64::from(c[63][0])); bits(\"horner\", horner(0.7));\n"
    "    let z = (0..1000).fold(0.0, |z, i| z / 3.0 + x[i] * y[i] - y[999 - i] / (x[i] + 2.0));\n"
    "    bits(\"z\", z); bits(\"neg\", -0.0 * x[1]); bits(\"div\", x[2] / x[6]);\n"
    "    println!(\"{} {} {} {}\", h, acc, fib(15), pairs[7].0);\n"
    "}\n";
static const subject in_rust = {
    "program.rs", program, "-A warnings", "-Copt-level=0\n", "-Copt-level", "-Ctarget-cpu", "rustc interrupted by SIG"};

/* Puts the folder of tests/helper/quick in front of PATH; false: the run is long, or by hand. */
static bool find_quick(void) {
    const char *cc = getenv("HONE_QUICK_CC"), *path = getenv("PATH"), *slash = cc ? strrchr(cc, '/') : NULL;
    char text[8000];
    if (!slash || !path) return false;
    int n = snprintf(text, sizeof text, "%.*s:%s", (int)(slash - cc), cc, path);
    return n > 0 && (size_t)n < sizeof text && !setenv("PATH", text, 1);
}

/* The cache is shared with the cases of the command line: probing all options takes the better part of a minute. In the
 * short run rustc names an eighth of LLVM's (tests/helper/quick/rustc). */
int main(void) {
    bool quick = find_quick();
    return test_compiler(&in_rust, "rustc", getenv("HONE_CACHE"), quick ? 10 : 100, 400, quick ? 150 : 1000,
                         "-Cllvm-args=inline-threshold");
}
