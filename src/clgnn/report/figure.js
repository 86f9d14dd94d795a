// Figures: their frame and controls, scales and axes, marks and lines.

// A figure: controls above, an SVG as wide as there is room, a caption that says what is chosen.
// `fields` are functions of the state that give what can be chosen, in their order.

const drawing = (id, title, fields, draw) => {
  const state = {};
  const controls = h("div", { class: "controls" });
  const legend = h("ul", { class: "legend" });
  const room = h("div", {});
  const caption = h("figcaption", {});
  const box = h("figure", { class: "box", "aria-labelledby": `${id}-title` }, legend, room, caption);
  const redraw = () => {
    const focused = controls.contains(document.activeElement)
      ? [...controls.querySelectorAll("select, input")].indexOf(document.activeElement) : -1;
    const made = [];
    for (const field of fields) {
      const options = field.options(state);
      if (!options.includes(state[field.name])) state[field.name] = field.first ? field.first(options) : options[0];
      if (options.length > 1) {
        made.push((field.segments ? segments : choose)(field.label, options, state[field.name], (value) => {
          state[field.name] = value;
          redraw();
        }, field.names));
      }
    }
    controls.replaceChildren(...made);
    if (focused >= 0) controls.querySelectorAll("select, input")[focused]?.focus();
    const width = Math.max(280, Math.min(room.clientWidth || 800, 1600));
    const drawn = draw(state, width);
    drawn.svg.setAttribute("role", "group");
    drawn.svg.setAttribute("aria-label", `${title}. ${drawn.caption}`);
    room.replaceChildren(drawn.svg);
    caption.textContent = drawn.caption;
    legend.replaceChildren(...drawn.legend.map(([swatch, text]) => h("li", {}, swatch, text)));
    rove(drawn.svg);
  };
  let last = 0;
  new ResizeObserver(() => {
    if (Math.abs(room.clientWidth - last) > 1) { last = room.clientWidth; redraw(); }
  }).observe(room);
  redraw();
  return [controls, box];
};
const figure = (id, title, hint, fields, draw) => {
  const made = section(id, title, hint ? h("p", {}, hint) : null, ...drawing(id, title, fields, draw));
  made.classList.add("drawn");
  return made;
};
// One stop for the tab key in a figure; arrows go from mark to mark
const rove = (svg) => {
  const marks = [...svg.querySelectorAll(".mark")];
  marks.forEach((mark, i) => mark.setAttribute("tabindex", i === 0 ? 0 : -1));
  svg.addEventListener("keydown", (event) => {
    const at = marks.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    const next = marks[(at + step + marks.length) % marks.length];
    marks[at].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
};

// How wide a text is in a figure, and as much of it as fits

const ruler = document.createElement("canvas").getContext("2d");
const wide = (text) => {
  ruler.font = `650 12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
};
const fit = (text, room) => {
  let shown = text;
  while (shown.length > 2 && wide(shown) > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
};

// Scales and axes

const niceTicks = (low, high, count) => {
  const raw = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, i) => +((first + i) * step).toPrecision(12));
};
const logTicks = (low, high) => {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of [1, 2, 5]) all.push(factor * 10 ** power);
  }
  const inside = all.filter((tick) => tick >= low && tick <= high);
  const tens = inside.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
  return inside.length > 7 && tens.length > 1 ? tens : inside;
};
const padded = (values, share = 0.06) => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const more = (high - low || Math.abs(high) || 1) * share;
  return [low - more, high + more];
};
const plot = ({ width, height, left = 52, right = 14, top = 10, bottom = 44, x, y, svg = s("svg", { viewBox: `0 0 ${width} ${height}` }) }) => {
  const place = (scale, from, to) => {
    const f = scale.log ? Math.log10 : (v) => v;
    const [low, high] = scale.domain.map(f);
    return (value) => from + ((f(value) - low) / (high - low)) * (to - from);
  };
  const X = place(x, left, width - right);
  const Y = place(y, height - bottom, top);
  const xTicks = x.ticks ?? (x.log ? logTicks(...x.domain) : niceTicks(...x.domain, Math.max(2, Math.floor((width - left - right) / 90))));
  for (const tick of xTicks) {
    svg.append(s("line", { class: "gridline", x1: X(tick), x2: X(tick), y1: top, y2: height - bottom }),
      s("text", { class: "tick", x: X(tick), y: height - bottom + 17, "text-anchor": "middle" }, (x.format ?? short)(tick)));
  }
  for (const tick of y.ticks ?? niceTicks(...y.domain, Math.max(2, Math.floor((height - top - bottom) / 55)))) {
    svg.append(s("line", { class: "gridline", x1: left, x2: width - right, y1: Y(tick), y2: Y(tick) }),
      s("text", { class: "tick", x: left - 8, y: Y(tick) + 4, "text-anchor": "end" }, (y.format ?? short)(tick)));
  }
  svg.append(s("text", { class: "axis", x: (left + width - right) / 2, y: height - bottom + 36, "text-anchor": "middle" }, x.label));
  if (y.label) {
    svg.append(s("text", { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)` }, y.label));
  }
  return { svg, X, Y };
};
const symbol = (shape, x, y, r, attributes) => {
  if (shape === "circle") return s("circle", { cx: x, cy: y, r, ...attributes });
  const outlines = {
    square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
    diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    triangle: [[0, -1.2], [1.15, 0.85], [-1.15, 0.85]],
    down: [[0, 1.2], [1.15, -0.85], [-1.15, -0.85]],
  };
  return s("path", { d: `M${outlines[shape].map(([a, b]) => `${(x + a * r).toFixed(2)} ${(y + b * r).toFixed(2)}`).join("L")}Z`, ...attributes });
};
const paint = (colour, hollow) => (hollow
  ? { fill: "var(--paper)", stroke: `var(--${colour})`, "stroke-width": 1.6 } : { fill: `var(--${colour})`, stroke: "var(--paper)", "stroke-width": 1 });
