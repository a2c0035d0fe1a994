// The dot product of two arrays of bytes, as a quantised model takes it: a Rust program that hone tunes.

#[inline(never)]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

fn main() {
    let n: usize = std::env::args().nth(1).map_or(4096, |s| s.parse().expect("a number of elements"));
    let a: Vec<i8> = (0..n).map(|i| (i * 7 % 251) as u8 as i8).collect();
    let b: Vec<i8> = (0..n).map(|i| (i * 13 % 241) as u8 as i8).collect();
    let mut sum = 0i64;
    for i in 0..400_000_000 / n {
        sum += i64::from(dot(&a[i % 8..], &b)); // another product each time
    }
    println!("sum: {}", sum);
}
