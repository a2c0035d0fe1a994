"use strict";
// Texts of models, of servers and of people become text nodes alone. The key stays in the field: nothing is stored.
const $ = id => document.getElementById(id);
const el = (name, text, cls) => { const e = document.createElement(name); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
const show = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
let status = null, messages = [], running = null, shownModel = null;

// --- texts ---

const seconds = s => s === null || s === undefined ? "–" : s < 0.0001 ? "< 100 µs" : s < 0.001 ? `${(1e6 * s).toFixed(0)} µs` : s < 1 ? `${(1000 * s).toPrecision(3)} ms` : s < 120 ? `${s.toPrecision(3)} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
const rate = r => r >= 100 ? r.toFixed(0) : r.toFixed(1);
const shape = s => `[${s.map(d => d < 0 ? "any" : d).join(", ")}]`;

// --- calls ---

function headers(json) {
  const h = json ? { "Content-Type": "application/json" } : {};
  if ($("key").value) h.Authorization = "Bearer " + $("key").value;
  return h;
}

async function refusal(r) {
  let text = "";
  try { const o = await r.json(); text = typeof o.error === "string" ? o.error : o.error.message; } catch { text = r.statusText; }
  if (r.status === 401) text = "A key is needed: write it into the field API key.";
  if (r.status === 429) text += ` Try again in ${r.headers.get("Retry-After") || "a few"} s.`;
  return new Error(`${text} (${r.status})`);
}

const unreachable = why => why instanceof TypeError ? "The server does not answer." : why.message;

// --- the server's state ---

function list(id, items, none) {
  const box = $(id);
  box.replaceChildren(...(items.length ? items : [el("li", none, "note")]));
}

function modelItem(m) {
  const li = el("li"), good = m.state === "ready";
  li.append(el("strong", m.name), " ", el("span", m.state, good ? "good" : m.state === "loading" ? "warn" : "bad"));
  const parts = [m.kind === "language" ? "language model" : m.kind === "tensors" ? "tensors" : "", m.version ? "version " + m.version : "",
    m.cache_blocks ? `${m.cache_blocks_used} of ${m.cache_blocks} blocks of keys and values` : ""].filter(Boolean);
  if (parts.length) li.append(el("small", parts.join(" · ")));
  if (m.why) li.append(el("small", m.why));
  for (const [what, ports] of [["in", m.inputs], ["out", m.outputs]])
    for (const p of ports || []) li.append(el("small", `${what}: ${p.name} ${p.datatype} ${shape(p.shape)}`));
  return li;
}

// What a deployment is made of is the server's affair: its words first, then the rest.
function deploymentItem(d) {
  const li = el("li");
  li.append(el("strong", d.model || d.name || "?"), " ", el("span", d.state || "", d.state === "rolled back" || d.state === "rolled_back" ? "bad" : d.state === "promoted" ? "good" : "warn"));
  if (d.why || d.sentence) li.append(el("small", d.why || d.sentence));
  const rest = Object.entries(d).filter(([k, v]) => !["model", "name", "state", "why", "sentence"].includes(k) && v !== null && typeof v !== "object");
  if (rest.length) li.append(el("small", rest.map(([k, v]) => `${k.replaceAll("_", " ")} ${typeof v === "number" ? +v.toPrecision(5) : v}`).join(" · ")));
  return li;
}

function latencyRows(m) {
  return [["first token", m.first_s], ["between tokens", m.between_s], ["whole answer", m.whole_s]].filter(([, t]) => t && t.n).map(([what, t]) => {
    const tr = el("tr");
    tr.append(el("td", m.name), el("td", what), el("td", seconds(t.p50)), el("td", seconds(t.p95)), el("td", seconds(t.p99)));
    return tr;
  });
}

function fillModels(all) {
  const usable = all.filter(m => m.state === "ready"), names = usable.map(m => m.name), select = $("model");
  if ([...select.options].map(o => o.value).join("\n") === names.join("\n")) return;
  const before = select.value;
  select.replaceChildren(...names.map(n => new Option(n, n)));
  if (names.includes(before)) select.value = before;
}

function chosen() { return status && status.models.find(m => m.name === $("model").value); }

function chooseForm() {
  const m = chosen(), key = m ? `${m.name} ${m.version}` : "";
  $("chat").hidden = !m || m.kind !== "language";
  $("infer").hidden = !m || m.kind !== "tensors";
  if (key === shownModel) return;
  shownModel = key;
  if (m && m.kind === "tensors") tensorForm(m);
}

function showStatus(s) {
  status = s;
  const sum = f => s.models.reduce((n, m) => n + f(m), 0);
  show("state", `${s.status} · hone ${s.version}`);
  $("state").className = s.status === "ready" ? "good" : "warn";
  show("server-rate", rate(sum(m => m.tokens_per_s || 0)));
  show("server-calls", String(sum(m => Object.values(m.requests || {}).reduce((a, b) => a + b, 0))));
  show("server-queue", `${s.queue} of ${s.max_queue}`);
  show("server-up", seconds(s.up_s));
  $("latencies").tBodies[0].replaceChildren(...s.models.flatMap(latencyRows));
  list("models", s.models.map(modelItem), "No models.");
  list("deployments", (s.deployments || []).map(deploymentItem), "None under way.");
  fillModels(s.models);
  chooseForm();
}

async function poll() {
  try {
    const r = await fetch("/status", { headers: headers() });
    if (!r.ok) throw await refusal(r);
    showStatus(await r.json());
  } catch (why) {
    show("state", unreachable(why));
    $("state").className = "bad";
  }
}

async function pollForever() {
  for (;;) {
    if (!document.hidden) await poll();
    await new Promise(done => setTimeout(done, running ? 1000 : 2000));
  }
}

// --- chat ---

function turn(who, text) {
  const box = el("div", undefined, "turn " + who), body = el("span", text);
  box.append(el("span", who === "user" ? "You" : "Model", "who"), body);
  $("log").append(box);
  return body;
}

function atEnd() { const l = $("log"); return l.scrollHeight - l.scrollTop - l.clientHeight < 40; }
function toEnd() { $("log").scrollTop = $("log").scrollHeight; }

function fail(id, text) { $(id).textContent = text; $(id).hidden = !text; }

// Times of one answer, as this browser sees them: pieces of text stand for tokens until the server counts them.
class Times {
  constructor() { this.begin = performance.now(); this.at = []; }
  piece() { this.at.push(performance.now()); }
  show(n) {
    const at = this.at, gaps = at.slice(1).map((t, i) => t - at[i]).sort((a, b) => a - b);
    if (at.length) show("first", seconds((at[0] - this.begin) / 1000));
    if (gaps.length) show("between", seconds(gaps[gaps.length >> 1] / 1000));
    if (!at.length) return;
    const last = at[at.length - 1], span = last - at[0]; // a browser that gets all at once knows the whole time alone
    show("rate", rate(1000 * (span > 20 ? (n - 1) / span : n / Math.max(1, last - this.begin))));
    show("count", String(n));
  }
}

async function* events(r) {
  const reader = r.body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue;
      if (line === "data: [DONE]") return;
      yield JSON.parse(line.slice(6));
    }
  }
}

// What came is shown some times a second, however fast it comes, and the browser is let to do its other work.
async function answer(body, control, times) {
  let text = "", shown = 0, at = 0, end = null, said = null, n = 0;
  const flush = () => {
    if (shown === text.length) return;
    const stay = atEnd();
    said ||= turn("assistant", "");
    said.append(document.createTextNode(text.slice(shown)));
    said.normalize();
    shown = text.length;
    messages[messages.length - 1].content = text;
    times.show(n || times.at.length);
    if (stay) toEnd();
  };
  try {
    return await read();
  } finally {
    flush();
    if (n && times.at.length) times.show(n);
  }

  async function read() {
    const r = await fetch("/v1/chat/completions", { method: "POST", headers: headers(true), body: JSON.stringify(body), signal: control.signal });
    if (!r.ok) throw await refusal(r);
    for await (const o of events(r)) {
      if (o.error) throw new Error(o.error.message);
      const choice = o.choices && o.choices[0], piece = choice && choice.delta && choice.delta.content;
      if (piece) { text += piece; times.piece(); }
      if (choice && choice.finish_reason) end = choice.finish_reason;
      if (o.usage && o.usage.completion_tokens) n = o.usage.completion_tokens;
      if (performance.now() - at > 60) {
        flush();
        await new Promise(done => setTimeout(done, 0));
        at = performance.now();
      }
    }
    if (!text) turn("assistant", "(an empty answer)");
    return end;
  }
}

function busy(on) { $("send").disabled = on; $("stop").disabled = !on; $("clear").disabled = on; }

async function send() {
  const text = $("prompt").value.trim();
  if (!text || running) return;
  const system = $("system").value.trim(), times = new Times();
  messages.push({ role: "user", content: text });
  turn("user", text);
  toEnd();
  const body = { model: $("model").value, messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
    temperature: Number($("temperature").value), max_tokens: Number($("most").value), stream: true, stream_options: { include_usage: true } };
  messages.push({ role: "assistant", content: "" });
  $("prompt").value = "";
  fail("error", "");
  for (const id of ["rate", "first", "between", "count"]) show(id, "–");
  show("said", "The model answers.");
  running = new AbortController();
  busy(true);
  try {
    const end = await answer(body, running, times);
    show("said", end === "length" ? "The answer ended at its limit of tokens." : "The answer is complete.");
  } catch (why) {
    if (why.name === "AbortError") show("said", "Stopped.");
    else { fail("error", unreachable(why)); show("said", ""); }
  }
  running = null;
  busy(false);
  if (!messages[messages.length - 1].content) messages.splice(-2); // a question without an answer is not sent again
  $("prompt").focus();
}

function clearChat() {
  messages = [];
  $("log").replaceChildren();
  fail("error", "");
  show("said", "");
  $("prompt").focus();
}

// --- models of tensors ---

const isText = t => !/^(U?INT\d+|FP\d+|BF16|BOOL)$/.test(t);

function tensorForm(m) {
  $("inputs").replaceChildren(...m.inputs.map((p, i) => {
    const box = el("fieldset"), size = el("input"), data = el("textarea"), dims = p.shape.map(d => d < 0 ? 1 : d);
    box.append(el("legend", `${p.name}: ${p.datatype} ${shape(p.shape)}`));
    size.id = `shape-${i}`; size.value = dims.join(", "); size.spellcheck = false;
    data.id = `data-${i}`; data.rows = 3; data.spellcheck = false;
    const n = dims.reduce((a, b) => a * b, 1);
    data.value = n <= 64 ? Array(n).fill(p.datatype === "BOOL" ? "false" : "0").join(", ") : "";
    if (n > 64) data.placeholder = `${n} numbers; left empty: zeros`;
    const a = el("label", "Shape"), b = el("label", "Numbers, row by row");
    a.htmlFor = size.id; b.htmlFor = data.id;
    const row = el("div", undefined, "row");
    row.append(a, size);
    box.append(row, b, data);
    return box;
  }));
  $("outputs").replaceChildren();
  fail("infer-error", "");
}

function tensorInput(p, i) {
  const dims = $(`shape-${i}`).value.split(",").map(s => s.trim()).filter(Boolean).map(Number), text = $(`data-${i}`).value.trim();
  if (dims.some(d => !Number.isInteger(d) || d < 0)) throw new Error(`The shape of ${p.name} is no list of whole numbers.`);
  const n = dims.reduce((a, b) => a * b, 1);
  let data;
  try { data = text ? JSON.parse(`[${text.replace(/[[\]]/g, " ")}]`) : Array(n).fill(p.datatype === "BOOL" ? false : 0); } catch { throw new Error(`The numbers of ${p.name} cannot be read: write them with commas between them.`); }
  if (data.length !== n) throw new Error(`${p.name} has ${data.length} numbers; its shape wants ${n}.`);
  return { name: p.name, datatype: p.datatype, shape: dims, data };
}

function tensorOutput(o) {
  const data = o.data.flat(Infinity), some = data.slice(0, 1000).map(x => typeof x === "number" ? +x.toPrecision(7) : x).join(", ");
  const box = el("div");
  box.append(el("h2", `${o.name}: ${o.datatype} ${shape(o.shape)}`), el("pre", data.length > 1000 ? `${some}, … (${data.length} in all)` : some));
  return box;
}

async function infer() {
  const m = chosen();
  fail("infer-error", "");
  try {
    const begin = performance.now(), inputs = m.inputs.map(tensorInput);
    const r = await fetch(`/v2/models/${encodeURIComponent(m.name)}/infer`, { method: "POST", headers: headers(true), body: JSON.stringify({ inputs }) });
    if (!r.ok) throw await refusal(r);
    const o = await r.json();
    $("outputs").replaceChildren(el("p", `Answered in ${seconds((performance.now() - begin) / 1000)}.`, "note"), ...o.outputs.map(tensorOutput));
  } catch (why) {
    $("outputs").replaceChildren();
    fail("infer-error", unreachable(why));
  }
}

// --- acts ---

$("chat").addEventListener("submit", e => { e.preventDefault(); send(); });
$("infer").addEventListener("submit", e => { e.preventDefault(); infer(); });
$("stop").addEventListener("click", () => running && running.abort());
$("clear").addEventListener("click", clearChat);
$("model").addEventListener("change", () => { chooseForm(); if (chosen() && chosen().kind === "language") clearChat(); });
$("key").addEventListener("change", poll);
$("prompt").addEventListener("keydown", e => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); } });
addEventListener("keydown", e => { if (e.key === "Escape" && running) running.abort(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
pollForever();
