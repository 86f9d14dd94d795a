// The sections of the page, one after the other; a section without data is left out.

// The table

if (measured.length && kind !== "leaderboard") {
  const percents = distinct(measured.map((cell) => cell.percent)).sort((a, b) => a - b);
  const views = percents.map((percent) => mainTable(percent, measured));
  const show = (percent) => views.forEach((view, i) => { view.hidden = percents[i] !== percent; });
  show(percents[0]);
  const key = gains.length ? h("ul", { class: "legend key" }, [["significant", "+1.2", "significant gain (p < 0.05)"], ["significant loss", "−1.2", "significant loss (p < 0.05)"], ["", "+0.1", "neither"]]
    .map(([look, sample, text]) => h("li", {}, h("span", { class: `gain ${look}` }, sample), text))) : null;
  const made = section("results", "Results", h("p", { class: "hint" }, "Hover or focus a number for its statistics; click it for the settings and every trial behind it."),
    percents.length > 1 ? h("div", { class: "controls" }, segments("Test graph", percents, percents[0], show, shortScenario)) : null, key, ...views);
  if (kind === "comparison") halved(made);
}
for (const [i, image] of (content.images ?? []).entries()) {
  halved(section(`image-${i}`, image.title, h("figure", { class: "panel" }, h("img", { src: image.source, alt: image.caption, class: "picture" }), h("figcaption", {}, image.caption))));
}

for (const [i, extra] of (content.scatter ? [] : content.tables ?? []).entries()) {
  const made = section(`table-${i}`, extra.title, table(extra.caption, extra.columns, extra.rows.map((row) => row.map((value, j) => (j && !extra.text?.includes(j) ? value.replace(/(^| )-(?=[\d.])/g, "$1−") : value))), { last: extra.last, strong: extra.strong, text: extra.text }));
  if (extra.columns.length <= 10 && kind !== "leaderboard") halved(made);
}

if (content.confusion && content.confusion.classes.length > FEW_CLASSES) section("confusion", "Confusion matrix", confusion());

// ROC and precision-recall curves

const COLOURS = 8;
const areaCurves = (id, title, hint, found, xLabel, yLabel, area, chance) => halved(figure(id, title, hint, [], (state, width) => {
  const side = Math.min(width, 560);
  const axis = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const scale = { domain: [0, 1], ticks: axis, format: (v) => v.toFixed(1) };
  const { svg, X, Y } = plot({ width: side, height: Math.round(side * 0.82), x: { ...scale, label: xLabel }, y: { ...scale, label: yLabel } });
  svg.style.maxWidth = `${side}px`;
  chance(svg, X, Y);
  const one = found.curves.length === 1;
  const dashes = [null, "7 3", "2 3"];
  const look = (i) => ({ stroke: `var(--${one ? "boosted" : `c${i % COLOURS}`})`, "stroke-width": 2, "stroke-dasharray": dashes[i % 3], fill: "none" });
  found.curves.forEach((curve, i) => {
    svg.append(s("path", { ...look(i), d: path(curve.x.map((x, k) => [X(x), Y(curve.y[k])])) }));
    const k = Math.floor(curve.x.length / 2);
    svg.append(mark(curve.name, [[area, curve.area.toFixed(3)], ["share of the nodes", `${(100 * curve.share).toFixed(1)} %`]], X(curve.x[k]), Y(curve.y[k]), 4, s("circle", { cx: X(curve.x[k]), cy: Y(curve.y[k]), r: 3.6, fill: look(i).stroke })));
  });
  const said = one ? `“${found.curves[0].name}”, the rarer class with ${(100 * found.curves[0].share).toFixed(1)} % of the nodes, against the other; the ${area} is ${found.macro.toFixed(3)}.`
    : `Each class against all others; the macro ${area} is ${found.macro.toFixed(3)}, the mean over all classes.${found.left_out ? ` The ${found.curves.length} largest classes are drawn.` : ""}`;
  return {
    svg, caption: said,
    legend: found.curves.map((curve, i) => [s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, s("line", { ...look(i), x1: 1, x2: 25, y1: 7, y2: 7 })), `${clip(curve.name, 40)} (${curve.area.toFixed(3)})`]),
  };
}));

