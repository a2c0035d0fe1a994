/* What the scripts of all pages share: the JSON block, texts, elements, how pictures look. Everything from the data goes into
 * the page as text (textContent), never as markup. The page's own script follows in the same function and ends with
 * present([PART, ...]). */
const d = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);

/* --- texts ------------------------------------------------------------------------------------------------------- */

const TIMES = "\u00d7", MINUS = "\u2212", DASH = "\u2013", NBSP = "\u00a0";
function plural(n, one, many) { return n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s"); }
function sign(text) { return text.replace(/^-/, MINUS); }
function scaled(x, steps) {
  const a = Math.abs(x), step = steps.find(q => a >= q[0] * 0.9995) || steps[steps.length - 1], y = x / step[0];
  return sign(y.toFixed(Math.abs(y) >= 99.95 ? 0 : Math.abs(y) >= 9.995 ? 1 : 2)) + NBSP + step[1];
}
function quantity(x, unit) {
  if (x == null) return DASH;
  if (x === 0) return unit ? "0" + NBSP + unit : "0";
  if (unit === "s") return scaled(x, [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"], [1e-9, "ns"]]);
  if (unit === "B") return Math.abs(x) < 1024 ? sign(x.toFixed(0)) + NBSP + "B" : scaled(x, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]]);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return x.toLocaleString("en");
  return sign(String(Number(x.toPrecision(4))));
}
const ratio = x => x == null ? DASH : Math.abs(x) > 1e15 ? "unbounded" : x.toFixed(3) + TIMES;
const percent = x => x == null ? DASH : sign((100 * x).toFixed(Math.abs(x) < 0.1 ? 1 : 0)) + NBSP + "%";
const interval = g => g == null ? DASH : ratio(g.mid) + " (" + ratio(g.lo) + " to " + ratio(g.hi) + ")";
function duration(x) {
  if (!(x >= 0)) return DASH;
  const t = Math.round(x), two = n => String(n).padStart(2, "0");
  return t < 3600 ? Math.floor(t / 60) + ":" + two(t % 60) : Math.floor(t / 3600) + ":" + two(Math.floor(t / 60) % 60) + ":" + two(t % 60);
}
function when(x) { return x > 0 ? new Date(1000 * x).toISOString().replace("T", " ").replace(/:\d\d\.\d+Z$/, " UTC") : DASH; }

/* --- elements ---------------------------------------------------------------------------------------------------- */

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  for (const c of children.flat()) if (c != null) e.append(c);
  return e;
}
/* columns: "Name" or {name, kind}: kind num, name (one line), wide (long texts). rows: texts or elements; row.kind: class.
 * On a phone a long text in the last column stands below its row instead of beside it. */
function table(label, columns, rows) {
  const kind = c => (c.kind ? { class: c.kind } : {}), n = columns.length - 1;
  const below = columns.findIndex(c => c.kind === "wide") === n && n > 1;
  const t = el("table", below ? { class: "below" } : {},
    el("caption", {}, label),
    el("thead", {}, el("tr", {}, columns.map(c => el("th", { scope: "col", ...kind(c) }, c.name || c)))),
    el("tbody", {}, rows.map(r => el("tr", r.kind ? { class: r.kind } : {}, r.map((x, i) => el("td", kind(columns[i]), x))))));
  t.style.setProperty("--columns", n);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, t);
}
const folded = (summary, content) => el("details", {}, el("summary", {}, summary), content);
const num = name => ({ name, kind: "num" }), name1 = name => ({ name, kind: "name" }), wide = name => ({ name, kind: "wide" });
function facts(rows) {
  return el("table", { class: "facts" }, el("tbody", {},
    rows.filter(r => r[1] != null && r[1] !== "").map(r => el("tr", {}, el("th", { scope: "row" }, r[0]), el("td", r[2] ? { class: "mono" } : {}, r[1])))));
}
function show(id, note) {
  $(id).hidden = false;
  const n = $(id + "-note");
  if (n) { n.textContent = note || ""; n.hidden = !note; }
}

/* --- pictures: how they look ------------------------------------------------------------------------------------- */

