const canvas = document.getElementById("lanes"), pen = canvas.getContext("2d");
const left = 110, laneHeight = 26, bandHeight = 18, top0 = 22;
let view = {from: 0, to: Math.max(run.end, 1)};
const bars = run.lanes.flatMap((lane, i) => lane.bars.map(b => ({...b, lane: i})));
// Where held() was true in two processes at once for one lock.
const overlaps = [];
const held = bars.filter(b => b.kind === "held").sort((a, b) => a.from - b.from);
held.forEach((a, i) => {
  for (let j = i + 1; j < held.length && held[j].from < a.to; ++j) {
    const b = held[j];
    if (b.lock !== a.lock) continue;
    overlaps.push({from: b.from, to: Math.min(a.to, b.to), lanes: [a.lane, b.lane]});
  }
});
const firstBad = run.verdicts.find(v => v.verdict === "violated" && v.events.length) || null;
const faultText = f =>
  `${f.what}${f.whom ? " " + f.whom : ""}${f.amount ? " (" + f.amount + ")" : ""}`;
const rows = [];  // faults in rows, so that none hides another or its words
for (const f of run.faults) {
  const words = faultText(f).length * 7 / (canvas.clientWidth - left) * (view.to - view.from);
  let row = rows.findIndex(end => end < f.from - 1);
  if (row < 0) row = rows.push(0) - 1;
  rows[row] = Math.max(f.to, f.from + words);
  f.row = row;
}
const faultRows = Math.min(rows.length, 16);
const lanesTop = () => top0 + faultRows * bandHeight + 6;
const clocksTop = () => lanesTop() + run.lanes.length * laneHeight + 4;
const docsTop = () => clocksTop() + run.clocks.length * 34;
const height = () => docsTop() + run.documents.length * bandHeight + 8;
const x = t => left + (t - view.from) / (view.to - view.from) * (canvas.clientWidth - left - 8);
const near = (from, to) => to >= view.from && from <= view.to;

