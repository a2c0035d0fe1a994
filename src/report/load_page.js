/* The load report's own script: distributions of latencies, tokens per second of the rounds; page.js stands before it. */
const servers = d.servers, color = i => (i ? ink.base : ink.tuned);
const tokens = "tokens_per_s" in servers[0], unit = tokens ? "tokens" : "requests", persecond = s => s[unit + "_per_s"];
const parts = [["first", "First token"], ["between", "Between tokens"], ["whole", "Whole answer"]].filter(p => p[0] + "_s" in servers[0]);
const range = (r, say) => say(r[1]) + " (" + say(r[0]) + " to " + say(r[2]) + ")";
const time = x => quantity(x, "s"), rate = x => quantity(x, "");

function tiles() {
  const put = (name, text, small) => $("tiles").append(el("div", {}, el("dt", {}, name), el("dd", {}, text, el("small", {}, small))));
  servers.forEach((s, i) => put(servers.length > 1 ? (i ? "Second server" : "First server") : "Server", rate(persecond(s)[1]) + NBSP + unit + "/s",
    s.url + ", " + plural(s.requests, "request") + ", " + s.failed.toLocaleString("en") + " failed"));
  if (servers.length > 1) put("First / second", ratio(d.ratio[1]), ratio(d.ratio[0]) + " to " + ratio(d.ratio[2]));
}
function distribution(key, name) {
  picture(key + "-chart", name + ": share of the values that are at most so long. The table below has the percentiles.", () => {
    const all = servers.map(s => s[key + "_s"].quantiles.map((x, q) => ({ x, y: q })).filter(p => p.x != null));
    const most = Math.max(...all.flat().map(p => p.x), 1e-9);
    return { type: "line", data: { datasets: servers.map((s, i) => ({ label: s.url + (i && s.url === servers[0].url ? " (second)" : ""), data: all[i], borderColor: color(i), backgroundColor: color(i),
      borderDash: i ? [6, 4] : [], borderWidth: 2, pointRadius: 0, pointHitRadius: 6, pointStyle: "line" })) },
    options: options({ scales: { x: Object.assign(scale("", 0, most, narrow() ? 4 : 8, time), { type: "linear" }), y: scale("values, %", 0, 100, 4, String) },
      plugins: plugins({ title: i => i.length ? i[0].dataset.label : "", label: i => i.raw.y + NBSP + "% within " + time(i.raw.x) }) }) };
  });
}
function latency() {
  show("latency", "Share of the values that are at most so long; with a rate or a trace, times count from when a request was due. Behind the percentiles: 95 % intervals from order statistics.");
  parts.forEach(([key, name]) => distribution(key, name));
  $("latency-table").append(table("Percentiles", [name1("Server"), name1("Time"), num("p50"), num("p95"), num("p99")],
    servers.flatMap(s => parts.map(([key, name]) => [s.url, name, ...["p50", "p95", "p99"].map(p => range(s[key + "_s"][p + "_range"], time))]))));
}
function rounds() {
  const most = Math.max(...servers.flatMap(s => s.rounds), 1e-9), n = Math.max(...servers.map(s => s.rounds.length));
  show("rounds", "Of each round that counts" + (servers.length > 1 ? "; the servers took turns." : "."));
  picture("rounds-chart", (tokens ? "Tokens" : "Requests") + " per second of " + plural(n, "round") + ". The table below has the numbers.", () => ({ type: "bar",
    data: { labels: Array.from({ length: n }, (_, i) => String(i + 1)), datasets: servers.map((s, i) => ({ label: s.url, data: s.rounds, backgroundColor: color(i), maxBarThickness: 40 })) },
    options: options({ scales: { x: axis("round"), y: scale(unit + "/s", 0, most, 5, rate) }, plugins: plugins({ label: i => i.dataset.label + ": " + rate(i.raw) }) }) }));
  $("rounds-table").append(table("Rounds", [num("Round"), ...servers.map(s => num(s.url))], Array.from({ length: n }, (_, i) => [String(i + 1), ...servers.map(s => rate(s.rounds[i]))])));
}

present([tiles, latency, rounds]);
