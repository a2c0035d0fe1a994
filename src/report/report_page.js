/* The report's own script: tables and pictures of a session; page.js stands before it. */
const s = d.session, goals = d.goals, trials = d.trials;
const byId = new Map(trials.map(t => [t.id, t]));
const searched = trials.filter(t => t.phase === "search");
const baseline = trials.find(t => t.phase === "baseline") || null;
const best = d.winner && d.winner.best != null ? byId.get(d.winner.best) : null;
const failed = t => t.class !== "ok";

/* --- texts ------------------------------------------------------------------------------------------------------- */

const className = c => c.replace(/_/g, " ");
function settingValue(v) {
  if (v === null) return "not set";
  if (v === true) return "on";
  if (v === false) return "off";
  if (Array.isArray(v)) return "[" + v.map(settingValue).join(", ") + "]";
  return typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(6))) : String(v);
}
function settingText(list, most) {
  if (!list) return "";
  if (!list.length) return "nothing unlike the baseline";
  const shown = list.slice(0, most).map(x => x[0] + "=" + settingValue(x[1]));
  return shown.join(", ") + (list.length > most ? " and " + (list.length - most) + " more" : "");
}
const inputName = b => (b.input || "every input") + (b.held_out ? " (held out)" : "");
const value = (t, k) => t.value[k] == null ? DASH : quantity(t.value[k], goals[k].unit);
const valueAndGain = (t, k) => goals[k].expr + ": " + value(t, k) + (t.gain[k] == null ? "" : " (" + ratio(t.gain[k]) + ")");
const worse = g => g.maximize ? "higher is better" : "lower is better";

/* --- head -------------------------------------------------------------------------------------------------------- */

function tiles() {
  const put = (name, text, small) => $("tiles").append(el("div", {}, el("dt", {}, name), el("dd", {}, text, small ? el("small", {}, small) : null)));
  const first = d.proof && d.proof.overall[0];
  if (first && first.gain) put(d.proof.kept ? "Proven gain" : "Validated gain", ratio(first.gain.mid), first.quantity + ", " + ratio(first.gain.lo) + " to " + ratio(first.gain.hi));
  if (best && best.gain[0] != null) put("Claimed by the search", ratio(best.gain[0]), goals[0].expr);
  else if (best) put("Best found", value(best, 0), goals[0].expr);
  put("Evaluations", d.evaluations.toLocaleString("en"), d.reused ? plural(d.reused, "took over a known object", "took over known objects") : "");
  const n = searched.filter(failed).length;
  put("Failures", n.toLocaleString("en"), n ? d.classes.filter(c => c.n && c.name !== "ok").map(c => c.n + " " + className(c.name)).join(", ") : "every candidate worked");
  const end = s.ended || (trials.length ? s.started + trials[trials.length - 1].at : 0);
  put("Search time", duration(end - s.started), when(s.started));
}

/* --- winner ------------------------------------------------------------------------------------------------------ */

