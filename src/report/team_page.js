/* The team report's own script: what needs attention, gains with intervals, sums by machine; page.js stands before it. */
const WORDS = { valid: "valid", elsewhere: "other machine", stale: "stale", unwritten: "no controls file", unproven: "not validated", rejected: "rejected", no_gain: "no gain" };
const NEXT = { stale: r => "hone retune " + r.where, unwritten: r => "hone validate in " + folder(r), unproven: r => "hone validate in " + folder(r) };
const folder = r => r.where.includes("/") ? r.where.slice(0, r.where.lastIndexOf("/")) : ".";
const holds = r => r.state === "valid" || r.state === "elsewhere";
const compiler = r => r.compiler ? r.compiler + (r.version ? " " + r.version : "") : DASH;
const place = r => r.where + (r.session == null ? "" : ", session " + r.session);
const state = s => el("span", { class: s === "valid" || s === "elsewhere" ? "gains" : s === "stale" || s === "rejected" ? "loses" : "" }, WORDS[s] || s);
const gain = g => g.gain ? interval(g.gain) : g.claimed != null ? ratio(g.claimed) + " claimed" : DASH;

function tiles() {
  const put = (name, text, small) => $("tiles").append(el("div", {}, el("dt", {}, name), el("dd", {}, text, small ? el("small", {}, small) : null)));
  const held = d.states.valid + d.states.elsewhere, means = d.groups.filter(g => g.gain);
  put("Programs", d.programs.toLocaleString("en"), plural(d.results, "result") + " on " + plural(d.machines, "machine"));
  put("Hold", held.toLocaleString("en"), d.states.elsewhere ? d.states.elsewhere + " proven for another machine" : "proven, unchanged since");
  if (means.length === 1) put("Mean gain", ratio(means[0].gain.mid), ratio(means[0].gain.lo) + " to " + ratio(means[0].gain.hi));
  put("Stale", d.states.stale.toLocaleString("en"), d.states.stale ? "hone retune" : "nothing has changed");
  const open = d.states.unproven + d.states.unwritten;
  if (open) put("To validate", open.toLocaleString("en"), "hone validate");
  if (d.problems.length) put("Cannot be read", d.problems.length.toLocaleString("en"), "files and stores");
}

function stale() {
  const list = d.rows.filter(r => NEXT[r.state]);
  if (!list.length) return;
  show("stale", "Results whose program, compiler or rules have changed since they were proven, and gains that were found and never proven.");
  $("stale-table").append(table("What has changed, and what to do", [name1("Program"), "Machine", name1("State"), "Next", wide("What has changed")],
    list.map(r => [r.program, r.machine, state(r.state), el("code", {}, NEXT[r.state](r)), r.why || DASH])));
}

/* A picture for each metric: gains of different things are not compared. */
function gains() {
  const all = d.rows.flatMap(r => r.goals.filter(g => g.gain).map(g => ({ r, g })));
  const metrics = [...new Set(all.map(x => x.g.metric))].sort();
  if (!all.length) return;
  show("gains", "Proven gain over each program's baseline with its 95 % interval; 1" + TIMES + " is the baseline. Pale: stale, rejected, or without a controls file.");
  metrics.forEach((metric, k) => {
    const list = all.filter(x => x.g.metric === metric).sort((a, b) => b.g.gain.mid - a.g.gain.mid), id = "gains-chart-" + k;
    const ends = list.flatMap(x => [x.g.gain.lo, x.g.gain.mid, x.g.gain.hi]).filter(x => x != null && Math.abs(x) < 1e15).concat(1);
    const box = el("div", { class: "chart" }, el("canvas", { id, role: "img" }));
    box.style.height = (90 + 30 * list.length) + "px";
    $("gains-charts").append(el("h3", {}, metric), box, folded("The gains as a table", table("Proven gains in " + metric, [name1("Program"), name1("Objective"), name1("Gain, 95 % interval"), name1("State"), wide("Machine")],
      list.map(x => [x.r.program, x.g.objective, interval(x.g.gain), state(x.r.state), x.r.machine]))));
    const one = get => new Set(list.map(get)).size === 1, dot = t => " \u00b7 " + t;
    const label = x => x.r.program + (one(x => x.g.objective) ? "" : dot(x.g.objective)) + (one(x => x.r.machine) ? "" : dot(x.r.machine));
    const fill = (x, a, b) => holds(x.r) ? ink[a] : ink[b];
    picture(id, "Gains in " + metric + ": " + list.slice(0, 8).map(x => x.r.program + " " + ratio(x.g.gain.mid)).join(", ") + ".", () => ({
      type: "bar", plugins: [whiskers, mark],
      data: { labels: list.map(label), datasets: [{ label: "gain", data: list.map(x => [1, x.g.gain.mid]), whiskers: list.map(x => x.g.gain), backgroundColor: list.map(x => fill(x, "tuned-fill", "base-fill")),
        borderColor: list.map(x => fill(x, "tuned", "base")), lineColor: ink.ink, borderWidth: 1, borderSkipped: false, maxBarThickness: 18 }] },
      options: options({ indexAxis: "y", interaction: { mode: "nearest", axis: "y", intersect: false },
        scales: { x: scale("gain over the baseline", Math.min(...ends), Math.max(...ends), narrow() ? 4 : 8, v => Number(v.toFixed(4)) + TIMES),
          y: axis("", { grid: { display: false }, ticks: { color: ink.ink, autoSkip: false, callback(v) { const t = this.getLabelForValue(v), m = narrow() ? 16 : 44; return t.length > m ? t.slice(0, m - 1) + "\u2026" : t; } } }) },
        plugins: Object.assign(plugins({ title: i => i.length ? list[i[0].dataIndex].r.program : "", label: i => { const x = list[i.dataIndex]; return [x.g.objective + ": " + interval(x.g.gain), x.r.machine, compiler(x.r), WORDS[x.r.state]]; } }, false), { mark: { x: 1 } }) }) }));
  });
}

function groups() {
  show("groups", "The mean is geometric, over the results that hold; its interval takes their errors as independent.");
  $("groups-table").append(table("Results by machine, compiler and metric", ["Machine", name1("Compiler"), name1("Metric"), num("Results"), num("Hold"), num("Stale"), name1("Mean gain")],
    d.groups.map(g => [g.machine, compiler(g), g.metric || DASH, g.results.toLocaleString("en"), g.holding.toLocaleString("en"), g.states.stale.toLocaleString("en"), interval(g.gain)])));
}

function rows() {
  show("rows", "One line for each objective of a controls file, or of the newest session of a program that no controls file is of.");
  $("rows-table").append(table("All results", [name1("Program"), "Machine", name1("Compiler"), name1("Objective"), name1("Gain"), name1("State"), name1("Date"), wide("Where")],
    d.rows.flatMap(r => r.goals.map((g, k) => [k ? "" : r.program, k ? "" : r.machine, k ? "" : compiler(r), g.objective || DASH, gain(g), k ? "" : state(r.state), k ? "" : r.when, k ? "" : place(r)]))));
}

function problems() {
  if (!d.problems.length) return;
  show("problems", "Damaged, changed by hand, or not to be opened; nothing of them is in the figures above.");
  $("problems-table").append(table("Files and stores that could not be read", ["Where", wide("Why")], d.problems.map(p => [p.where, p.text])));
}

present([tiles, stale, gains, groups, rows, problems]);
