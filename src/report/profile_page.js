/* The profile's own script: the roofline (Williams, Waterman and Patterson 2009) and sortable tables of kernels and calls;
 * page.js stands before it. */
const kernels = d.kernels, peak = d.peak_f32_flops_per_s, memory = d.peak_bytes_per_s, l2 = d.peak_l2_bytes_per_s;
const kinds = [...new Set(kernels.map(k => k.kind))];
const intensity = k => k.flops / k.bytes;
const giga = (x, unit) => x == null ? DASH : Number((1e-9 * x).toPrecision(3)).toLocaleString("en") + NBSP + unit;
const time = k => quantity(k.time_s, "s");
const shorten = (text, most = 64) => text.length > most ? text.slice(0, most - 1) + "\u2026" : text;

/* --- head -------------------------------------------------------------------------------------------------------- */

function tiles() {
  const put = (name, text, small) => $("tiles").append(el("div", {}, el("dt", {}, name), el("dd", {}, text, small ? el("small", {}, small) : null)));
  const flops = kernels.reduce((sum, k) => sum + k.flops, 0), rate = flops / d.run_s;
  put("Run, median", quantity(d.run_s, "s"), quantity(d.run_low_s, "s") + " to " + quantity(d.run_high_s, "s") + ", " + plural(d.runs, "run"));
  put("In kernels", quantity(d.kernels_s, "s"), plural(kernels.length, "kernel") + ", " + plural(d.calls.length, "call"));
  put("Arithmetic", giga(rate, "GFLOP/s"), peak ? percent(rate / peak) + " of " + giga(peak, "GFLOP/s") : "peak not measured");
  if (memory) put("Memory reads at", giga(memory, "GB/s"), l2 ? "L2 at " + giga(l2, "GB/s") : "");
  put("Tuned kernels", kernels.filter(k => k.choice === "winner").length.toLocaleString("en"), "the others: defaults");
}

/* --- roofline ---------------------------------------------------------------------------------------------------- */