if (content.roc) {
  areaCurves("roc", "ROC", "How many of a class are found against how many others are taken for it, from the strictest threshold to the loosest.", content.roc, "Others taken for it (false positive rate)", "Share that is found (recall)", "area under the curve",
    (svg, X, Y) => svg.append(s("line", { class: "diagonal-line", x1: X(0), y1: Y(0), x2: X(1), y2: Y(1) })));
  areaCurves("precision-recall", "Precision and recall", "How many of those predicted to be of a class are, against how many of the class are found.", content.precision_recall, "Share that is found (recall)", "Share that is right (precision)", "average precision",
    (svg, X, Y) => { if (content.precision_recall.curves.length === 1) { const y = Y(content.precision_recall.curves[0].share); svg.append(s("line", { class: "diagonal-line", x1: X(0), y1: y, x2: X(1), y2: y })); } });
}

// Lines over labels or iterations

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
  const made = figure("curves", "Learning curves", "The test metric against the number of training labels; bands are one standard error.",
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
  halved(made);
}

const iterated = cells.filter((cell) => cell.iterations);
if (iterated.length) {
  const list = () => iterated;
  const column = ["dataset", "labels", "percent"];
  const made = figure("iterations", "Accuracy by iteration", "The test metric after each iteration, with labels drawn from the predictions and without (uniform random labels, or the true labels alone). Iteration 0 has no labels as input; bands are one standard error.",
    [datasetField(list), labelsField(list), percentField(list, ["dataset", "labels"]), familyField(list, column)], (state, width) => {
      const shown = iterated.filter((cell) => matches(state, column)(cell) && methods[cell.method].family === state.family);
      const named = { cl: "predicted labels", "cl-auto": "auto start", "start-mean": "mean of the starts", "cl-uniform": "uniform random labels", "cl-observed": "true labels only", "all-labels": "all labels", "cl-all-labels": "predicted labels, all labels", "cl-all-labels-auto": "auto start, all labels" };
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
  halved(made);
}

// Time against accuracy

const timed = measured.filter((cell) => cell.seconds > 0);
if (timed.length > 1) {
  const list = () => timed;
  const made = figure("time", kind === "trials" ? "Time against accuracy" : "Time", "Mean seconds of a fit, on a logarithmic scale, against the mean of the test metric.",
    [datasetField(list), labelsField(list), percentField(list, ["dataset", "labels"])], (state, width) => {
      const here = matches(state, ["dataset", "labels", "percent"]);
      const shown = timed.filter(here);
      const printed = (content.times ?? []).filter(here);
      const everything = [...shown, ...printed];
      // a method that takes next to no time would squeeze all others: it stands at the edge, with an arrow
      const sorted = everything.map((c) => c.seconds).sort((a, b) => a - b);
      const [low, high] = [Math.max(sorted[0], sorted[Math.floor(sorted.length / 2)] / 30), sorted.at(-1)];
      const instant = (cell) => cell.seconds < low;
      const across = (cell) => X(Math.max(cell.seconds, low));
      const height = width < 500 ? 360 : 440;
      const { svg, X, Y } = plot({
        width, height, right: 24, x: { log: true, domain: [low / 1.8, high * 2.2], label: "Seconds of a fit" },
        y: { domain: padded(everything.map((c) => c.mean), 0.1), label: axisOf(state.dataset) },
      });
      const taken = everything.map((c) => [across(c) - 6, Y(c.mean) - 6, across(c) + 6, Y(c.mean) + 6]);
      const marks = [];
      for (const cell of printed) {
        const [x, y] = [across(cell), Y(cell.mean)];
        marks.push(mark(`Paper: ${nameOf(cell.method)}`, [["time", `${duration(cell.seconds)} on its own machine`], ["mean", `${number(cell.mean)} %`]], x, y, 5, symbol(styleOf(cell.method)[1], x, y, 5, paint(styleOf(cell.method)[0], true))));
      }
      const rank = (cell) => ["cl", "plain"].indexOf(methods[cell.method].kind);
      for (const cell of [...shown].sort((a, b) => rank(b) - rank(a))) {
        const [x, y] = [across(cell), Y(cell.mean)];
        const text = nameOf(cell.method) + (instant(cell) ? ` (${duration(cell.seconds)})` : "");
        const size = wide(text);
        // the first place that is free; a label that has none is left to the tooltip
        const free = [[x + 9, y + 4, "start"], [x - 9, y + 4, "end"], [x, y - 11, "middle"], [x, y + 19, "middle"], [x + 8, y - 8, "start"], [x + 8, y + 16, "start"], [x - 8, y - 8, "end"], [x - 8, y + 16, "end"]]
          .map(([a, b, anchor]) => ({ a, b, anchor, left: anchor === "start" ? a : anchor === "end" ? a - size : a - size / 2 }))
          .find(({ left, b }) => left > 54 && left + size < width - 4 && b - 11 > 6 && b < height - 46
            && taken.every(([l, t, r, u]) => left > r || left + size < l || b - 11 > u || b + 3 < t));
        if (free) {
          taken.push([free.left, free.b - 11, free.left + size, free.b + 3]);
          svg.append(s("text", { class: "halo", x: free.a, y: free.b, "text-anchor": free.anchor }, text));
        }
        if (instant(cell)) marks.push(s("path", { d: `M${x - 15} ${y}l6 -4v8z`, fill: "var(--muted)" }));
        marks.push(mark(nameOf(cell.method), [["mean", `${number(cell.mean, digitsOf(cell.dataset))} ${unitOf(cell.dataset)}`], ["time of a fit", duration(cell.seconds)],
          ...(there(cell.memory) ? [["peak memory", `${Math.round(cell.memory).toLocaleString("en")} MiB`]] : []), ["trials", String(cell.n)]], x, y, 6, symbol(styleOf(cell.method)[1], x, y, 5, paint(styleOf(cell.method)[0]))));
      }
      svg.append(...marks);
      const kinds = distinct(shown.map((cell) => methods[cell.method].kind));
      const names = { plain: "plain GNN", cl: "boosted (+ CL)", "cl-auto": "boosted, auto start", "start-mean": "mean of the starts", "cl-uniform": "random labels", "cl-observed": "true labels only", "all-labels": "plain, all labels", "cl-all-labels": "boosted, all labels", "cl-all-labels-auto": "boosted, all labels, auto start", other: "other methods" };
      return {
        svg, caption: `${columnOf(state)}${kind === "leaderboard" ? "" : `; ${scenarioOf(state.percent)}`}.${printed.length ? " Hollow: the paper's times, on its own machine." : ""}${shown.some(instant) ? " An arrow: faster than the axis shows." : ""}`,
        legend: [...Object.keys(names).filter((k) => kinds.includes(k)).map((k) => [swatch(KINDS[k]), names[k]]), ...(printed.length ? [[swatch(["other", "diamond"], { hollow: true }), "published"]] : [])],
      };
    });
  halved(made);
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
  const made = figure("reliability", "Reliability", "How often predictions of some confidence are right. On the dotted line, confidence is what it says; below it, the method is too sure of itself. Points are the larger and the stronger, the more nodes they stand for.",
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
        const peak = Math.max(...count);
        const weight = (i) => 0.2 + 0.8 * Math.min(1, Math.sqrt((4 * count[i]) / peak));
        filled.slice(1).forEach((i, k) => svg.append(s("line", {
          x1: X(confidence[filled[k]]), y1: Y(accuracy[filled[k]]), x2: X(confidence[i]), y2: Y(accuracy[i]), stroke: `var(--${colour})`, "stroke-width": 2, "stroke-opacity": 0.7 * Math.min(weight(i), weight(filled[k])),
        })));
        const slot = (X(1) - X(0)) / count.length;
        for (const i of filled) {
          const tall = (44 * count[i]) / total / most;
          svg.append(s("rect", { x: X(0) + slot * (i + 0.1) + (slot * 0.8 * order) / shown.length, width: (slot * 0.8) / shown.length, y: floor - tall, height: tall, fill: `var(--${colour})` }));
        }
        for (const i of filled) {
          const [x, y] = [X(confidence[i]), Y(accuracy[i])];
          svg.append(mark(nameOf(cell.method), [["confidence", confidence[i].toFixed(3)], ["share that is right", accuracy[i].toFixed(3)], ["predictions", count[i].toLocaleString("en")]], x, y, 5, symbol(shape, x, y, 2 + 4.5 * Math.sqrt(count[i] / peak), { ...paint(colour), "fill-opacity": weight(i) })));
        }
      });
      return { svg, legend, caption: kind === "evaluation" ? "All judged nodes." : `${columnOf(state)}; ${scenarioOf(state.percent)}; test nodes of all ${kind === "comparison" ? "splits" : "trials"} together.` };
    });
  halved(made);
}

