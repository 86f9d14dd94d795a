// Elements, numbers and names, tooltips, tables and controls, which all pages share.

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
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
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
  "cl-observed": ["observed", "square"], "all-labels": ["plain", "triangle"], "cl-all-labels": ["boosted", "triangle"], "cl-all-labels-auto": ["boosted", "triangle"], other: ["other", "circle"],
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
  h("div", { class: "bar" }, contents, toggle),
  h("h1", {}, content.title ?? "clgnn"),
  ...(content.headline ? [h("p", { class: `headline ${content.verdict ?? ""}` }, content.headline.replace(/(\d) %/g, "$1\u00a0%").replace(/(^|[\s(])-(?=\d)/g, "$1−"))] : []),
  ...(content.lead ? [h("p", { class: "lead" }, content.lead)] : []),
);
// A section is as wide as the page, or half of it where there is room for two
const section = (id, title, ...children) => {
  contents.append(h("a", { href: `#${id}` }, title));
  const made = h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children.filter(Boolean));
  main.append(made);
  return made;
};
const halved = (made) => { made.classList.add("half"); return made; };

// Tables

const table = (caption, columns, rows, options = {}) => h("div", { class: `scroll ${options.class ?? ""}`, tabindex: 0, role: "region", "aria-label": caption },
  h("table", {}, h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, columns.map((column, j) => h("th", { scope: "col", class: [...(options.wrap ?? []), ...(options.text ?? [])].includes(j) ? "text" : null }, column.replace(/(\d) %/g, "$1\u00a0%"))))),
    h("tbody", {}, rows.map((row, i) => h("tr", { class: options.last && i === rows.length - 1 ? "last" : options.strong?.includes(i) ? "strong" : null },
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
    + `Below it the gain of a boosted GNN over the plain one.${cells.some((cell) => cell.published) ? " In italics: the paper's number and gain." : ""} Underlined: ${content.best ?? "the best of its column"}.`;
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