function lines(k) {
  return [k.shape, shorten(k.schedule, 53) + " (" + k.choice + ")", time(k) + ", " + percent(k.share) + " of the time",
    giga(k.flops_per_s, "GFLOP/s") + (k.of_peak == null ? "" : ", " + percent(k.of_peak) + " of the peak"),
    giga(k.bytes_per_s, "GB/s") + (k.of_bandwidth == null ? "" : ", " + percent(k.of_bandwidth) + " of memory"),
    Number(intensity(k).toPrecision(3)) + " FLOP/byte" + (k.of_roof == null ? "" : ", " + percent(k.of_roof) + " of the roof"), k.source].filter(Boolean).map(line => shorten(line));
}
/* Names of the largest points beside them, where there is room. */
const names = {
  id: "names",
  afterDatasetsDraw(chart) {
    const c = chart.ctx, taken = [];
    const points = chart.data.datasets.flatMap((set, i) => set.silent || !chart.isDatasetVisible(i) ? [] : set.data.map((p, k) => ({ p, at: chart.getDatasetMeta(i).data[k] })));
    c.save();
    c.fillStyle = ink.ink;
    c.font = (narrow() ? 10 : 11) + "px " + Chart.defaults.font.family;
    c.textBaseline = "middle";
    for (const { p, at } of points.sort((a, b) => b.p.k.share - a.p.k.share).slice(0, 8)) {
      if (p.k.share < 0.02) break;
      const wide = c.measureText(p.k.kernel).width, left = at.x + p.r + 4 + wide > chart.chartArea.right ? at.x - p.r - 4 - wide : at.x + p.r + 4;
      const box = { l: left, r: left + wide, t: at.y - 7, b: at.y + 7 };
      if (taken.some(q => q.l < box.r && box.l < q.r && q.t < box.b && box.t < q.b)) continue;
      taken.push(box);
      c.fillText(p.k.kernel, left, at.y);
    }
    c.restore();
  },
};
function decades(values) {
  const at = values.filter(x => x > 0 && isFinite(x));
  return [10 ** Math.floor(Math.log10(Math.min(...at)) - 0.05), 10 ** Math.ceil(Math.log10(Math.max(...at)) + 0.05)];
}
function logarithmic(title, [min, max], say) {
  const one = x => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-6;
  return axis(title, { type: "logarithmic", min, max, grid: { color: c => c.tick && one(c.tick.value) ? ink.line : ink.grid, borderColor: ink.line },
    ticks: { color: ink.muted, maxRotation: 0, autoSkip: false, callback: x => one(x) ? say(x) : "" } });
}
function roofline() {
  const drawn = kernels.filter(k => k.flops > 0 && k.bytes > 0 && k.time_s > 0), idle = kernels.length - drawn.length;
  if (!drawn.length) return show("roofline", "Nothing in this model computes.");
  $("roofline-box").hidden = false;
  const xs = decades(drawn.map(intensity).concat(peak && memory ? [peak / memory] : [])), roofs = peak ? [peak] : [];
  const ys = decades(drawn.map(k => k.flops_per_s).concat(roofs)), clip = y => Math.max(y, ys[0]);
  const moved = kernels.filter(k => !(k.flops > 0)).reduce((sum, k) => sum + k.share, 0);
  show("roofline", "Each circle is a kernel, its area the share of the time: how much it computes per byte that it reads or writes, and how fast. " +
    (peak ? "The flat line is the measured peak in f32, the slopes are what memory and L2 were measured to deliver: above the slope of memory the data was in caches." : "The peaks of this machine were not measured: hone doctor --measure does it.") +
    (idle ? " What only moves data stands in the table alone: " + plural(idle, "kernel") + ", " + percent(moved) + " of the time." : ""));
  picture("roofline-chart", "Roofline of " + plural(drawn.length, "kernel") + " on logarithmic axes, operations per byte against operations per second. The table below has the numbers.", () => {
    const most = narrow() ? 20 : 34, line = { type: "line", pointRadius: 0, pointHoverRadius: 0, pointHitRadius: 0, borderWidth: 2, pointStyle: "line", silent: true, order: 9 };
    const slope = (label, per_s, color, dash) => {
      const from = Math.max(xs[0], ys[0] / per_s), to = Math.min(xs[1], peak / per_s);
      return Object.assign({}, line, { label: label + " " + giga(per_s, "GB/s"), borderColor: color, backgroundColor: color, borderDash: dash, data: from < to ? [{ x: from, y: clip(per_s * from) }, { x: to, y: clip(per_s * to) }] : [] });
    };
    const sets = kinds.map((kind, i) => ({ type: "bubble", label: kind, borderColor: ink["c" + i % 7], backgroundColor: ink["c" + i % 7] + "73", borderWidth: 1.5, pointStyle: "circle", order: 2,
      data: drawn.filter(k => k.kind === kind).map(k => ({ x: intensity(k), y: k.flops_per_s, r: Math.max(2.5, most * Math.sqrt(k.share)), k })) })).filter(set => set.data.length);
    if (peak) {
      sets.push(Object.assign({}, line, { label: "f32 peak " + giga(peak, "GFLOP/s"), borderColor: ink.ink, backgroundColor: ink.ink, data: [{ x: Math.min(Math.max(xs[0], peak / (l2 || memory || peak / xs[0])), xs[1]), y: peak }, { x: xs[1], y: peak }] }));
      if (memory) sets.push(slope("memory", memory, ink.tuned));
      if (l2) sets.push(slope("L2", l2, ink.base, [6, 4]));
    }
    const say = x => Number(x.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 9 });
    return { type: "bubble", data: { datasets: sets }, plugins: [names], options: options({ interaction: { mode: "nearest", intersect: true },
      scales: { x: logarithmic("FLOP per byte", xs, say), y: logarithmic("GFLOP/s", ys, x => say(1e-9 * x)) },
      plugins: plugins({ title: i => i.length ? i[0].raw.k.kernel + ", " + i[0].raw.k.kind : "", label: i => lines(i.raw.k) }) }) };
  });
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