// The graph

const graph = content.graph;
if (graph?.nodes?.length) {
  const titles = { true: "true labels", plain: "plain predictions", boosted: "boosted predictions", predicted: "predictions" };
  const roles = {
    train: "training node", observed: "its label is shown at test time", val: "validation node", test: "test node",
    unlabelled: "no label, not judged", learned: "the model learned from it, not judged", other: "not judged",
  };
  const SHAPES = ["circle", "square", "triangle", "diamond"];
  const look = (c) => [`c${c % 8}`, SHAPES[Math.floor(c / 8) % 4]];
  const className = (c) => (c < 0 ? "unknown" : graph.classes[c] ?? `class ${c}`);
  const percent = (share) => `${(100 * share).toFixed(share > 0.999 || share < 0.1 ? 1 : 0)} %`;
  const wrong = (node, which) => which !== "true" && node.true >= 0 && node[which] !== node.true;
  const sure = (node, which) => node.p?.[which];
  const saidOf = (node, which) => {
    const p = sure(node, which);
    const rows = [[which === "true" ? "true label" : which, `${className(node[which])}${there(p) ? `, ${percent(p)}` : ""}${wrong(node, which) ? " (wrong)" : ""}`]];
    if (there(p)) rows.push(["uncertainty", `${percent(1 - p)} to be wrong`]);
    if (there(node.spread?.[which])) rows.push(["over the label draws", `± ${percent(node.spread[which])}`]);
    return rows;
  };
  const small = (...drawn) => s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, ...drawn);
  const made = figure("graph", "A graph and its predictions", graph.caption || null, [
    { name: "shown", label: "Coloured by", segments: true, options: () => graph.shown, first: (options) => options.at(-1), names: (name) => titles[name] ?? name },
  ], (state, width) => {
    const tall = Math.round(Math.min(width * (width < 600 ? 1.1 : 0.68), 720));
    const r = width < 500 ? 4.2 : graph.nodes.length > 200 ? 5.2 : 6.5;
    const edge = 14;
    const X = (v) => edge + v * (width - 2 * edge);
    const Y = (v) => edge + v * (tall - 2 * edge);
    const svg = s("svg", { viewBox: `0 0 ${width} ${tall}` });
    const line = ([i, j]) => `M${X(graph.nodes[i].x).toFixed(1)} ${Y(graph.nodes[i].y).toFixed(1)}L${X(graph.nodes[j].x).toFixed(1)} ${Y(graph.nodes[j].y).toFixed(1)}`;
    svg.append(s("path", { class: "edge", d: graph.edges.map(line).join("") }));
    const faded = graph.nodes.some((node) => there(sure(node, state.shown)));
    for (const node of graph.nodes) {
      const [x, y] = [X(node.x), Y(node.y)];
      const c = node[state.shown];
      const [colour, shape] = c < 0 ? ["line", "circle"] : look(c);
      const p = sure(node, state.shown);
      const even = 1 / Math.max(2, graph.classes.length);
      const strength = there(p) ? Math.round(28 + 72 * Math.max(0, (p - even) / (1 - even))) : 100;
      svg.append(mark(`Node ${node.name}`, [...graph.shown.flatMap((which) => saidOf(node, which)), ["role", roles[node.role] ?? node.role]],
        x, y, r, symbol(shape, x, y, r, { class: "node", style: `fill:color-mix(in srgb, var(--${colour}) ${strength}%, var(--paper));stroke:var(--${faded ? colour : "paper"})` }),
        wrong(node, state.shown) ? s("circle", { class: "ring", cx: x, cy: y, r: r + 2.4 }) : null,
        node.role === "train" || node.role === "observed" ? s("circle", { class: "known", cx: x, cy: y, r: r * 0.42 }) : null));
    }
    const tested = graph.nodes.filter((node) => node.role === "test");
    const wrongs = graph.shown.filter((which) => which !== "true").map((which) => `${which} ${tested.filter((node) => wrong(node, which)).length}`);
    const used = distinct(graph.nodes.flatMap((node) => graph.shown.map((which) => node[which]))).filter((c) => c >= 0).sort((a, b) => a - b);
    const ringed = graph.nodes.some((node) => wrong(node, state.shown));
    return {
      svg,
      caption: `Coloured by ${titles[state.shown] ?? state.shown}: ${graph.nodes.length.toLocaleString("en")} of ${graph.total.toLocaleString("en")} nodes, breadth first${tested.length ? " from a test node" : ""}. `
        + (tested.length ? `Of the ${tested.length} test nodes among them, wrong: ${wrongs.join(", ")}. ` : "")
        + (ringed ? "Ringed nodes are predicted wrong. " : "") + (faded ? "The paler a node, the less sure is its prediction." : ""),
      legend: [...used.map((c) => [swatch(look(c)), className(c)]),
        ...(graph.nodes.some((node) => node[state.shown] < 0) ? [[swatch(["line", "circle"]), "unknown"]] : []),
        ...(ringed ? [[small(s("circle", { class: "ring", cx: 13, cy: 7, r: 5.5 })), "wrong"]] : []),
        ...(graph.nodes.some((node) => ["train", "observed"].includes(node.role)) ? [[small(s("circle", { cx: 13, cy: 7, r: 5, fill: "var(--muted)" }), s("circle", { class: "known", cx: 13, cy: 7, r: 2.2 })), "its label is known to the model"]] : [])],
    };
  });
  if (kind === "evaluation") halved(made);
}