function label(text, y) { pen.fillStyle = "#1d232b"; pen.fillText(text, 8, y); }
// A pixel shows one thing: what would only paint it again is left out.
let painted = new Map();
let drawn = {};  // how many bars, those under another's pixel too
function again(key, at) {
  const pixel = Math.floor(at);
  if (painted.get(key) === pixel) return true;
  painted.set(key, pixel);
  return false;
}
function box(from, to, y, h, color) {
  const a = Math.max(x(from), left), b = Math.min(Math.max(x(to), x(from) + 2), canvas.clientWidth);
  if (b <= a || (b - a < 3 && again(y + color, a))) return [a, a];
  pen.fillStyle = color;
  pen.fillRect(a, y, b - a, h);
  return [a, b];
}
function inside(text, a, b, y, color) {
  if (b - a < 24) return;
  pen.save(); pen.beginPath(); pen.rect(a, y - 12, b - a, 16); pen.clip();
  pen.fillStyle = color; pen.fillText(text, a + 3, y); pen.restore();
}
function drawTime() {
  pen.fillStyle = "#6b7580";
  const span = view.to - view.from, step = 10 ** Math.floor(Math.log10(span / 4));
  for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
    pen.fillRect(x(t), 16, 1, 4);
    if (Math.round(t / step) % 2 === 0) pen.fillText(`${+t.toFixed(3)} ms`, x(t) + 2, 14);
  }
}
function drawFaults() {
  if (run.faults.length) label("faults", top0 + 13);
  for (const f of run.faults) {
    if (!near(f.from, f.to)) continue;
    box(f.from, f.to, lanesTop(), run.lanes.length * laneHeight, "rgba(247,223,180,.35)");
    if (f.row >= faultRows) continue;
    const y = top0 + f.row * bandHeight;
    box(f.from, f.to, y, bandHeight - 3, "#f7dfb4");
    const from = Math.max(x(f.from), left);
    pen.fillStyle = "#7a4b00"; pen.fillText(faultText(f), from + 3, y + 12);
  }
}
const colors = {waits: "#cfe0f5", held: "#3f9b5f", stopped: "rgba(120,128,136,.55)"};
function drawLanes() {
  run.lanes.forEach((lane, i) => {
    const y = lanesTop() + i * laneHeight;
    pen.fillStyle = "#eef1f4"; pen.fillRect(left, y + laneHeight - 1, canvas.clientWidth, 1);
    label(lane.name, y + 16);
    for (const b of lane.bars) {
      if (!near(b.from, b.to)) continue;
      const tall = b.kind !== "waits";
      const [from, to] = box(b.from, b.to, y + (tall ? 3 : 8), tall ? 18 : 8, colors[b.kind]);
      if (b.kind !== "held") continue;
      ++drawn.green;
      inside(`${b.lock} token ${b.token}`, from, to, y + 16, "#fff");
    }
    for (const m of lane.marks) {
      if (!near(m.at, m.at)) continue;
      if (m.kind === "write" && again(`${i} ${m.outcome}`, x(m.at))) continue;
      const written = m.outcome === "refused" ? "#8e44ad" : "#14532d";
      pen.fillStyle = m.kind === "killed" ? "#000" : written;
      if (m.kind === "killed") pen.fillText("✕ killed", x(m.at) - 4, y + 16);
      else pen.fillRect(x(m.at) - 1, y + 2, 3, 7);
    }
  });
  for (const o of overlaps) {
    if (!near(o.from, o.to)) continue;
    ++drawn.red;
    for (const lane of o.lanes) {
      box(o.from, o.to, lanesTop() + lane * laneHeight + 18, 4, "#c0392b");
    }
  }
}
function drawClocks() {
  run.clocks.forEach((c, i) => {
    const y = clocksTop() + i * 34 + 17;
    label(c.name + " clock", y + 4);
    const most = Math.max(1, ...c.steps.map(s => Math.abs(s.ms)));
    pen.strokeStyle = "#6b4fa0"; pen.beginPath(); pen.moveTo(left, y);
    let now = 0;
    for (const s of c.steps) {
      pen.lineTo(Math.max(x(s.at), left), y - now / most * 13); now = s.ms;
      pen.lineTo(Math.max(x(s.at), left), y - now / most * 13);
      if (near(s.at, s.at)) { pen.fillStyle = "#6b4fa0";
        pen.fillText(s.ppm ? `${s.ppm} ppm` : `${s.ms} ms`, x(s.at) + 3, y - now / most * 13 - 2); }
    }
    pen.lineTo(canvas.clientWidth, y - now / most * 13); pen.stroke();
  });
}
function drawDocuments() {
  run.documents.forEach((d, i) => {
    const y = docsTop() + i * bandHeight;
    label(d.lock, y + 13);
    d.changes.forEach((c, j) => {
      const next = d.changes[j + 1], to = next ? next.at : run.end;
      if (c.gone || !near(c.at, to)) return;
      const [from, end] = box(c.at, to, y + 2, bandHeight - 5, j % 2 ? "#d9d2e9" : "#cbc1e2");
      inside(c.lockId.slice(0, 40), from, end, y + 13, "#3b2a63");
    });
  });
}
function draw() {
  const began = performance.now();
  painted = new Map();
  drawn = {green: 0, red: 0};
  const ratio = devicePixelRatio || 1;
  canvas.style.height = height() + "px";
  canvas.width = canvas.clientWidth * ratio; canvas.height = height() * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px system-ui,sans-serif";
  drawTime(); drawFaults(); drawLanes(); drawClocks(); drawDocuments();
  Object.assign(canvas.dataset, drawn, {drawMs: (performance.now() - began).toFixed(1)});
}
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function jump() {
  const shown = document.getElementById("shown");
  if (!firstBad) { shown.textContent = "no violation"; return; }
  const times = firstBad.events.map(e => e.at);
  const overlap = overlaps.find(o => o.to >= Math.min(...times));
  const from = Math.min(...times), to = Math.max(...times, overlap ? overlap.to : 0);
  const pad = Math.max((to - from) * 0.6, 150);
  view = {from: from - pad, to: to + pad};
  const tokens = bars.filter(b => b.token && near(b.from, b.to)).map(b => b.token);
  const faults = run.faults.filter(f => near(f.from, f.to)).map(f => f.what);
  shown.textContent = `${firstBad.guarantee} violated: ${firstBad.why}`;
  shown.dataset.tokens = [...new Set(tokens)].join(" ");
  shown.dataset.faults = [...new Set(faults)].join(" ");
  shown.dataset.overlaps = overlaps.filter(o => near(o.from, o.to)).length;
  mark(from, to); redraw();
}
function mark(from, to) {
  let first = null;
  for (const line of story.children) {
    const at = +line.dataset.at, hit = at >= from - 1 && at <= to + 1;
    line.className = hit ? "near" : "";
    if (hit && !first) first = line;
  }
  if (first) story.scrollTop = first.offsetTop - story.offsetTop - 60;
}
const story = document.getElementById("story");
for (const text of run.story) {
  const line = document.createElement("div");
  line.textContent = text; line.dataset.at = parseFloat(text);
  story.append(line);
}
// What decides stands first, what was never put to the test last.
const rank = v => v.verdict === "violated" ? 0 : v.verdict === "holds" ? 2
  : v.checked.startsWith("0 ") ? 3 : 1;
for (const v of [...run.verdicts].sort((a, b) => rank(a) - rank(b))) {
  const row = document.getElementById("verdicts").insertRow();
  row.className = v.verdict;
  for (const cell of [v.guarantee, v.verdict, v.checked, v.why || v.statement]) {
    row.insertCell().textContent = cell;
  }
}
document.title = document.getElementById("title").textContent = run.run;
document.getElementById("repeat").textContent = run.repeat;
document.getElementById("advice").textContent = run.advice;
document.getElementById("jump").hidden = !firstBad;
document.getElementById("jump").onclick = () => { location.hash = ""; jump(); };
document.getElementById("all").onclick = () => {
  view = {from: 0, to: Math.max(run.end, 1)}; location.hash = "all"; redraw(); };
canvas.onwheel = e => {
  e.preventDefault();
  const share = (e.offsetX - left) / (canvas.clientWidth - left);
  const at = view.from + share * (view.to - view.from);
  const factor = Math.exp(e.deltaY / 400);
  view = {from: at - (at - view.from) * factor, to: at + (view.to - at) * factor}; redraw();
};
canvas.onpointerdown = e => {
  canvas.setPointerCapture(e.pointerId); canvas.dataset.x = e.offsetX;
};
canvas.onpointermove = e => {
  if (!e.buttons) return;
  const span = view.to - view.from;
  const by = (canvas.dataset.x - e.offsetX) / (canvas.clientWidth - left) * span;
  view = {from: view.from + by, to: view.to + by}; canvas.dataset.x = e.offsetX; redraw();
};
addEventListener("resize", redraw);
draw();
if (location.hash !== "#all") jump();
