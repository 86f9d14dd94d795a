"use strict";
// Draws the page from its content, the JSON beside this script. No library, no request.
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const { datasets = {}, methods = {}, cells = [], kind } = content;
  const main = document.getElementById("main");
  const SVG = "http://www.w3.org/2000/svg";

  // Elements. Texts only ever become text nodes: a label is never read as HTML.

  const make = (namespace) => (tag, attributes = {}, ...children) => {
    const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  };
  const h = make(null);
  const s = make(SVG);

  // Numbers

  const there = (value) => typeof value === "number";
  const minus = (text) => text.replace("-", "−");
  const number = (value, digits = 2) => (there(value) ? minus(value.toFixed(digits)) : "–");
  const signed = (value, digits = 2) => (there(value) ? (value >= 0 ? "+" : "") + number(value, digits) : "–");
  const small = (p) => (!there(p) ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));
  const short = (value) => minus(String(+value.toPrecision(3)));
  const duration = (seconds) => (!there(seconds) ? "–" : seconds < 100 ? `${short(seconds)} s`
    : seconds < 6000 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`);
  const setting = (value) => (value === null ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const distinct = (values) => [...new Set(values)];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Names

  const nameOf = (method) => methods[method]?.name ?? method;
  const datasetOf = (dataset) => (datasets[dataset]?.name ?? dataset) + (datasets[dataset]?.mark ?? "");
  const metricOf = (dataset) => datasets[dataset]?.metric ?? "accuracy";
  const unitOf = (dataset) => datasets[dataset]?.unit ?? "%";
  const points = (dataset) => (unitOf(dataset) === "%" ? "points" : metricOf(dataset));
  const axisOf = (dataset) => `Test ${metricOf(dataset)}${unitOf(dataset) ? `, ${unitOf(dataset)}` : ""}`;
  const worse = (cell) => (datasets[cell.dataset]?.lower ? cell.gain > 0 : cell.gain < 0);
  const digitsOf = (dataset) => (unitOf(dataset) === "%" ? 2 : 4);
  const scenarioOf = (percent) => (percent === 0 ? "unlabelled test graph" : `partially labelled test graph${kind === "trials" ? ` (the paper's ${percent} %)` : ""}`);
  const shortScenario = (percent) => (percent === 0 ? "unlabelled" : "partially labelled");
  const columnOf = (cell) => `${datasetOf(cell.dataset)}${cell.labels ? `, ${cell.labels.toLocaleString("en")} labels` : ""}`;
  const KINDS = {
    plain: ["plain", "circle"], cl: ["boosted", "diamond"], "cl-auto": ["boosted", "square"], "start-mean": ["other", "square"], "cl-uniform": ["uniform", "triangle"],
    "cl-observed": ["observed", "square"], other: ["other", "circle"],
  };
  const styleOf = (method) => KINDS[methods[method]?.kind] ?? KINDS.other;
  const find = (where) => cells.find((cell) => Object.entries(where).every(([name, value]) => cell[name] === value));

  // The tooltip: on hover, on keyboard focus, on touch; Escape hides it

  const tip = document.getElementById("tip");
  const tips = new WeakMap();
  const withTip = (element, title, rows) => {
    tips.set(element, [title, rows]);
    element.setAttribute("data-tip", "");
    element.setAttribute("aria-label", `${title}: ${rows.map((row) => row.join(" ")).join(", ")}`);
    return element;
  };
  let tipped = null;
  const showTip = (element) => {
    tipped = element;
    const [title, rows] = tips.get(element);
    tip.replaceChildren(h("strong", {}, title),
      h("table", {}, rows.map((row) => h("tr", {}, row.map((part) => h("td", {}, part))))));
    tip.hidden = false;
    placeTip();
  };
  const placeTip = () => {
    if (tip.hidden || !tipped?.isConnected) return hideTip();
    const [room, box] = [tip.getBoundingClientRect(), tipped.getBoundingClientRect()];
    const left = Math.min(Math.max(8, box.left + box.width / 2 - room.width / 2), innerWidth - room.width - 8);
    const above = box.top - room.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : Math.min(box.bottom + 8, innerHeight - room.height - 4)}px`;
    return undefined;
  };
  const hideTip = () => { tip.hidden = true; };
  for (const [type, act] of [["pointerover", showTip], ["focusin", showTip], ["pointerout", hideTip], ["focusout", hideTip]]) {
    document.addEventListener(type, (event) => {
      const element = event.target.closest?.("[data-tip]");
      if (element) act(element);
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  document.addEventListener("scroll", placeTip, { capture: true, passive: true });

  // The head

  const theme = () => document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const toggle = h("button", { type: "button", id: "theme" });
  const nameToggle = () => { toggle.textContent = theme() === "dark" ? "Light colours" : "Dark colours"; };
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    nameToggle();
  });
  nameToggle();
  const contents = h("nav", { "aria-label": "Sections" });
  document.getElementById("head").append(
    h("div", { class: "top" }, h("h1", {}, content.title ?? "clgnn"), toggle),
    ...(content.lead ? [h("p", { class: "lead" }, content.lead)] : []),
    h("dl", { class: "facts" }, (content.facts ?? []).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("ul", { class: "notes" }, (content.notes ?? []).map((note) => h("li", {}, note))),
    contents,
  );
  const section = (id, title, ...children) => {
    contents.append(h("a", { href: `#${id}` }, title));
    const made = h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
    main.append(made);
    return made;
  };

  // Tables

  const table = (caption, columns, rows, options = {}) => h("div", { class: `scroll ${options.class ?? ""}`, tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, h("span", {}, caption)),
      h("thead", {}, h("tr", {}, columns.map((column, j) => h("th", { scope: "col", class: [...(options.wrap ?? []), ...(options.text ?? [])].includes(j) ? "text" : null }, column)))),
      h("tbody", {}, rows.map((row, i) => h("tr", { class: options.last && i === rows.length - 1 ? "last" : null },
        row.map((value, j) => (j === 0 ? h("th", { scope: "row" }, value)
          : h("td", { class: (options.wrap ?? []).includes(j) ? "wrap" : (options.text ?? []).includes(j) ? "text" : null }, value))))))));

  // One cell of the main table, and what is behind it

  const tipOf = (cell) => {
    const digits = digitsOf(cell.dataset);
    const rows = [["trials", `${cell.n}${cell.failed ? `, ${cell.failed} failed` : ""}`],
      ["mean", `${number(cell.mean, digits)} ${unitOf(cell.dataset)}`], ["standard error", number(cell.se, digits)]];
    if (there(cell.gain)) {
      rows.push([`gain over ${nameOf(cell.base)}`, `${signed(cell.gain, digits)} ${points(cell.dataset)}`],
        ["95 % interval", there(cell.low) ? `${signed(cell.low, digits)} to ${signed(cell.high, digits)}` : "–"],
        ["p", small(cell.p) + (!cell.significant ? "" : worse(cell) ? ", a significant loss" : ", a significant gain")]);
      if (kind === "trials") rows.push(["Holm's p", small(cell.p_holm)]);
    }
    const printed = cell.published;
    if (printed) {
      rows.push(["paper", `${number(printed.mean)} ${unitOf(cell.dataset)}${there(printed.gain) ? `, gain ${signed(printed.gain)} ± ${number(printed.gain_se)}` : there(printed.se) ? ` ± ${number(printed.se)}` : ""}`]);
    }
    return rows;
  };
  const headline = (cell) => `${nameOf(cell.method)} on ${columnOf(cell)}`;
  const drawer = document.getElementById("drawer");
  const openCell = (cell) => {
    hideTip();
    const close = h("button", { type: "button" }, "Close");
    close.addEventListener("click", () => drawer.close());
    const digits = digitsOf(cell.dataset);
    const varying = Object.keys(cell.trials?.[0]?.settings ?? {});
    const has = (name) => cell.trials.some((trial) => there(trial[name]));
    const optional = [["gain", "gain", (v) => signed(v, digits)], ["validation", "validation", (v) => number(v, 4)],
      ["seconds", "fit", duration], ["predict_seconds", "prediction", duration]].filter(([name]) => has(name));
    drawer.replaceChildren(
      h("div", { class: "top" }, h("h2", { id: "drawer-title" }, headline(cell)), close),
      h("p", {}, `${metricOf(cell.dataset)[0].toUpperCase()}${metricOf(cell.dataset).slice(1)} on the test nodes; ${scenarioOf(cell.percent)}.`),
      h("dl", { class: "pairs" }, [...tipOf(cell), ["mean time of a fit", duration(cell.seconds)],
        ...(there(cell.memory) ? [["peak memory", `${Math.round(cell.memory).toLocaleString("en")} MiB`]] : [])]
        .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("h3", {}, "Settings"),
      table("Of every trial", ["setting", "value"], Object.entries(cell.settings ?? {}).map(([name, value]) => [name, setting(value)]), { class: "fits" }),
      h("h3", {}, kind === "comparison" ? "Splits" : "Trials"),
      table(axisOf(cell.dataset), [kind === "comparison" ? "split" : "trial", "value", ...optional.map(([, name]) => name), ...varying],
        cell.trials.map((trial) => [String(trial.trial), number(trial.value, digits),
          ...optional.map(([name, , format]) => format(trial[name])), ...varying.map((name) => setting(trial.settings[name] ?? null))])),
    );
    drawer.showModal();
    drawer.scrollTop = 0;
  };
  drawer.addEventListener("click", (event) => { if (event.target === drawer) drawer.close(); });

  const cellButton = (cell) => {
    const digits = digitsOf(cell.dataset);
    const places = digits === 2 ? 1 : digits;
    const printed = cell.published;
    const button = h("button", { type: "button", class: "cell" },
      h("span", {}, h("span", { class: cell.best ? "best" : null, style: "display:inline" }, number(cell.mean, places)),
        there(cell.se) ? h("small", {}, ` ± ${number(cell.se, places)}`) : null),
      there(cell.gain) ? h("span", { class: `gain${cell.significant ? ` significant${worse(cell) ? " loss" : ""}` : ""}` }, signed(cell.gain, places)) : null,
      cell.failed ? h("span", { class: "failed" }, `${cell.failed} failed`) : null,
      printed ? h("span", { class: "printed" }, `${number(printed.mean, 1)}${there(printed.gain) ? ` ${signed(printed.gain, 1)}` : ""}`) : null);
    button.addEventListener("click", () => openCell(cell));
    return withTip(button, headline(cell), tipOf(cell));
  };

  const mainTable = (percent, shown) => {
    const here = shown.filter((cell) => cell.percent === percent);
    const keys = distinct(here.map((cell) => JSON.stringify([cell.dataset, cell.labels]))).map(JSON.parse);
    const rows = Object.keys(methods).filter((method) => here.some((cell) => cell.method === method));
    const starts = keys.map(([dataset], i) => i === 0 || keys[i - 1][0] !== dataset);
    const groups = distinct(rows.map((method) => methods[method].group));
    const caption = `Mean and standard error of the test metric${keys.every(([dataset]) => unitOf(dataset) === "%") ? " in %" : ""}, ${scenarioOf(percent)}. `
      + `Below it the gain of a boosted GNN over the plain one; where p < 0.05 it is bold, and green if the GNN became better, red if it became worse.${cells.some((cell) => cell.published) ? " In italics: the paper's number and gain." : ""} Underlined: ${content.best ?? "the best of its column"}.`;
    const body = groups.map((group) => h("tbody", {},
      group ? h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: keys.length + 1 }, group)) : null,
      rows.filter((method) => methods[method].group === group).map((method) => h("tr", { class: methods[method].kind === "cl" ? "boosted-row" : null },
        h("th", { scope: "row" }, nameOf(method)),
        keys.map(([dataset, labels], i) => {
          const cell = here.find((c) => c.dataset === dataset && c.labels === labels && c.method === method);
          return h("td", { class: `${cell ? "filled" : "absent"}${starts[i] ? " start" : ""}` }, cell ? cellButton(cell) : "–");
        })))));
    return h("div", { "data-scenario": percent },
      h("div", { class: `scroll ${keys.length < 4 ? "fits" : ""}`, tabindex: 0, role: "region", "aria-label": `Table, ${scenarioOf(percent)}` },
        h("table", { class: "sticky" }, h("caption", {}, h("span", {}, caption)),
          h("thead", {},
            h("tr", {}, h("th", { rowspan: 2, scope: "col" }, "Method"), keys.map(([dataset], i) => (starts[i]
              ? h("th", { scope: "colgroup", class: "start", colspan: keys.filter(([other]) => other === dataset).length },
                datasetOf(dataset), metricOf(dataset) === "accuracy" ? null : h("small", {}, metricOf(dataset))) : null))),
            h("tr", {}, keys.map(([, labels], i) => h("th", { scope: "col", class: starts[i] ? "start" : null }, labels ? `${labels.toLocaleString("en")} labels` : "")))),
          body)));
  };

  // Controls: what they choose from is what there is; a choice of one is no control

  const choose = (label, options, value, onChange, names = String) => {
    const select = h("select", {}, options.map((option, i) => h("option", { value: i, selected: option === value }, names(option))));
    select.addEventListener("change", () => onChange(options[select.value]));
    return h("label", {}, label, select);
  };
  let groups = 0;
  const segments = (label, options, value, onChange, names = String) => {
    const group = `group-${(groups += 1)}`;
    return h("fieldset", { class: "segments" }, h("legend", {}, label), h("div", {}, options.map((option) => {
      const input = h("input", { type: "radio", name: group, checked: option === value });
      input.addEventListener("change", () => onChange(option));
      return h("label", {}, input, h("span", {}, names(option)));
    })));
  };

  // A figure: controls above, an SVG as wide as there is room, a caption that says what is chosen.
  // `fields` are functions of the state that give what can be chosen, in their order.

  const figure = (id, title, hint, fields, draw, compact = false) => {
    const state = {};
    const controls = h("div", { class: "controls" });
    const legend = h("ul", { class: "legend" });
    const room = h("div", {});
    const caption = h("figcaption", {});
    const box = h("figure", { class: compact ? "box compact" : "box", "aria-labelledby": `${id}-title` }, legend, room, caption);
    const redraw = () => {
      const focused = controls.contains(document.activeElement)
        ? [...controls.querySelectorAll("select, input")].indexOf(document.activeElement) : -1;
      const made = [];
      for (const field of fields) {
        const options = field.options(state);
        if (!options.includes(state[field.name])) state[field.name] = options[0];
        if (options.length > 1) {
          made.push((field.segments ? segments : choose)(field.label, options, state[field.name], (value) => {
            state[field.name] = value;
            redraw();
          }, field.names));
        }
      }
      controls.replaceChildren(...made);
      if (focused >= 0) controls.querySelectorAll("select, input")[focused]?.focus();
      const width = Math.max(280, Math.min(room.clientWidth || 800, 1100));
      const drawn = draw(state, width);
      drawn.svg.setAttribute("role", "group");
      drawn.svg.setAttribute("aria-label", `${title}. ${drawn.caption}`);
      room.replaceChildren(drawn.svg);
      caption.textContent = drawn.caption;
      legend.replaceChildren(...drawn.legend.map(([swatch, text]) => h("li", {}, swatch, text)));
      rove(drawn.svg);
    };
    section(id, title, hint ? h("p", {}, hint) : null, controls, box).classList.add("drawn");
    let last = 0;
    new ResizeObserver(() => {
      if (Math.abs(room.clientWidth - last) > 1) { last = room.clientWidth; redraw(); }
    }).observe(room);
    last = room.clientWidth;
    redraw();
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
  const plot = ({ width, height, left = 52, right = 14, top = 10, bottom = 44, x, y }) => {
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}` });
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
    svg.append(s("text", { class: "axis", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, x.label));
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
    };
    return s("path", { d: `M${outlines[shape].map(([a, b]) => `${(x + a * r).toFixed(2)} ${(y + b * r).toFixed(2)}`).join("L")}Z`, ...attributes });
  };
  const paint = (colour, hollow) => (hollow
    ? { fill: "var(--paper)", stroke: `var(--${colour})`, "stroke-width": 1.6 } : { fill: `var(--${colour})`, stroke: "var(--paper)", "stroke-width": 1 });
  const swatch = ([colour, shape], { hollow = false, line = false, dashed = false } = {}) => s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" },
    line ? s("line", { x1: 1, x2: 25, y1: 7, y2: 7, stroke: `var(--${colour})`, "stroke-width": 2, "stroke-dasharray": dashed ? "4 3" : null }) : null,
    symbol(shape, 13, 7, 4.2, paint(colour, hollow)));
  const mark = (title, rows, x, y, r, ...drawn) => withTip(s("g", { class: "mark", role: "img" }, s("circle", { class: "hit", cx: x, cy: y, r: r + 4 }), ...drawn), title, rows);

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

  // The table

  const measured = cells.filter((cell) => there(cell.mean));
  if (measured.length) {
    const percents = distinct(measured.map((cell) => cell.percent)).sort((a, b) => a - b);
    const views = percents.map((percent) => mainTable(percent, measured));
    const show = (percent) => views.forEach((view, i) => { view.hidden = percents[i] !== percent; });
    show(percents[0]);
    section("results", "Results", h("p", { class: "hint" }, "Hover or focus a number for its statistics; click it for the settings and every trial behind it."),
      percents.length > 1 ? h("div", { class: "controls" }, segments("Test graph", percents, percents[0], show, shortScenario)) : null, ...views);
  }
  for (const [i, extra] of (content.tables ?? []).entries()) {
    section(`table-${i}`, extra.title, table(extra.caption, extra.columns, extra.rows.map((row) => row.map((value) => (/^-[\d.]/.test(value) ? minus(value) : value))), { last: extra.last, class: "fits" }));
  }

  // The confusion matrix

  if (content.confusion) {
    const { classes, counts } = content.confusion;
    section("confusion", "Confusion matrix", h("div", { class: "scroll fits", tabindex: 0, role: "region", "aria-label": "Confusion matrix" },
      h("table", { class: "heat" }, h("caption", {}, h("span", {}, "Judged nodes by true class (rows) and predicted class (columns); the darker, the larger the share of the row")),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true \\ predicted"), classes.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, counts.map((row, i) => {
          const total = row.reduce((a, b) => a + b, 0);
          return h("tr", {}, h("th", { scope: "row" }, classes[i]), row.map((count, j) => h("td", {
            class: i === j ? "diagonal" : count ? null : "none", style: `--share:${total ? Math.round((100 * count) / total) : 0}%`,
          }, count.toLocaleString("en"))));
        })))));
  }

  // Gains

  const gains = measured.filter((cell) => there(cell.gain));
  if (gains.length) {
    const ALL = "all";
    const withAll = (field, label) => ({
      ...field, options: (state) => { const found = field.options(state); return found.length > 1 ? [...found, ALL] : found; },
      names: (option) => (option === ALL ? label : field.names(option)),
    });
    const like = (state, names) => gains.filter((cell) => names.every((name) => state[name] === ALL || cell[name] === state[name]));
    const fields = [
      withAll({ name: "method", label: "Method", names: nameOf, options: () => Object.keys(methods).filter((method) => gains.some((cell) => cell.method === method)) }, "All methods"),
      { ...withAll({ name: "dataset", label: "Dataset", names: datasetOf, options: (state) => distinct(like(state, ["method"]).map((cell) => cell.dataset)) }, "All datasets") },
      withAll({ name: "percent", label: "Test graph", segments: true, names: shortScenario, options: (state) => distinct(like(state, ["method", "dataset"]).map((cell) => cell.percent)).sort((a, b) => a - b) }, "both"),
    ];
    const datasetOptions = fields[1].options;
    fields[1].options = (state) => { const found = datasetOptions(state); return found.includes(ALL) ? [ALL, ...found.slice(0, -1)] : found; };
    figure("gains", "Gains", "How much collective learning adds to the plain GNN, or takes from it: the mean over trials and its 95 % interval. Small dots are single trials.", fields, (state, width) => {
      const shown = like(state, ["method", "dataset", "percent"]);
      const vary = (name) => distinct(shown.map((cell) => cell[name])).length > 1;
      const wide = width >= 620;
      const labelOf = (cell) => [
        vary("dataset") || vary("labels") || !vary("method") ? columnOf(cell) : null,
        vary("method") ? nameOf(cell.method) : null, vary("percent") ? shortScenario(cell.percent) : null,
      ].filter(Boolean).join(" · ");
      const core = shown.flatMap((cell) => [0, cell.gain, ...(cell.trials ?? []).map((trial) => trial.gain).filter(there),
        ...(there(cell.published?.gain) ? [cell.published.low, cell.published.high] : [])]);
      const [low, high] = [Math.min(...core), Math.max(...core)];
      const reach = (high - low || 1) * 0.5; // an interval of few trials may be very long: it is cut, with an arrow
      const domain = padded([low, high, ...shown.filter((cell) => there(cell.low)).flatMap((cell) => [Math.max(cell.low, low - reach), Math.min(cell.high, high + reach)])], 0.04);
      const rowHeight = wide ? 34 : 54;
      const height = 8 + rowHeight * shown.length + 44;
      const longest = Math.max(...shown.map((cell) => labelOf(cell).length));
      const { svg, X } = plot({
        width, height, left: wide ? Math.min(width * 0.42, 20 + longest * 6.6) : 10, right: 22, top: 8,
        x: { domain, label: `Gain in ${points(shown[0].dataset)}`, format: (v) => (v > 0 ? `+${short(v)}` : short(v)) }, y: { domain: [0, 1], ticks: [] },
      });
      svg.append(s("line", { class: "zero", x1: X(0), x2: X(0), y1: 8, y2: height - 44 }));
      const interval = (from, to, y, colour, dashed) => {
        const [a, b] = [Math.max(from, domain[0]), Math.min(to, domain[1])];
        const line = [s("line", { x1: X(a), x2: X(b), y1: y, y2: y, stroke: `var(--${colour})`, "stroke-width": 2, "stroke-dasharray": dashed ? "4 3" : null })];
        if (from < domain[0]) line.push(s("path", { d: `M${X(a)} ${y}l7 -4v8z`, fill: `var(--${colour})` }));
        if (to > domain[1]) line.push(s("path", { d: `M${X(b)} ${y}l-7 -4v8z`, fill: `var(--${colour})` }));
        return line;
      };
      shown.forEach((cell, i) => {
        const y = 8 + rowHeight * i + (wide ? rowHeight / 2 : 32);
        const printed = there(cell.published?.gain) ? cell.published : null;
        const style = styleOf(cell.method);
        svg.append(wide ? s("text", { x: X(domain[0]) - 12, y: y + 4, "text-anchor": "end" }, labelOf(cell))
          : s("text", { class: "halo", x: 10, y: y - 16 }, labelOf(cell)));
        const at = printed ? y - 6 : y;
        for (const trial of (cell.trials ?? []).filter((t) => there(t.gain))) {
          svg.append(s("circle", { cx: X(trial.gain), cy: at, r: 2.6, fill: `var(--${style[0]})`, "fill-opacity": 0.45 }));
        }
        if (there(cell.low)) svg.append(...interval(cell.low, cell.high, at, style[0], false));
        if (printed) {
          svg.append(...interval(printed.low, printed.high, y + 8, "other", true),
            mark(`Paper: ${headline(cell)}`, [["gain", `${signed(printed.gain)} points`], ["standard error", number(printed.gain_se)],
              ["95 % interval", `${signed(printed.low)} to ${signed(printed.high)}`], ["test graph", shortScenario(cell.percent)], ["significant", printed.significant ? "yes" : "no"]],
            X(printed.gain), y + 8, 5, symbol(style[1], X(printed.gain), y + 8, 4.5, paint("other", true))));
        }
        svg.append(mark(headline(cell), [...tipOf(cell), ["test graph", shortScenario(cell.percent)]], X(cell.gain), at, 6, symbol(style[1], X(cell.gain), at, 5, paint(style[0]))));
      });
      const kinds = distinct(shown.map((cell) => methods[cell.method].kind));
      const kindNames = { "cl-auto": "ours, auto start", "start-mean": "mean of the starts", cl: kind === "comparison" ? "gain of the boosted GNN" : "ours, + CL", "cl-uniform": "ours, random labels", "cl-observed": "ours, true labels only" };
      return {
        svg,
        caption: `${state.method === ALL ? "All methods" : nameOf(state.method)}; ${state.dataset === ALL ? "all datasets" : datasetOf(state.dataset)}; ${state.percent === ALL ? "both kinds of test graph" : scenarioOf(state.percent)}.`,
        legend: [...kinds.map((k) => [swatch(KINDS[k] ?? KINDS.other, { line: true }), kindNames[k] ?? `ours, + ${k}`]),
          ...(shown.some((cell) => there(cell.published?.gain)) ? [[swatch(["other", "diamond"], { line: true, dashed: true, hollow: true }), "published"]] : [])],
      };
    });
  }

  // Lines over labels or iterations

  const path = (pairs) => `M${pairs.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}`;
  const lines = (width, series, x, yLabel, unit) => {
    const values = series.flatMap((one) => one.points.flatMap((point) => [point.mean - (point.se ?? 0), point.mean + (point.se ?? 0)]));
    const { svg, X, Y } = plot({ width, height: width < 500 ? 300 : 380, x, y: { domain: padded(values, 0.08), label: yLabel } });
    for (const one of series) {
      const [colour, shape] = one.style;
      const pairs = one.points.map((point) => [X(point.x), Y(point.mean)]);
      if (!one.dashed && one.points.length > 1 && one.points.every((point) => there(point.se))) {
        const band = [...one.points.map((p) => [X(p.x), Y(p.mean + p.se)]), ...[...one.points].reverse().map((p) => [X(p.x), Y(p.mean - p.se)])];
        svg.append(s("path", { d: `${path(band)}Z`, fill: `var(--${colour})`, "fill-opacity": 0.14 }));
      }
      svg.append(s("path", { d: path(pairs), fill: "none", stroke: `var(--${colour})`, "stroke-width": 2, "stroke-dasharray": one.dashed ? "5 4" : null }));
      one.points.forEach((point, i) => {
        if (point.silent) return;
        svg.append(mark(one.name, [[x.label.toLowerCase(), short(point.x)], ["mean", `${number(point.mean)} ${unit}`], ["standard error", number(point.se)],
          ...(point.n ? [["trials", String(point.n)]] : [])], ...pairs[i], 5, symbol(shape, ...pairs[i], 4.6, paint(colour, one.dashed))));
      });
    }
    return svg;
  };
  const legendOf = (series) => series.map((one) => [swatch(one.style, { line: true, dashed: one.dashed, hollow: one.dashed }), one.name]);

  const manyLabels = measured.filter((cell) => measured.some((other) => other.labels !== cell.labels && ["dataset", "percent", "method"].every((name) => other[name] === cell[name])));
  if (manyLabels.length) {
    const list = () => manyLabels;
    const families = familyField(list, ["dataset", "percent"]);
    const byFamily = families.options;
    families.options = (state) => { const found = byFamily(state); return [...found.filter(Boolean), ...(found.includes(null) ? [null] : [])]; };
    families.label = "Methods";
    families.names = (family) => (family === null ? "Methods that are no GNN of the paper" : `${Object.values(methods).find((m) => m.family === family).family_name}, plain and boosted`);
    const OTHERS = ["plain", "boosted", "uniform", "observed", "other"];
    figure("curves", "Learning curves", "The test metric against the number of training labels; bands are one standard error.",
      [datasetField(list), percentField(list), families], (state, width) => {
        const shown = manyLabels.filter((cell) => cell.dataset === state.dataset && cell.percent === state.percent && methods[cell.method].family === state.family);
        const order = Object.keys(methods).filter((method) => shown.some((cell) => cell.method === method));
        const series = [];
        order.forEach((method, i) => {
          const here = shown.filter((cell) => cell.method === method).sort((a, b) => a.labels - b.labels);
          const style = state.family === null ? [OTHERS[i % 5], ["circle", "diamond", "triangle", "square"][Math.floor(i / 5 + i) % 4]] : styleOf(method);
          series.push({ name: nameOf(method), style, points: here.map((cell) => ({ x: cell.labels, mean: cell.mean, se: cell.se, n: cell.n })) });
          const printed = here.filter((cell) => cell.published);
          if (printed.length) series.push({ name: `${nameOf(method)}, paper`, style, dashed: true, points: printed.map((cell) => ({ x: cell.labels, mean: cell.published.mean, se: cell.published.se })) });
        });
        const ticks = distinct(shown.map((cell) => cell.labels)).sort((a, b) => a - b);
        return {
          svg: lines(width, series, { domain: padded(ticks, 0.05), ticks, label: "Training labels" }, axisOf(state.dataset), unitOf(state.dataset)),
          caption: `${datasetOf(state.dataset)}; ${scenarioOf(state.percent)}. Dashed and hollow: the paper's numbers.`, legend: legendOf(series),
        };
      });
  }

  const iterated = cells.filter((cell) => cell.iterations);
  if (iterated.length) {
    const list = () => iterated;
    const column = ["dataset", "labels", "percent"];
    figure("iterations", "Accuracy by iteration", "The test metric after each iteration, with labels drawn from the predictions and without (uniform random labels, or the true labels alone). Iteration 0 has no labels as input; bands are one standard error.",
      [datasetField(list), labelsField(list), percentField(list, ["dataset", "labels"]), familyField(list, column)], (state, width) => {
        const shown = iterated.filter((cell) => matches(state, column)(cell) && methods[cell.method].family === state.family);
        const named = { cl: "predicted labels", "cl-auto": "auto start", "start-mean": "mean of the starts", "cl-uniform": "uniform random labels", "cl-observed": "true labels only" };
        const series = shown.map((cell) => ({
          name: state.family === null ? nameOf(cell.method) : `${nameOf(cell.method).split(",")[0]}: ${named[methods[cell.method].kind] ?? methods[cell.method].kind}`, style: styleOf(cell.method),
          points: cell.iterations.mean.map((value, t) => ({ x: t, mean: value, se: cell.iterations.se[t], n: cell.n })),
        }));
        const last = Math.max(...shown.map((cell) => cell.iterations.mean.length)) - 1;
        const plain = find({ dataset: state.dataset, labels: state.labels, percent: state.percent, method: shown[0].base });
        if (plain && there(plain.mean)) {
          series.unshift({ name: `${nameOf(plain.method)}, plain`, style: ["plain", "circle"], points: [{ x: 0, mean: plain.mean, silent: true }, { x: last, mean: plain.mean, se: plain.se, n: plain.n }] });
        }
        return {
          svg: lines(width, series, { domain: [-0.15, last + 0.15], ticks: Array.from({ length: last + 1 }, (_, t) => t), label: "Iteration" }, axisOf(state.dataset), unitOf(state.dataset)),
          caption: `${columnOf(state)}; ${scenarioOf(state.percent)}.`, legend: legendOf(series),
        };
      });
  }

  // Time against accuracy

  const timed = measured.filter((cell) => cell.seconds > 0);
  if (timed.length > 1) {
    const list = () => timed;
    figure("time", kind === "comparison" ? "Time" : "Time against accuracy", "Mean seconds of a fit, on a logarithmic scale, against the mean of the test metric.",
      [datasetField(list), labelsField(list), percentField(list, ["dataset", "labels"])], (state, width) => {
        const here = matches(state, ["dataset", "labels", "percent"]);
        const shown = timed.filter(here);
        const printed = (content.times ?? []).filter(here);
        const everything = [...shown, ...printed];
        const [low, high] = [Math.min(...everything.map((c) => c.seconds)), Math.max(...everything.map((c) => c.seconds))];
        const height = width < 500 ? 360 : 440;
        const { svg, X, Y } = plot({
          width, height, right: 24, x: { log: true, domain: [low / 1.6, high * 1.9], label: "Seconds of a fit" },
          y: { domain: padded(everything.map((c) => c.mean), 0.1), label: axisOf(state.dataset) },
        });
        const taken = everything.map((c) => [X(c.seconds) - 6, Y(c.mean) - 6, X(c.seconds) + 6, Y(c.mean) + 6]);
        const marks = [];
        for (const cell of printed) {
          const [x, y] = [X(cell.seconds), Y(cell.mean)];
          marks.push(mark(`Paper: ${nameOf(cell.method)}`, [["time", `${duration(cell.seconds)} on its own machine`], ["mean", `${number(cell.mean)} %`]], x, y, 5, symbol(styleOf(cell.method)[1], x, y, 5, paint(styleOf(cell.method)[0], true))));
        }
        const rank = (cell) => ["cl", "plain"].indexOf(methods[cell.method].kind);
        for (const cell of [...shown].sort((a, b) => rank(b) - rank(a))) {
          const [x, y] = [X(cell.seconds), Y(cell.mean)];
          const text = nameOf(cell.method);
          const size = text.length * 6.4;
          // the first place that is free; a label that has none is left to the tooltip
          const free = [[x + 9, y + 4, "start"], [x - 9, y + 4, "end"], [x, y - 11, "middle"], [x, y + 19, "middle"], [x + 8, y - 8, "start"], [x + 8, y + 16, "start"], [x - 8, y - 8, "end"], [x - 8, y + 16, "end"]]
            .map(([a, b, anchor]) => ({ a, b, anchor, left: anchor === "start" ? a : anchor === "end" ? a - size : a - size / 2 }))
            .find(({ left, b }) => left > 54 && left + size < width - 4 && b - 11 > 6 && b < height - 46
              && taken.every(([l, t, r, u]) => left > r || left + size < l || b - 11 > u || b + 3 < t));
          if (free) {
            taken.push([free.left, free.b - 11, free.left + size, free.b + 3]);
            svg.append(s("text", { class: "halo", x: free.a, y: free.b, "text-anchor": free.anchor }, text));
          }
          marks.push(mark(text, [["mean", `${number(cell.mean, digitsOf(cell.dataset))} ${unitOf(cell.dataset)}`], ["time of a fit", duration(cell.seconds)],
            ...(there(cell.memory) ? [["peak memory", `${Math.round(cell.memory).toLocaleString("en")} MiB`]] : []), ["trials", String(cell.n)]], x, y, 6, symbol(styleOf(cell.method)[1], x, y, 5, paint(styleOf(cell.method)[0]))));
        }
        svg.append(...marks);
        const kinds = distinct(shown.map((cell) => methods[cell.method].kind));
        const names = { plain: "plain GNN", cl: "boosted (+ CL)", "cl-auto": "boosted, auto start", "start-mean": "mean of the starts", "cl-uniform": "random labels", "cl-observed": "true labels only", other: "other methods" };
        return {
          svg, caption: `${columnOf(state)}; ${scenarioOf(state.percent)}.${printed.length ? " Hollow: the paper's times, on its own machine." : ""}`,
          legend: [...Object.keys(names).filter((k) => kinds.includes(k)).map((k) => [swatch(KINDS[k]), names[k]]), ...(printed.length ? [[swatch(["other", "diamond"], { hollow: true }), "published"]] : [])],
        };
      });
  }

  // Reliability

  const reliable = cells.filter((cell) => cell.reliability);
  if (reliable.length) {
    const list = () => reliable;
    const column = ["dataset", "labels", "percent"];
    // a GNN with what it is compared with, or another method alone
    const setOf = (cell) => methods[cell.method].family ?? `=${cell.method}`;
    const choice = {
      name: "set", label: "Method", options: (state) => distinct(reliable.filter(matches(state, column)).map(setOf)),
      names: (set) => (set[0] === "=" ? nameOf(set.slice(1)) : `${Object.values(methods).find((m) => m.family === set)?.family_name ?? set}${kind === "evaluation" ? "" : ", plain and boosted"}`),
    };
    figure("reliability", "Reliability", "How often predictions of some confidence are right. On the dotted line, confidence is what it says; below it, the method is too sure of itself.",
      [datasetField(list), labelsField(list), percentField(list, ["dataset", "labels"]), choice], (state, width) => {
        const shown = reliable.filter((cell) => matches(state, column)(cell) && setOf(cell) === state.set);
        const side = Math.min(width, 560);
        const [top, bottom, bars] = [10, 44, 70];
        const height = Math.round(side * 0.86) + bars;
        const axis = [0, 0.2, 0.4, 0.6, 0.8, 1];
        const { svg, X, Y } = plot({
          width: side, height, top, bottom: bottom + bars, x: { domain: [0, 1], label: "", ticks: axis, format: (v) => v.toFixed(1) },
          y: { domain: [0, 1], label: "Share that is right", ticks: axis, format: (v) => v.toFixed(1) },
        });
        svg.style.maxWidth = `${side}px`;
        svg.append(s("line", { class: "diagonal-line", x1: X(0), y1: Y(0), x2: X(1), y2: Y(1) }));
        const most = Math.max(...shown.flatMap((cell) => cell.reliability.count.map((count) => count / cell.reliability.count.reduce((a, b) => a + b, 0))));
        const floor = height - bottom + 6;
        svg.append(s("text", { class: "axis", x: (X(0) + X(1)) / 2, y: height - 6, "text-anchor": "middle" }, "Confidence (bars: share of the nodes)"));
        const legend = [];
        shown.forEach((cell, order) => {
          const { confidence, accuracy, count } = cell.reliability;
          const [colour, shape] = styleOf(cell.method);
          const total = count.reduce((a, b) => a + b, 0);
          const filled = count.map((n, i) => i).filter((i) => count[i] > 0);
          const error = filled.reduce((sum, i) => sum + (count[i] / total) * Math.abs(accuracy[i] - confidence[i]), 0);
          legend.push([swatch([colour, shape], { line: true }), `${nameOf(cell.method)} (calibration error ${error.toFixed(3)})`]);
          svg.append(s("path", { d: path(filled.map((i) => [X(confidence[i]), Y(accuracy[i])])), fill: "none", stroke: `var(--${colour})`, "stroke-width": 2 }));
          const slot = (X(1) - X(0)) / count.length;
          for (const i of filled) {
            const tall = (44 * count[i]) / total / most;
            svg.append(s("rect", { x: X(0) + slot * (i + 0.1) + (slot * 0.8 * order) / shown.length, width: (slot * 0.8) / shown.length, y: floor - tall, height: tall, fill: `var(--${colour})` }));
          }
          for (const i of filled) {
            const [x, y] = [X(confidence[i]), Y(accuracy[i])];
            svg.append(mark(nameOf(cell.method), [["confidence", confidence[i].toFixed(3)], ["share that is right", accuracy[i].toFixed(3)], ["predictions", count[i].toLocaleString("en")]], x, y, 5, symbol(shape, x, y, 4.6, paint(colour))));
          }
        });
        return { svg, legend, caption: kind === "evaluation" ? "All judged nodes." : `${columnOf(state)}; ${scenarioOf(state.percent)}; test nodes of all ${kind === "comparison" ? "splits" : "trials"} together.` };
      }, true);
  }

  // Predicted against true numbers

  if (content.scatter?.length) {
    figure("scatter", "Predicted against true", null, [], (state, width) => {
      const domain = padded(content.scatter.flatMap(([truth, value]) => [truth, value]));
      const side = Math.min(width, 600);
      const { svg, X, Y } = plot({ width: side, height: Math.round(side * 0.9), x: { domain, label: "True" }, y: { domain, label: "Predicted" } });
      svg.style.maxWidth = `${side}px`;
      svg.append(s("line", { class: "diagonal-line", x1: X(domain[0]), y1: Y(domain[0]), x2: X(domain[1]), y2: Y(domain[1]) }));
      for (const [truth, value, spread] of content.scatter) {
        svg.append(mark("A node", [["true", short(truth)], ["predicted", short(value)], ["standard deviation", short(spread)]], X(truth), Y(value), 3, s("circle", { cx: X(truth), cy: Y(value), r: 3, fill: "var(--boosted)", "fill-opacity": 0.6 })));
      }
      return { svg, legend: [], caption: `${content.scatter.length.toLocaleString("en")} judged nodes. On the dotted line, a prediction is right.` };
    }, true);
  }

  // The graph

  const graph = content.graph;
  if (graph?.nodes?.length) {
    const titles = { true: "true labels", plain: "plain predictions", boosted: "boosted predictions", predicted: "predictions" };
    const roles = { train: "training label", observed: "label shown at test time", val: "validation node", test: "test node", other: "not used" };
    const SHAPES = ["circle", "square", "triangle", "diamond"];
    const look = (c) => [`c${c % 8}`, SHAPES[Math.floor(c / 8) % 4]];
    const className = (c) => (c < 0 ? "unknown" : graph.classes[c] ?? `class ${c}`);
    figure("graph", "A graph and its predictions", graph.caption || null, [
      { name: "shown", label: "Coloured by", segments: true, options: () => graph.shown, names: (name) => titles[name] ?? name },
    ], (state, width) => {
      const tall = Math.round(Math.min(width * (width < 600 ? 1.1 : 0.68), 720));
      const r = width < 500 ? 4.2 : graph.nodes.length > 200 ? 5.2 : 6.5;
      const edge = 14;
      const X = (v) => edge + v * (width - 2 * edge);
      const Y = (v) => edge + v * (tall - 2 * edge);
      const svg = s("svg", { viewBox: `0 0 ${width} ${tall}` });
      const line = ([i, j]) => `M${X(graph.nodes[i].x).toFixed(1)} ${Y(graph.nodes[i].y).toFixed(1)}L${X(graph.nodes[j].x).toFixed(1)} ${Y(graph.nodes[j].y).toFixed(1)}`;
      svg.append(s("path", { class: "edge", d: graph.edges.map(line).join("") }));
      const wrong = (node, which) => which !== "true" && node.true >= 0 && node[which] !== node.true;
      for (const node of graph.nodes) {
        const [x, y] = [X(node.x), Y(node.y)];
        const c = node[state.shown];
        const [colour, shape] = c < 0 ? ["line", "circle"] : look(c);
        svg.append(mark(`Node ${node.name}`, [
          ...graph.shown.map((which) => [which === "true" ? "true label" : which, `${className(node[which])}${wrong(node, which) ? " (wrong)" : ""}`]), ["role", roles[node.role] ?? node.role],
        ], x, y, r, symbol(shape, x, y, r, { class: "node", fill: `var(--${colour})` }),
        wrong(node, state.shown) ? s("circle", { class: "ring", cx: x, cy: y, r: r + 2.4 }) : null,
        node.role === "train" || node.role === "observed" ? s("circle", { class: "known", cx: x, cy: y, r: r * 0.42 }) : null));
      }
      const tested = graph.nodes.filter((node) => node.role === "test" && node.true >= 0);
      const wrongs = graph.shown.filter((which) => which !== "true").map((which) => `${which} ${tested.filter((node) => wrong(node, which)).length}`);
      const used = distinct(graph.nodes.flatMap((node) => graph.shown.map((which) => node[which]))).filter((c) => c >= 0).sort((a, b) => a - b);
      return {
        svg,
        caption: `Coloured by ${titles[state.shown] ?? state.shown}: ${graph.nodes.length.toLocaleString("en")} of ${graph.total.toLocaleString("en")} nodes, breadth first from a test node. `
          + (tested.length ? `Of the ${tested.length} test nodes among them, wrong: ${wrongs.join(", ")}.` : ""),
        legend: [...used.map((c) => [swatch(look(c)), className(c)]),
          [s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, s("circle", { class: "ring", cx: 13, cy: 7, r: 5.5 })), "wrong"],
          ...(graph.nodes.some((node) => ["train", "observed"].includes(node.role)) ? [[s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, s("circle", { cx: 13, cy: 7, r: 5, fill: "var(--muted)" }), s("circle", { class: "known", cx: 13, cy: 7, r: 2.2 })), "its label is known to the model"]] : [])],
      };
    });
  }

  // All numbers, settings, failures: folded away on the screen, open in print

  const folded = [];
  if (measured.length) {
    const tested = gains.length > 0;
    const printed = measured.some((cell) => cell.published);
    folded.push(["Every number", table("One row per method and column of the table", ["dataset", "labels", "test labels", "method", "trials", "mean", "s.e.",
      ...(tested ? ["gain", "95 % interval", "p", ...(kind === "trials" ? ["Holm's p"] : [])] : []), "fit", ...(printed ? ["paper", "paper's gain"] : [])],
    measured.map((cell) => {
      const digits = digitsOf(cell.dataset);
      return [datasetOf(cell.dataset), String(cell.labels || "–"), `${cell.percent} %`, nameOf(cell.method), String(cell.n), number(cell.mean, digits), number(cell.se, digits),
        ...(tested ? [signed(cell.gain, digits), there(cell.low) ? `${signed(cell.low, digits)} to ${signed(cell.high, digits)}` : "–", small(cell.p), ...(kind === "trials" ? [small(cell.p_holm)] : [])] : []),
        duration(cell.seconds), ...(printed ? [number(cell.published?.mean), signed(cell.published?.gain)] : [])];
    }), { text: [3] })]);
    const groupsOf = new Map();
    for (const cell of measured) {
      const key = Object.entries(cell.settings ?? {}).map(([name, value]) => `${name} ${setting(value)}`).join(", ") || "none";
      groupsOf.set(key, [...(groupsOf.get(key) ?? []), cell]);
    }
    folded.push(["Settings", table("The settings that all trials of a cell share", ["cells", "settings"],
      [...groupsOf].map(([text, list]) => [h("div", { style: "white-space:normal;min-width:12rem" }, distinct(list.map((cell) => `${nameOf(cell.method)}: ${columnOf(cell)}, ${cell.percent} %`)).join("; ")), text]), { wrap: [1] })]);
  }
  if (content.settings && Object.keys(content.settings).length) {
    folded.push(["Settings", table("Of the model", ["setting", "value"], Object.entries(content.settings).map(([name, value]) => [name, setting(value)]), { text: [1] })]);
  }
  if (content.failures?.length) {
    folded.push([`Failed trials (${content.failures.length})`, table("They count in no number", ["dataset", "labels", "test labels", "method", "trial", "error"],
      content.failures.map(([dataset, labels, percent, method, trial, error]) => [datasetOf(dataset), String(labels), `${percent} %`, nameOf(method), String(trial), error]), { wrap: [5], text: [3] })]);
  }
  if (folded.length) section("numbers", "Numbers and settings", ...folded.map(([title, inside]) => h("details", {}, h("summary", {}, title), inside)));
  document.body.append(h("footer", {}, "Made by clgnn. This file is complete in itself: it loads nothing and sends nothing."));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
})();