let ink = {};
const charts = [], builders = [];
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const n of ["paper", "card", "ink", "muted", "line", "grid", "tuned", "tuned-fill", "base", "base-fill", "good", "good-fill", "bad", "warn", "c0", "c1", "c2", "c3", "c4", "c5", "c6"])
    ink[n] = style.getPropertyValue("--" + n).trim();
}
function axis(title, more) {
  return Object.assign({ grid: { color: ink.grid, borderColor: ink.line }, ticks: { color: ink.muted, maxRotation: 0, autoSkipPadding: 12 },
    title: { display: !!title, text: title, color: ink.muted } }, more);
}
/* Ends and step of an axis that holds lo … hi in at most `most` round steps. */
function round(lo, hi, most) {
  const raw = (hi - lo || Math.abs(hi) || 1) / most, power = 10 ** Math.floor(Math.log10(raw));
  const stepSize = [1, 2, 2.5, 5, 10].map(m => m * power).find(x => x >= raw * 0.999);
  const tidy = x => Number(x.toPrecision(12));
  return { min: tidy(Math.floor(tidy(lo / stepSize)) * stepSize), max: tidy(Math.ceil(tidy(hi / stepSize)) * stepSize), stepSize };
}
function scale(title, lo, hi, most, say) {
  const r = round(lo, hi, most);
  return axis(title, { min: r.min, max: r.max, ticks: { color: ink.muted, maxRotation: 0, autoSkipPadding: 12, stepSize: r.stepSize, callback: say } });
}
const narrow = () => window.innerWidth < 560;
function options(more) {
  return Object.assign({ animation: false, responsive: true, maintainAspectRatio: false, interaction: { mode: "nearest", intersect: false, axis: "xy" } }, more);
}
function plugins(tooltip, legend) {
  return {
    legend: { position: "bottom", align: "start", display: legend !== false,
      labels: { color: ink.ink, usePointStyle: true, boxWidth: 8, boxHeight: 7, padding: 14, filter: x => !x.text.startsWith("_") } },
    tooltip: { backgroundColor: ink.ink, titleColor: ink.card, bodyColor: ink.card, padding: 9, displayColors: false, callbacks: tooltip,
      filter: i => !i.dataset.silent },
  };
}
function picture(id, label, config) { builders.push({ id, label, config }); }
function draw() {
  readInk();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = narrow() ? 11 : 12;
  charts.splice(0).forEach(c => c.destroy());
  for (const b of builders) {
    const canvas = $(b.id);
    canvas.setAttribute("aria-label", b.label);
    charts.push(new Chart(canvas, b.config()));
  }
  document.documentElement.dataset.pictures = charts.length;
}

/* --- marks in pictures ---------------------------------------------------------------------------------------------- */

/* Draws per bar a line from lo to hi and a mark at mid: dataset.whiskers = [{lo, mid, hi}] along the value axis x. */
const whiskers = {
  id: "whiskers",
  afterDatasetsDraw(chart) {
    const c = chart.ctx, x = chart.scales.x, area = chart.chartArea, clamp = v => Math.min(Math.max(x.getPixelForValue(v), area.left), area.right);
    chart.data.datasets.forEach((set, k) => {
      if (!set.whiskers || !chart.isDatasetVisible(k)) return;
      chart.getDatasetMeta(k).data.forEach((bar, i) => {
        const w = set.whiskers[i];
        if (!w || w.mid == null) return;
        const h = Math.min(bar.height || 10, 22) / 2;
        c.save();
        c.strokeStyle = set.lineColor;
        c.lineWidth = 1.5;
        c.beginPath();
        for (const v of [w.lo, w.hi]) { c.moveTo(clamp(v), bar.y - h * 0.6); c.lineTo(clamp(v), bar.y + h * 0.6); }
        c.moveTo(clamp(w.lo), bar.y); c.lineTo(clamp(w.q1 == null ? w.hi : w.q1), bar.y);
        if (w.q3 != null) { c.moveTo(clamp(w.q3), bar.y); c.lineTo(clamp(w.hi), bar.y); }
        c.stroke();
        c.lineWidth = 3;
        c.beginPath(); c.moveTo(clamp(w.mid), bar.y - h); c.lineTo(clamp(w.mid), bar.y + h); c.stroke();
        c.restore();
      });
    });
  },
};
/* A vertical or horizontal line at options.plugins.mark.{x,y}. */
const mark = {
  id: "mark",
  beforeDatasetsDraw(chart, _, o) {
    const c = chart.ctx, a = chart.chartArea;
    c.save();
    c.strokeStyle = ink.base;
    c.lineWidth = 1.5;
    c.setLineDash([6, 4]);
    c.beginPath();
    if (o.x != null) { const p = chart.scales.x.getPixelForValue(o.x); if (p >= a.left && p <= a.right) { c.moveTo(p, a.top); c.lineTo(p, a.bottom); } }
    if (o.y != null) { const p = chart.scales.y.getPixelForValue(o.y); if (p >= a.top && p <= a.bottom) { c.moveTo(a.left, p); c.lineTo(a.right, p); } }
    c.stroke();
    c.restore();
  },
};

/* --- all of it: fills the page, and draws again where colours or the room change -------------------------------------------------- */

function present(parts) {
  parts.forEach(part => part());
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let wasNarrow = narrow();
  addEventListener("resize", () => { if (narrow() !== wasNarrow) { wasNarrow = narrow(); draw(); } });
  /* Paper is white: light colours, and the size that the print style gives the boxes. */
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); draw(); charts.forEach(c => c.resize()); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); draw(); });
}