function winner() {
  const w = d.winner;
  if (!w) return;
  const n = w.settings.length;
  $("winner-head").textContent = d.standing === "rejected" ? "Controls of the rejected candidate" : d.standing === "unproven" ? "Best controls, not validated" : "Winning controls";
  show("winner", n ? plural(n, "setting differs", "settings differ") + " from the baseline" + (n > 20 ? "; hone minimize finds the few that carry the gain." : ".") : "It is the baseline.");
  if (w.argv) {
    $("flags").textContent = w.argv;
    $("flags-box").hidden = false;
    $("copy").addEventListener("click", copy);
  } else if (w.no_argv) $("winner-note").append(" No flags can be shown: " + w.no_argv + ".");
  const rows = w.settings.map(x => [x[0], settingValue(x[2]), settingValue(x[1])]).sort((a, b) => a[0].includes(".") - b[0].includes("."));
  if (!n) return;
  const t = table("Settings that differ from the baseline", [name1("Setting"), "Baseline", "Candidate"], rows);
  $("settings").append(n > 12 ? folded("All " + n + " settings", t) : t);
}
async function copy() {
  let done = false;
  try { await navigator.clipboard.writeText($("flags").textContent); done = true; } catch (e) {
    const range = document.createRange();
    range.selectNodeContents($("flags"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    done = document.execCommand("copy");
  }
  $("copied").textContent = done ? "Copied." : "Press Ctrl+C to copy the marked text.";
}

/* --- proof ------------------------------------------------------------------------------------------------------- */

function proof() {
  const p = d.proof;
  if (!p) return;
  show("proof", plural(p.pairs, "interleaved pair") + " of runs over " + plural(p.variants, "build") + " of each side" + (p.layout ? " (" + p.layout + ")" : "") +
    "; none is a sample of the search." + (p.noise != null ? " One pair's own noise: " + percent(p.noise) + "." : "") +
    (p.spread != null ? " Spread, tuned over baseline: " + p.spread.toFixed(2) + "." : ""));
  const finding = f => el("span", { class: f }, f);
  const rows = [["overall", p.overall], ["tail", p.tail], ["held out", p.held_out]].flatMap(([what, list]) =>
    list.map(c => [c.quantity, what, interval(c.gain), c.p == null ? DASH : c.p < 1e-4 ? "< 0.0001" : c.p.toFixed(4), c.effect == null ? DASH : sign(c.effect.toFixed(2)), finding(c.finding)]));
  $("proof-tables").append(table("Gain over the baseline with 95 % interval, p-value (Wilcoxon, Holm), effect size (Cliff's delta)",
    [name1("Quantity"), name1("Of"), name1("Gain"), num("p"), num("Effect"), "Finding"], rows));
  if (d.proofs.length > 1) $("proof-tables").append(folded("All " + d.proofs.length + " recorded validations, the newest first",
    table("Recorded validations", [name1("Kept"), wide("Verdict"), num("Pairs")], d.proofs.map(x => [x.kept ? "kept" : "rejected", x.verdict, x.pairs.toLocaleString("en")]))));
}

/* --- best so far ------------------------------------------------------------------------------------------------- */

function curve() {
  if (!searched.length || !goals.length) return;
  const ratios = d.ratios, unit = goals[0].unit, { min: lo, max: hi } = round(d.axis_lo, d.axis_hi, 7), up = ratios || goals[0].maximize;
  const of = t => ratios ? t.gain[0] : t.value[0], say = x => ratios ? ratio(x) : quantity(x, unit);
  const steps = [], floor = up ? lo : hi, clip = y => Math.min(Math.max(y, lo), hi);
  let so = ratios ? 1 : null;
  for (const t of searched) if (t.best != null && t.best !== so) { so = t.best; steps.push({ t, x: t.x, y: so }); }
  const last = searched[searched.length - 1].x, race = trials.filter(t => t.phase === "race" && !failed(t) && of(t) != null);
  const line = (ratios ? [{ x: 0, y: 1 }] : []).concat(steps.map(p => ({ x: p.x, y: p.y })), steps.length || ratios ? [{ x: last, y: steps.length ? steps[steps.length - 1].y : 1 }] : []);
  const points = (list, y) => list.map(t => ({ x: t.x, y: y(t), t }));
  const ok = searched.filter(t => !failed(t) && of(t) != null), inside = ok.filter(t => of(t) >= lo && of(t) <= hi && t.feasible);
  const outside = ok.filter(t => t.feasible && !inside.includes(t)), not = ok.filter(t => !t.feasible), bad = searched.filter(failed);
  const proven = ratios && d.proof && d.proof.overall[0] && d.proof.overall[0].gain, xMax = last + (race.length ? Math.max(1, last * 0.04) : 0);
  show("curve", (ratios ? "Gain over the baseline (" + goals[0].expr + ") after each evaluation; above 1 is better." : goals[0].expr + " after each evaluation; " + worse(goals[0]) + ".") +
    (race.length ? " The closing race, on fresh builds, stands at the right edge." : "") + (proven ? " The band is the gain that the validation measured, with its interval." : ""));
  const final = steps.length ? steps[steps.length - 1] : null;
  picture("curve-chart", "Best so far over " + plural(d.evaluations, "evaluation") + ": " + (final ? "rises to " + say(final.y) + " at evaluation " + final.x : "nothing better than the baseline") +
    "; " + plural(bad.length, "failure") + ". The table below has the steps.", () => {
    const dot = (label, data, more) => Object.assign({ type: "scatter", label, data, pointRadius: searched.length > 1500 ? 1.2 : narrow() ? 2.5 : 3, pointHoverRadius: 6, borderWidth: searched.length > 1500 ? 0.5 : 1.5, order: 2 }, more);
    const sets = [{ type: "line", label: "best so far", data: line, stepped: "before", borderColor: ink.tuned, backgroundColor: ink.tuned, borderWidth: 2.5, pointRadius: 0, pointStyle: "line", silent: true, order: 1 },
      dot("evaluation", points(inside, of), { borderColor: ink.base, backgroundColor: ink["base-fill"] })];
    if (outside.length) sets.push(dot("far " + (up ? "below" : "above"), points(outside, () => floor), { borderColor: ink.base, backgroundColor: ink.base, pointStyle: "triangle", rotation: up ? 180 : 0 }));
    if (not.length) sets.push(dot("over a limit or suspect", points(not, t => clip(of(t))), { borderColor: ink.warn, backgroundColor: "transparent", pointStyle: "rect" }));
    if (bad.length) sets.push(dot("failed", points(bad, () => floor), { borderColor: ink.bad, backgroundColor: ink.bad, pointStyle: "crossRot", pointRadius: 5, borderWidth: 2 }));
    if (race.length) sets.push(dot("closing race", race.map(t => ({ x: xMax, y: clip(of(t)), t })), { borderColor: ink.ink, backgroundColor: ink.card, pointStyle: "rectRot", pointRadius: 5, order: 0 }));
    if (proven) {
      const band = y => [{ x: 0, y: clip(y) }, { x: xMax, y: clip(y) }], plain = { type: "line", pointRadius: 0, silent: true, order: 3, borderColor: "transparent" };
      sets.push(Object.assign({}, plain, { label: "_lo", data: band(proven.lo) }), Object.assign({}, plain, { label: "_hi", data: band(proven.hi), fill: "-1", backgroundColor: ink["good-fill"] }),
        Object.assign({}, plain, { label: "validated", data: band(proven.mid), borderColor: ink.good, backgroundColor: ink.good, borderWidth: 2, borderDash: [2, 3], pointStyle: "line" }));
    }
    return { type: "scatter", data: { datasets: sets }, plugins: [mark], options: options({
      clip: 8, scales: { x: axis("evaluations", { type: "linear", min: 0, max: xMax, ticks: { color: ink.muted, precision: 0, maxRotation: 0, autoSkipPadding: 12, callback: v => v > last ? "" : v.toLocaleString("en") } }),
        y: scale(ratios ? "gain over the baseline" : goals[0].expr, d.axis_lo, d.axis_hi, 7, v => ratios ? Number(v.toFixed(3)) + TIMES : quantity(v, unit)) },
      plugins: Object.assign(plugins({ title: i => i.length ? trialTitle(i[0].raw.t) : "", label: i => trialLines(i.raw.t) }), { mark: { y: ratios ? 1 : baseline ? baseline.value[0] : null } }) }) };
  });
  $("curve-table").append(folded("The steps as a table", table("Each evaluation that was the best so far", [num("Evaluation"), num("Trial"), num(goals[0].expr), num("Gain"), name1("Engine"), wide("Settings unlike the baseline")],
    steps.map(p => [p.x.toLocaleString("en"), String(p.t.id), value(p.t, 0), ratio(p.t.gain[0]), p.t.origin, settingText(d.settings[p.t.id], 8)]))));
}
const trialTitle = t => "trial " + t.id + ", " + (t.phase === "search" ? "evaluation " + t.x + ", " + t.origin : t.phase);
function trialLines(t) {
  const lines = failed(t) ? [className(t.class)] : goals.map((g, k) => valueAndGain(t, k));
  if (t.same_as) lines.push("same object as trial " + t.same_as);
  if (t.suspect) lines.push("suspect: below the physical floor"); else if (!failed(t) && !t.feasible) lines.push("over a limit");
  const list = d.settings[t.id];
  if (list && list.length) list.slice(0, 6).forEach(x => lines.push(x[0] + " = " + settingValue(x[1])));
  if (list && list.length > 6) lines.push("and " + (list.length - 6) + " more settings");
  return lines.map(x => x.length > 64 ? x.slice(0, 63) + "\u2026" : x);
}

/* --- trade-offs -------------------------------------------------------------------------------------------------- */

function pareto() {
  const front = trials.filter(t => t.front);
  if (goals.length < 2 || !front.length) return;
  const dominated = trials.filter(t => t.feasible && !t.front && t !== baseline), pick = [0, 1];
  const ratios = goals.map((_, k) => front.every(t => t.gain[k] != null)), of = (t, k) => ratios[k] ? t.gain[k] : t.value[k];
  const high = k => ratios[k] || goals[k].maximize, say = (x, k) => ratios[k] ? Number(x.toFixed(3)) + TIMES : quantity(x, goals[k].unit);
  show("pareto", plural(front.length, "trial") + (front.length === 1 ? " is" : " are") + " beaten by no other in every objective. " +
    (ratios.every(x => x) ? "Both axes are gains over the baseline (1" + TIMES + "): up and to the right is better." : "The axes say which way is better.") + " Point at a trial for its settings.");
  const range = k => { /* the front and the baseline with some room; what lies far off is left out */
    const v = front.map(t => of(t, k)).concat(baseline && of(baseline, k) != null ? [of(baseline, k)] : []);
    const a = Math.min(...v), b = Math.max(...v), pad = (b - a || Math.abs(a) * 0.1 || 1) * 0.15, r = round(a - pad, b + pad, narrow() ? 4 : 8);
    return [ratios[k] ? Math.max(r.min, 0) : r.min, r.max, r.stepSize];
  };
  const title = k => (narrow() ? "" : ratios[k] ? "gain in " : "") + goals[k].expr + (ratios[k] ? "" : ", " + worse(goals[k]));
  picture("pareto-chart", "Scatter of " + plural(front.length, "trade-off") + " between " + goals.map(g => g.expr).join(", ") + ". The table below lists them.", () => {
    const [a, b] = pick, [x0, x1, xStep] = range(a), [y0, y1, yStep] = range(b), at = t => ({ x: of(t, a), y: of(t, b), t });
    const within = p => p.x != null && p.y != null && p.x >= x0 && p.x <= x1 && p.y >= y0 && p.y <= y1;
    const line = front.map(at).sort((p, q) => p.x - q.x || p.y - q.y), dot = { type: "scatter", pointHoverRadius: 8, borderWidth: 1.5 };
    const sets = [
      Object.assign({}, dot, { label: "front", data: line, borderColor: ink.tuned, backgroundColor: ink["tuned-fill"], pointRadius: narrow() ? 5 : 6, order: 1 }),
      { type: "line", label: "_front", data: goals.length === 2 ? line : [], stepped: high(a) ? "after" : "before", borderColor: ink.tuned, borderWidth: 1, pointRadius: 0, pointHoverRadius: 0, pointHitRadius: 0, silent: true, order: 3 },
      Object.assign({}, dot, { label: "dominated", data: dominated.map(at).filter(within), borderColor: ink.base, backgroundColor: ink["base-fill"], pointRadius: dominated.length > 1500 ? 1.2 : 3, borderWidth: dominated.length > 1500 ? 0.5 : 1.5, order: 4 })];
    if (baseline && of(baseline, a) != null) sets.push(Object.assign({}, dot, { label: "baseline", data: [at(baseline)], borderColor: ink.ink, backgroundColor: ink.card, pointStyle: "rectRot", pointRadius: 7, order: 0 }));
    return { type: "scatter", data: { datasets: sets }, plugins: [mark], options: options({
      scales: { x: axis(title(a), { min: x0, max: x1, ticks: { color: ink.muted, maxRotation: 0, stepSize: xStep, callback: v => say(v, a) } }),
        y: axis(title(b), { min: y0, max: y1, ticks: { color: ink.muted, stepSize: yStep, callback: v => say(v, b) } }) },
      plugins: Object.assign(plugins({ title: i => i.length ? trialTitle(i[0].raw.t) : "", label: i => trialLines(i.raw.t) }), { mark: baseline ? { x: of(baseline, a), y: of(baseline, b) } : {} }) }) };
  });
  if (goals.length > 2) {
    $("pareto-axes").hidden = false;
    ["across", "up"].forEach((word, i) => {
      const select = el("select", {}, goals.map((g, k) => el("option", k === pick[i] ? { value: k, selected: "" } : { value: k }, g.expr)));
      select.addEventListener("change", () => { pick[i] = Number(select.value); draw(); });
      $("pareto-axes").append(el("label", {}, word + ": ", select));
    });
  }
  const rows = front.slice().sort((a, b) => of(b, 0) - of(a, 0) || a.id - b.id).map(t => {
    const r = [String(t.id)].concat(goals.flatMap((g, k) => [value(t, k), ratio(t.gain[k])]), settingText(d.settings[t.id], 6));
    if (t === best) r.kind = "best";
    return r;
  });
  $("pareto-table").append(folded("The front as a table", table("Trials on the front", [num("Trial")].concat(goals.flatMap(g => [num(g.expr), num("Gain")]), wide("Settings unlike the baseline")), rows)));
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

function inputs() {
  const has = d.inputs.filter(b => b.tuned && b.baseline);
  if (!has.length) return;
  show("inputs", (d.inputs_proven ? "Values of the validation's runs." : "Values of the search's own runs of the winner and of the baseline beside it: an impression, not a proof.") +
    " Boxes hold the middle half, whiskers reach from the 5th to the 95th percentile, the thick mark is the median; a whisker that ends at the edge goes on beyond it. All are relative to the baseline's median on that input.");
  goals.forEach((g, k) => {
    const list = has.filter(b => b.goal === k);
    if (!list.length) return;
    const id = "inputs-chart-" + k, box = el("div", { class: "chart" }, el("canvas", { id, role: "img" })), rel = (b, x) => x / b.baseline.p50;
    box.style.height = (110 + 64 * list.length) + "px";
    $("inputs-charts").append(el("h3", {}, g.expr + ", " + worse(g)), box);
    const side = which => list.map(b => ({ lo: rel(b, b[which].p5), q1: rel(b, b[which].p25), mid: rel(b, b[which].p50), q3: rel(b, b[which].p75), hi: rel(b, b[which].p95) }));
    const constant = list.every(b => b.baseline.p50 === 0), sides = { baseline: side("baseline"), tuned: side("tuned") };
    const all = sides.baseline.concat(sides.tuned).flatMap(w => [w.lo, w.hi]).filter(Number.isFinite), boxes = sides.baseline.concat(sides.tuned).flatMap(w => [w.q1, w.q3]).filter(Number.isFinite);
    const q1 = Math.min(...boxes, 1), q3 = Math.max(...boxes, 1), room = (q3 - q1 || 0.05) * 0.75; /* a far whisker must not flatten the boxes */
    const lo = Math.max(Math.min(...all, 1), q1 - room), hi = Math.min(Math.max(...all, 1), q3 + room);
    if (!constant) picture(id, g.expr + " of baseline and tuned on " + plural(list.length, "input") + ": " + list.map(b => inputName(b) + " " + percent(rel(b, b.tuned.p50)) + " of the baseline's median").join(", ") + ".", () => ({
      type: "bar", plugins: [whiskers, mark],
      data: { labels: list.map(inputName), datasets: ["baseline", "tuned"].map(n => ({
        label: n, data: sides[n].map(w => [w.q1, w.q3]), whiskers: sides[n], borderSkipped: false, borderWidth: 1, minBarLength: 2, maxBarThickness: 22, categoryPercentage: 0.8, barPercentage: 0.8,
        backgroundColor: ink[n === "tuned" ? "tuned-fill" : "base-fill"], borderColor: ink[n === "tuned" ? "tuned" : "base"], lineColor: ink[n === "tuned" ? "tuned" : "base"], pointStyle: "rect" })) },
      options: options({ indexAxis: "y", interaction: { mode: "nearest", axis: "y", intersect: false },
        scales: { x: scale("relative to the baseline's median", lo, hi, narrow() ? 4 : 8, v => Number((100 * v).toFixed(2)) + NBSP + "%"), y: axis("", { grid: { display: false }, ticks: { color: ink.ink, callback(v) { const t = this.getLabelForValue(v); return t.length > 18 ? t.slice(0, 17) + "\u2026" : t; } } }) },
        plugins: Object.assign(plugins({ title: i => i.length ? i[0].label : "", label: i => {
          const q = list[i.dataIndex][i.dataset.label];
          return [i.dataset.label + ", " + plural(q.n, "value"), "median " + quantity(q.p50, g.unit), "middle half " + quantity(q.p25, g.unit) + " to " + quantity(q.p75, g.unit), "5th to 95th " + quantity(q.p5, g.unit) + " to " + quantity(q.p95, g.unit)];
        } }), { mark: { x: 1 } }) }) }));
    else box.remove();
    const rows = list.flatMap(b => ["baseline", "tuned"].map(n => [n === "baseline" ? inputName(b) : "", n, quantity(b[n].p50, g.unit), quantity(b[n].p5, g.unit), quantity(b[n].p25, g.unit), quantity(b[n].p75, g.unit), quantity(b[n].p95, g.unit), b[n].n.toLocaleString("en"),
      n === "baseline" ? "" : b.gain ? interval(b.gain) : ""]));
    $("inputs-charts").append(folded("The values as a table", table(g.expr + " per input", [name1("Input"), name1("Side"), num("Median"), num("5 %"), num("25 %"), num("75 %"), num("95 %"), num("Values"), num("Gain, 95 % interval")], rows)));
  });
}

/* --- shares ------------------------------------------------------------------------------------------------------ */

function shares() {
  const list = d.shares ? d.shares.row.filter(x => x.gain).sort((a, b) => b.gain.mid - a.gain.mid) : [];
  if (!list.length) return;
  show("shares", "The gain that is lost when one control alone is left out, with its 95 % interval" + (d.shares.before ? "; " + plural(list.length, "control") + " of " + d.shares.before + " remain after minimising." : "."));
  $("shares-box").style.height = (90 + 30 * list.length) + "px";
  const far = x => Math.abs(x) > 1e15, ends = list.flatMap(x => [x.gain.lo, x.gain.mid, x.gain.hi]).filter(x => x != null && !far(x)).concat(1), lo = Math.min(...ends), hi = Math.max(...ends);
  picture("shares-chart", "Share of each control: " + list.slice(0, 8).map(x => x.name + " " + ratio(x.gain.mid)).join(", ") + ".", () => ({
    type: "bar", plugins: [whiskers, mark],
    data: { labels: list.map(x => x.name), datasets: [{ label: "share", data: list.map(x => [1, x.gain.mid]), whiskers: list.map(x => x.gain), backgroundColor: ink["tuned-fill"], borderColor: ink.tuned, lineColor: ink.tuned, borderWidth: 1, borderSkipped: false, maxBarThickness: 18 }] },
    options: options({ indexAxis: "y", interaction: { mode: "nearest", axis: "y", intersect: false },
      scales: { x: scale("gain lost without it", lo, hi, narrow() ? 4 : 8, v => Number(v.toFixed(4)) + TIMES),
        y: axis("", { grid: { display: false }, ticks: { color: ink.ink, autoSkip: false, callback(v) { const t = this.getLabelForValue(v), m = narrow() ? 16 : 40; return t.length > m ? t.slice(0, m - 1) + "\u2026" : t; } } }) },
      plugins: Object.assign(plugins({ label: i => interval(list[i.dataIndex].gain) }, false), { mark: { x: 1 } }) }) }));
  $("shares-table").append(folded("The shares as a table", table("Gain lost without each control", [name1("Control"), name1("Share, 95 % interval")], list.map(x => [x.name, interval(x.gain)]))));
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

function failures() {
  const classes = d.classes.filter(c => c.n && c.name !== "ok"), total = searched.filter(failed).length;
  if (!total) return;
  const bins = Math.min(searched.length, narrow() ? 16 : 30), width = Math.ceil(searched.length / bins), n = Math.ceil(searched.length / width);
  const counts = classes.map(c => { const v = new Array(n).fill(0); searched.forEach((t, i) => { if (t.class === c.name) v[Math.floor(i / width)]++; }); return v; });
  const span = i => { const a = i * width + 1, b = Math.min((i + 1) * width, searched.length); return a === b ? String(a) : a + DASH + b; };
  show("failures", plural(total, "evaluation") + " of " + d.evaluations.toLocaleString("en") + " failed. The search learns from failures; they cost time, not results.");
  picture("failures-chart", "Failures by class over the evaluations: " + classes.map(c => c.n + " " + className(c.name)).join(", ") + ".", () => ({
    type: "bar",
    data: { labels: counts[0].map((_, i) => span(i)), datasets: classes.map((c, k) => ({ label: className(c.name) + " (" + c.n + ")", data: counts[k], backgroundColor: ink["c" + (d.classes.findIndex(x => x.name === c.name) - 1) % 7], borderColor: ink.card, borderWidth: 1, categoryPercentage: 1, barPercentage: 0.9, pointStyle: "rect" })) },
    options: options({ interaction: { mode: "index", intersect: false }, scales: { x: axis("evaluations", { stacked: true, grid: { display: false } }), y: axis("failures", { stacked: true, beginAtZero: true, suggestedMax: Math.min(width, 4), ticks: { color: ink.muted, precision: 0 } }) },
      plugins: plugins({ title: i => i.length ? "evaluations " + i[0].label : "" }) }) }));
  $("failures-table").append(folded("What happened, trial by trial", table("Failed trials" + (d.failures.length < trials.filter(failed).length ? " (the first " + d.failures.length + ")" : ""),
    [num("Trial"), name1("Class"), wide("Message")], d.failures.map(f => [String(f.id), className(f.class), el("pre", {}, f.detail.trim() || DASH)]))));
}

/* --- trials, provenance ------------------------------------------------------------------------------------------ */

function listTrials() {
  const list = d.top.map(id => byId.get(id));
  if (!list.length) return;
  const all = trials.filter(t => t.feasible && t !== baseline).length;
  show("trials", "The " + (all > list.length ? list.length + " best of " + plural(all, "trial") + " that worked" : plural(list.length, "trial") + " that worked, best first") + "; the search's choice stands at the top. hone results --all --csv has everything.");
  const rows = list.map(t => {
    const r = [String(t.id)].concat(goals.flatMap((g, k) => [value(t, k), ratio(t.gain[k])]), t.phase === "search" ? t.origin : t.phase, settingText(d.settings[t.id], 8));
    if (t === best) r.kind = "best";
    return r;
  });
  $("trials-table").append(table("Trials, best first", [num("Trial")].concat(goals.flatMap(g => [num(g.expr), num("Gain")]), name1("Engine"), wide("Settings unlike the baseline")), rows));
}

function provenance() {
  const b = s.budget, budget = b && [b.evaluations && plural(b.evaluations, "evaluation"), b.seconds && duration(b.seconds), b.plateau && "plateau of " + b.plateau, b.target && "target " + b.target + TIMES].filter(Boolean).join(", ");
  const compilers = (Array.isArray(s.compilers) ? s.compilers : []).map(c => el("div", {}, [c.version || c.command, c.path, c.march && "-march=native is " + c.march, c.hash && "hash " + c.hash].filter(Boolean).map(String).join(", ")));
  $("provenance-table").append(facts([
    ["Session", s.id + " of workload " + s.workload], ["Started", when(s.started)], ["Ended", s.ended ? when(s.ended) : DASH], ["State", s.state + (s.reason ? ": " + s.reason : "")],
    ["Objectives", goals.map(g => (g.maximize ? "maximize " : "minimize ") + g.expr).join(", ")], ["Engine", s.engine], ["Seed", s.seed, true],
    ["Budget", budget || ""], ["Evaluations", plural(d.evaluations, "evaluation")], ["Machine", s.machine], ["Machine hash", s.machine_hash, true],
    ["Compilers", compilers.length ? compilers : ""], ["Workload hash", s.workload_hash, true], ["Sources hash", s.source_hash, true], ["Space hash", s.space_hash, true],
    ["Recorded by", "hone " + s.version], ["Report by", "hone " + d.hone], ["Controls file", d.shares ? "written " + d.shares.created : ""]]));
}

present([tiles, winner, proof, curve, pareto, inputs, shares, failures, listTrials, provenance]);