/* A table whose headings sort it: columns {name, kind, of: row => what sorts it, say: row => what stands there}. The first
 * click on a column of numbers puts the largest on top. */
function sortable(box, label, columns, rows, sorted, up) {
  const list = [...rows];
  function fill(again) {
    const of = columns[sorted].of, order = up ? 1 : -1;
    list.sort((a, b) => { const x = of(a) ?? -Infinity, y = of(b) ?? -Infinity; return order * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y || 0); });
    const heads = columns.map((c, i) => {
      const button = el("button", { type: "button", class: "sort" }, c.name);
      button.addEventListener("click", () => { up = sorted === i ? !up : c.kind !== "num"; sorted = i; fill(true); });
      return { name: button, kind: c.kind };
    });
    const t = table(label, heads, list.map(r => columns.map(c => c.say(r)))), head = t.querySelectorAll("th");
    head[sorted].setAttribute("aria-sort", up ? "ascending" : "descending");
    const left = box.firstChild ? box.firstChild.scrollLeft : 0;
    box.replaceChildren(t);
    t.scrollLeft = left;
    if (again) head[sorted].firstChild.focus({ preventScroll: true });
  }
  fill(false);
}
const text = (name, of, kind) => ({ name, kind: kind || "short", of, say: of });
const number = (name, of, say) => ({ name, kind: "num", of, say: k => of(k) == null ? DASH : say(of(k)) });
const rates = [
  number("Share", k => k.share, percent), number("GFLOP/s", k => k.flops_per_s, x => (1e-9 * x).toFixed(1)), number("Of peak", k => k.of_peak, percent),
  number("GB/s", k => k.bytes_per_s, x => (1e-9 * x).toFixed(1)), number("Of peak", k => k.of_bandwidth, percent), number("Of roof", k => k.of_roof, percent)];
const ends = [text("Schedule", k => k.schedule, "wide"), text("Shape", k => k.shape, "wide"), text("Source", k => k.source, "name")];
const begins = [text("Kernel", k => k.kernel), text("Kind", k => k.kind), text("Choice", k => k.choice)], took = number("Time", k => k.time_s, x => quantity(x, "s"));

function listKernels() {
  sortable($("kernels-table"), "Kernels", [...begins, number("Calls", k => k.calls, String), took, ...rates, ...ends], kernels, 4, false);
}
function listCalls() {
  const rows = d.calls.map((c, i) => Object.assign({ at: i + 1 }, c));
  show("calls", "Every place of the program that calls a kernel.");
  const box = el("div", {});
  $("calls-table").append(folded("All " + plural(rows.length, "call") + " in the order of the program", box));
  sortable(box, "Calls", [number("Call", k => k.at, String), ...begins, number("Launches", k => k.launches, String), took, ...rates, ...ends], rows, 0, true);
}
function provenance() {
  const f64 = d.peak_f64_flops_per_s, i8 = d.peak_i8_ops_per_s;
  $("provenance-table").append(facts([["Model", d.model], ["Target", d.target], ["Threads", String(d.threads)], ["Runs", String(d.runs)],
    ["Peaks", peak ? giga(peak, "GFLOP/s") + " in f32" + (f64 ? ", " + giga(f64, "GFLOP/s") + " in f64" : "") + (i8 ? ", " + giga(i8, "GOP/s") + " on bytes" : "") + "; " + giga(memory, "GB/s") + " from memory" + (l2 ? ", " + giga(l2, "GB/s") + " from L2" : "") : "not measured"],
    ["Profile by", "hone " + d.hone]]));
}

present([tiles, roofline, listKernels, listCalls, provenance]);