// All numbers, settings, failures: folded away on the screen, open in print

const folded = [];
if (measured.length && kind !== "leaderboard") {
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
  folded.push([kind === "leaderboard" ? "Settings of all methods" : "Settings of the model", table(kind === "leaderboard" ? "Of all methods" : "Of the model", ["setting", "value"], Object.entries(content.settings).map(([name, value]) => [name, setting(value)]), { text: [1] })]);
}
if (content.failures?.length) {
  const trial = kind === "leaderboard" ? ["method", "split", "error"] : null;
  folded.push([`Failed trials (${content.failures.length})`, trial ? table("They count in no number", trial, content.failures.map(([method, ...rest]) => [nameOf(method), ...rest]), { wrap: [2] }) : table("They count in no number", ["dataset", "labels", "test labels", "method", "trial", "error"],
    content.failures.map(([dataset, labels, percent, method, trial, error]) => [datasetOf(dataset), String(labels), `${percent} %`, nameOf(method), String(trial), error]), { wrap: [5], text: [3] })]);
}
if (folded.length) section("numbers", kind === "trials" || kind === "comparison" ? "Numbers and settings" : content.failures?.length ? "Settings and failures" : "Settings", ...folded.map(([title, inside]) => h("details", {}, h("summary", {}, title), inside)));
if (content.facts?.length || content.notes?.length) {
  section("about", "About this page",
    h("ul", { class: "notes" }, (content.notes ?? []).map((note) => h("li", {}, note))),
    h("dl", { class: "facts" }, (content.facts ?? []).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}
// Of an odd number of halves side by side, one becomes whole: the one that a wide page suits best
let run = [];
for (const one of [...main.children, null]) {
  if (one?.classList.contains("half")) { run.push(one); continue; }
  if (run.length % 2) (run.findLast((half) => ["curves", "iterations", "time", "graph"].includes(half.id)) ?? run.at(-1)).classList.remove("half");
  run = [];
}
document.body.append(h("footer", {}, "Made by clgnn. This file is complete in itself: it loads nothing and sends nothing."));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
