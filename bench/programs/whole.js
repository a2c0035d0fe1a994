(function () {
    let out = [];
    function queens(n, row, cols, d1, d2) {
        if (row === n) return 1;
        let c = 0;
        for (let i = 0; i < n; i++) {
            if (cols & (1 << i) || d1 & (1 << (row + i)) || d2 & (1 << (row - i + n))) continue;
            c += queens(n, row + 1, cols | (1 << i), d1 | (1 << (row + i)), d2 | (1 << (row - i + n)));
        }
        return c;
    }
    out.push(queens(7, 0, 0, 0, 0));
    const words = new Map();
    let s = 7;
    for (let i = 0; i < 20000; i++) {
        s = (s * 1103515245 + 12345) & 0x7fffffff;
        const w = "w" + (s % 997).toString(36);
        words.set(w, (words.get(w) || 0) + 1);
    }
    out.push([...words.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5).join(";"));
    class Point {
        constructor(x, y) { this.x = x; this.y = y; }
        plus(p) { return new Point(this.x + p.x, this.y + p.y); }
    }
    let p = new Point(0, 0);
    for (let i = 0; i < 20000; i++) p = p.plus(new Point(i % 7, 0.5));
    out.push(p.x, p.y);
    out.push(JSON.stringify(JSON.parse(JSON.stringify({ a: [...Array(2000).keys()], b: "x".repeat(100) }))).length);
    out.push("the quick brown fox jumps".repeat(200).replace(/(\w)(\w*)/g, (_, a, b) => b + a).length);
    return out.join(" ");
})();
