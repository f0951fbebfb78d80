"use strict";
// Sortable tables, and a score plot for pointer and keyboard. Without this script the page has
// unsorted tables and a static figure.

for (const table of document.querySelectorAll("main table")) {
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll('th[scope="col"]')];
  const value = (row, i) => {
    const cell = row.cells[i];
    if (!cell.classList.contains("n")) return cell.textContent;
    return cell.title === "" ? NaN : Number(cell.title.replace("inf", "Infinity"));
  };
  heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
    const number = head.classList.contains("n");
    // Numbers start with the largest, names with the first.
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : number;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => [value(row, i), row]);
    rows.sort(([a], [b]) => {
      if (!number) return (down ? -1 : 1) * a.localeCompare(b, undefined, { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return down ? b - a : a - b;
    });
    body.append(...rows.map(([, row]) => row));
  }));
}

const points = document.getElementById("points");
if (points) scorePlot(JSON.parse(points.textContent));

function scorePlot(data) {
  const find = (id) => document.getElementById(id);
  const [across, up, plot, said] = ["across", "up", "plot", "said"].map(find);
  const [wide, high, left, foot, edge] = [760, 560, 58, 52, 14];
  // The shapes of the figures: circle, square, triangle, diamond, triangle, plus, cross.
  const shapes = [
    "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z", "M-4.5,-4.5h9v9h-9Z", "M0,-5.8L5.4,4.2H-5.4Z",
    "M0,-6L5,0L0,6L-5,0Z", "M0,5.8L5.4,-4.2H-5.4Z",
    "M-1.8,-5.4h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6v-3.6h3.6Z",
    "M-5,-2.6L-2.6,-5L0,-2.4L2.6,-5L5,-2.6L2.4,0L5,2.6L2.6,5L0,2.4L-2.6,5L-5,2.6L-2.4,0Z",
  ];
  const size = data.names.length > 800 ? 0.55 : data.names.length > 200 ? 0.75 : 1;
  let marks = [], places = [], at = -1, order = [[], []];

  function node(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, word] of Object.entries(attributes)) made.setAttribute(key, word);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const short = (number, digits = 3) =>
    number === null ? "–" : String(Number(number.toPrecision(digits))).replace("-", "−");
  const mark = (code) => ({
    d: shapes[code < 0 ? 0 : code % shapes.length],
    class: code < 0 ? "mark none" : "mark",
    style: code < 0 ? "" : `fill: var(--g${code % 8})`,
  });

  function ticks(low, top) {
    const raw = (top - low) / 7, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= top; i++) found.push(i * step);
    return found;
  }

  function draw() {
    const [a, b] = [Number(across.value), Number(up.value)];
    const xs = data.scores.map((row) => row[a]), ys = data.scores.map((row) => row[b]);
    const span = (values) => {
      const [low, top] = values.reduce(([l, t], v) => [Math.min(l, v), Math.max(t, v)], [0, 0]);
      return [low, top, top - low || 1];
    };
    const [xl, xt, xr] = span(xs), [yl, yt, yr] = span(ys);
    const [inner, tall] = [wide - left - edge, high - foot - edge];
    // One scale for both axes, so that distances can be compared.
    const scale = 0.92 * Math.min(inner / xr, tall / yr);
    const x = (v) => left + inner / 2 + (v - (xl + xt) / 2) * scale;
    const y = (v) => edge + tall / 2 - (v - (yl + yt) / 2) * scale;
    const svg = node("svg", { viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" });
    const [w, h] = [inner / 2 / scale, tall / 2 / scale];
    for (const v of ticks((xl + xt) / 2 - w, (xl + xt) / 2 + w)) {
      const kind = Math.abs(v) * scale < 1e-6 ? "zero" : "grid";
      svg.append(node("path", { class: kind, d: `M${x(v)},${edge}V${high - foot}` }));
      svg.append(node("text", { x: x(v), y: high - foot + 19, "text-anchor": "middle" }, short(v)));
    }
    for (const v of ticks((yl + yt) / 2 - h, (yl + yt) / 2 + h)) {
      const kind = Math.abs(v) * scale < 1e-6 ? "zero" : "grid";
      svg.append(node("path", { class: kind, d: `M${left},${y(v)}H${wide - edge}` }));
      svg.append(node("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, short(v)));
    }
    const middle = left + inner / 2, centre = edge + tall / 2;
    svg.append(node("text", { class: "title", x: middle, y: high - 8, "text-anchor": "middle" },
      data.components[a]));
    svg.append(node("text", { class: "title", "text-anchor": "middle",
      transform: `translate(17,${centre}) rotate(-90)` }, data.components[b]));
    places = xs.map((v, i) => [x(v), y(ys[i])]);
    marks = places.map(([px, py], i) => {
      const made = node("path", { ...mark(data.groups ? data.groups[i] : 0),
        transform: `translate(${px.toFixed(1)},${py.toFixed(1)}) scale(${size})` });
      made.dataset.row = i;
      return made;
    });
    svg.append(...marks, ...labels(xs, ys), node("text", { class: "name" }));
    plot.replaceChildren(svg);
    order = [0, 1].map((side) => places.map((_, i) => i)
      .sort((i, j) => (side ? places[j][1] - places[i][1] : places[i][0] - places[j][0]) || i - j));
    if (at >= 0) show(at);
  }

  function show(i) {
    if (marks[at]) marks[at].classList.remove("at");
    at = i;
    marks[i].classList.add("at");
    marks[i].parentNode.insertBefore(marks[i], plot.querySelector(".name"));
    const [px, py] = places[i], right = px > wide * 0.7, name = plot.querySelector(".name");
    name.textContent = data.names[i].length > 40 ? `${data.names[i].slice(0, 39)}…` : data.names[i];
    for (const [key, word] of Object.entries({ x: px + (right ? -10 : 10), y: Math.max(py - 9, 16),
      "text-anchor": right ? "end" : "start" })) name.setAttribute(key, word);
    const chosen = [...new Set([across.value, up.value].map(Number))];
    const details = chosen.map((a) =>
      `${data.components[a].split(" ")[0]} ${short(data.scores[i][a])} (cos² ${short(data.cos2[i][a], 2)})`);
    if (data.groups && data.groups[i] >= 0) details.unshift(data.labels[data.groups[i]]);
    details.push(`T² ${short(data.t2[i])}`, `Q ${short(data.q[i])}`);
    if (data.beyond[i]) details.push(`${said.dataset.beyond} ${data.beyond[i].replace(", ", ` ${said.dataset.and} `)}`);
    said.textContent = `${data.names[i]}: ${details.join(" · ")}`;
  }

  // Names of the rows farthest from the centre, as many as fit.
  function labels(xs, ys) {
    if (!data.named) return [];
    const taken = [], far = xs.map((v, i) => [v * v + ys[i] * ys[i], i]);
    far.sort((one, other) => other[0] - one[0]);
    for (const [, i] of far.slice(0, 40)) {
      const [px, py] = places[i], name = data.names[i], long = 7.4 * name.length;
      if (taken.length >= 14 || name.length > 24) continue;
      const right = px + 9 + long < wide - edge, x = right ? px + 8 : px - 8 - long;
      const meets = ([l, t, r, b]) => x < r && l < x + long && py - 8 < b && t < py + 7;
      if (taken.some(({ room }) => meets(room))) continue;
      if (places.some(([u, v], j) => j !== i && meets([u - 4, v - 4, u + 4, v + 4]))) continue;
      taken.push({ room: [x, py - 8, x + long, py + 7], made: node("text", { class: "label",
        y: py + 4, x: right ? x : px - 8, "text-anchor": right ? "start" : "end" }, name) });
    }
    return taken.map(({ made }) => made);
  }

  function nearest(event) {
    const box = plot.firstChild.getBoundingClientRect();
    const scale = wide / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let best = -1, least = (26 * Math.max(1, scale)) ** 2;
    places.forEach(([px, py], i) => {
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }

  for (const [i, select] of [across, up].entries()) {
    data.components.forEach((name, c) => select.append(new Option(name, c, c === i, c === i)));
    select.addEventListener("change", () => {
      // Print shows the static figure, unless other components were chosen.
      document.body.classList.toggle("chosen", across.value !== "0" || up.value !== "1");
      draw();
    });
  }
  data.labels.forEach((label, code) => {
    const item = document.createElement("li");
    const sign = node("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" });
    sign.append(node("path", mark(code)));
    item.append(sign, label);
    find("legend").append(item);
  });
  plot.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i >= 0 && i !== at) show(i);
  });
  plot.addEventListener("keydown", (event) => {
    const [side, step] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1],
      ArrowDown: [1, -1], Home: [0, -Infinity], End: [0, Infinity] }[event.key] ?? [];
    if (side === undefined) return;
    event.preventDefault();
    const line = order[side], from = at < 0 ? -1 : line.indexOf(at);
    show(line[Math.min(Math.max(from + step, 0), line.length - 1)]);
  });
  find("find").addEventListener("input", (event) => {
    const part = event.target.value.toLowerCase();
    const i = part ? data.names.findIndex((name) => name.toLowerCase().includes(part)) : -1;
    if (i >= 0) show(i);
    else if (part) said.textContent = `${said.dataset.nobody}: ${event.target.value}`;
  });
  find("still").hidden = true;
  find("touch").hidden = false;
  draw();
}