// An interval as a line; what lies outside of the domain is cut, with an arrow
const interval = (X, domain, from, to, y, colour, dashed = false) => {
  const [a, b] = [Math.max(from, domain[0]), Math.min(to, domain[1])];
  if (a > b) return [];
  const line = [s("line", { x1: X(a), x2: X(b), y1: y, y2: y, stroke: `var(--${colour})`, "stroke-width": 2, "stroke-dasharray": dashed ? "4 3" : null })];
  if (from < domain[0]) line.push(s("path", { d: `M${X(a)} ${y}l7 -4v8z`, fill: `var(--${colour})` }));
  if (to > domain[1]) line.push(s("path", { d: `M${X(b)} ${y}l-7 -4v8z`, fill: `var(--${colour})` }));
  return line;
};
const swatch = ([colour, shape], { hollow = false, line = false, dashed = false } = {}) => s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" },
  line ? s("line", { x1: 1, x2: 25, y1: 7, y2: 7, stroke: `var(--${colour})`, "stroke-width": 2, "stroke-dasharray": dashed ? "4 3" : null }) : null,
  symbol(shape, 13, 7, 4.2, paint(colour, hollow)));
const mark = (title, rows, x, y, r, ...drawn) => withTip(s("g", { class: "mark", role: "img" }, s("circle", { class: "hit", cx: x, cy: y, r: r + 4 }), ...drawn), title, rows);

const path = (pairs) => `M${pairs.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}`;

// What most figures choose by

const datasetField = (list) => ({ name: "dataset", label: "Dataset", options: (state) => distinct(list(state).map((cell) => cell.dataset)), names: datasetOf });
const labelsField = (list) => ({
  name: "labels", label: "Training labels", names: (labels) => labels.toLocaleString("en"),
  options: (state) => distinct(list(state).filter((cell) => cell.dataset === state.dataset).map((cell) => cell.labels)),
});
const matches = (state, names) => (cell) => names.every((name) => cell[name] === state[name]);
const percentField = (list, names = ["dataset"]) => ({
  name: "percent", label: "Test graph", segments: true, names: shortScenario,
  options: (state) => distinct(list(state).filter(matches(state, names)).map((cell) => cell.percent)).sort((a, b) => a - b),
});
const familyField = (list, names) => ({
  name: "family", label: "GNN", names: (family) => Object.values(methods).find((m) => m.family === family)?.family_name ?? "Others",
  options: (state) => distinct(list(state).filter(matches(state, names)).map((cell) => methods[cell.method].family)),
});
