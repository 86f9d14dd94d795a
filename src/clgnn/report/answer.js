// The first picture of a page, which shows what its headline says.

// Whether an interval says better, worse or neither; lower values may be the better ones
const SURE = {
  gain: ["gain", "triangle", "gain: the 95 % interval lies above 0"], loss: ["loss", "down", "loss: the 95 % interval lies below 0"],
  level: ["other", "circle", "level: the 95 % interval holds 0"], open: ["other", "square", "fewer than two pairs: no interval"],
};
const sureOf = (low, high, lower = false) => {
  if (!there(low) || !there(high)) return "open";
  const [better, worse] = lower ? [high < -1e-9, low > 1e-9] : [low > 1e-9, high < -1e-9];
  return better ? "gain" : worse ? "loss" : "level";
};
const measured = cells.filter((cell) => there(cell.mean));
const gains = measured.filter((cell) => there(cell.gain));
const answer = (made) => { made.classList.add("answer"); return made; };

// Of a ledger: the gains of all cells, one panel per GNN

const drawGains = (shown, width) => {
  const rows = distinct(shown.map((cell) => JSON.stringify([cell.dataset, cell.labels, cell.percent]))).map(JSON.parse);
  const panels = distinct(shown.map((cell) => cell.method));
  const labelOf = ([dataset, labels, percent]) => `${datasetOf(dataset)} ${labels.toLocaleString("en")}, ${percent} %`;
  const core = shown.flatMap((cell) => [0, cell.gain, ...(there(cell.published?.gain) ? [cell.published.low, cell.published.high] : [])]);
  const [low, high] = [Math.min(...core), Math.max(...core)];
  const reach = (high - low || 1) * 0.25; // an interval of few trials may be very long
  const domain = padded([low, high, ...shown.filter((cell) => there(cell.low)).flatMap((cell) => [Math.max(cell.low, low - reach), Math.min(cell.high, high + reach)])], 0.03);
  const beside = width >= 720;
  const label = 18 + Math.max(...rows.map((row) => wide(labelOf(row))));
  const [head, rowHeight, foot, gap] = [28, shown.some((cell) => cell.published) ? 30 : 24, 46, 22];
  const own = (method) => (beside ? rows : rows.filter((row) => shown.some((cell) => cell.method === method && row[0] === cell.dataset && row[1] === cell.labels && row[2] === cell.percent)));
  const tall = (method) => head + rowHeight * own(method).length + foot;
  const height = beside ? tall(panels[0]) : panels.reduce((sum, method) => sum + tall(method), 0);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}` });
  const across = (width - label - 12 - gap * (panels.length - 1)) / panels.length;
  let down = 0;
  panels.forEach((method, p) => {
    const left = beside ? label + p * (across + gap) : label;
    const right = beside ? width - left - across : 12;
    const top = down + head;
    const end = top + rowHeight * own(method).length;
    const { X } = plot({
      svg, width, height: end + foot, left, right, top, bottom: foot, y: { domain: [0, 1], ticks: [] },
      x: { domain, label: "Gain in points", format: (v) => (v > 0 ? `+${short(v)}` : short(v)), ticks: niceTicks(...domain, Math.max(2, Math.floor((width - left - right) / 70))) },
    });
    svg.append(s("text", { class: "panel", x: left, y: top - 10 }, nameOf(method)),
      s("line", { class: "zero", x1: X(0), x2: X(0), y1: top, y2: end }));
    own(method).forEach((row, i) => {
      const y = top + rowHeight * (i + 0.5);
      if (p === 0 || !beside) svg.append(s("text", { x: label - 12, y: y + 4, "text-anchor": "end" }, labelOf(row)));
      if (i && own(method)[i - 1][0] !== row[0]) svg.append(s("line", { class: "gridline", x1: beside && p ? left - gap : 0, x2: width - right, y1: y - rowHeight / 2, y2: y - rowHeight / 2 }));
      const cell = shown.find((one) => one.method === method && one.dataset === row[0] && one.labels === row[1] && one.percent === row[2]);
      if (!cell) return;
      const [colour, shape] = SURE[sureOf(cell.low, cell.high)];
      const printed = there(cell.published?.gain) ? cell.published : null;
      const at = printed ? y - 6 : y;
      for (const trial of (cell.trials ?? []).filter((t) => there(t.gain) && t.gain >= domain[0] && t.gain <= domain[1])) {
        svg.append(s("circle", { cx: X(trial.gain), cy: at, r: 2, fill: `var(--${colour})`, "fill-opacity": 0.4 }));
      }
      if (there(cell.low)) svg.append(...interval(X, domain, cell.low, cell.high, at, colour));
      if (printed) {
        const theirs = SURE[sureOf(printed.low, printed.high)];
        svg.append(...interval(X, domain, printed.low, printed.high, y + 7, "faint", true),
          mark(`Paper: ${headline(cell)}`, [["gain", `${signed(printed.gain)} points`], ["standard error", number(printed.gain_se)],
            ["95 % interval", `${signed(printed.low)} to ${signed(printed.high)}`], ["test graph", shortScenario(cell.percent)], ["significant", printed.significant ? "yes" : "no"]],
          X(printed.gain), y + 7, 4, symbol(theirs[1], X(printed.gain), y + 7, 3.8, paint("faint", true))));
      }
      svg.append(mark(headline(cell), [...tipOf(cell), ["test graph", shortScenario(cell.percent)]], X(cell.gain), at, 5, symbol(shape, X(cell.gain), at, 5, paint(colour))));
    });
    if (!beside) down = end + foot;
  });
  return svg;
};
if (kind === "trials" && gains.length) {
  const ALL = "all";
  const kindNames = { cl: "+ CL", "cl-auto": "+ CL, auto start", "start-mean": "mean of the starts", "cl-uniform": "+ CL, random labels", "cl-observed": "+ CL, true labels only", "all-labels": "all labels", "cl-all-labels": "+ CL, all labels", "cl-all-labels-auto": "+ CL, all labels, auto start" };
  const kindOf = (cell) => methods[cell.method].kind;
  const inOrder = distinct(["cl", ...gains.map(kindOf)]).filter((one) => gains.some((cell) => kindOf(cell) === one));
  const like = (state, names) => gains.filter((cell) => kindOf(cell) === state.kind && names.every((name) => state[name] === ALL || cell[name] === state[name]));
  const some = (name, label, names, before, all, more = {}) => ({
    name, label, names: (option) => (option === ALL ? all : names(option)), ...more,
    options: (state) => { const found = distinct(like(state, before).map((cell) => cell[name])); return found.length > 1 ? [ALL, ...found] : found; },
  });
  answer(figure("gains", "Gains", null, [
    { name: "kind", label: "Method", names: (one) => kindNames[one] ?? `+ ${one}`, options: () => inOrder },
    some("dataset", "Dataset", datasetOf, [], "All datasets"), some("percent", "Test graph", shortScenario, ["dataset"], "both", { segments: true }),
  ], (state, width) => {
    const shown = like(state, ["dataset", "percent"]);
    const counts = shown.map((cell) => sureOf(cell.low, cell.high));
    const printed = shown.some((cell) => there(cell.published?.gain));
    return {
      svg: drawGains(shown, width),
      caption: "How much collective learning adds to the plain GNN, or takes from it: the mean over paired trials with its 95 % interval. Small dots are single trials. "
        + `Rows are a dataset, its training labels, and the share of test labels that the model sees.${printed ? " Dashed, below ours: the paper's gain." : ""}`,
      legend: [...Object.keys(SURE).filter((one) => counts.includes(one)).map((one) => [swatch(SURE[one], { line: one !== "open" }), `${SURE[one][2]} (${counts.filter((other) => other === one).length})`]),
        ...(printed ? [[swatch(["faint", "triangle"], { line: true, dashed: true, hollow: true }), "the paper's"]] : [])],
    };
  }));
}

// Of a comparison: every split, and the mean gain

if (kind === "comparison" && gains.length) {
  const [plain, boosted] = ["plain", "boosted"].map((method) => measured.find((cell) => cell.method === method));
  const digits = digitsOf(boosted.dataset);
  const lower = Boolean(datasets[boosted.dataset]?.lower);
  const pairs = boosted.trials.map((trial, i) => ({ name: `split ${trial.trial}`, plain: plain.trials[i].value, boosted: trial.value, gain: trial.gain }));
  answer(figure("gains", "Every split", null, [], (state, width) => {
    const beside = width >= 720;
    const rows = [...pairs, { name: "mean", plain: plain.mean, boosted: boosted.mean, gain: boosted.gain, mean: true }];
    const step = Math.max(11, Math.min(28, 520 / rows.length));
    const [label, top, foot, gap] = [66, 26, 48, 36];
    const tall = top + step * rows.length + 8 + foot;
    const svg = s("svg", { viewBox: `0 0 ${width} ${beside ? tall : 2 * tall}` });
    const place = (i) => top + step * (i + 0.5) + (rows[i].mean ? 8 : 0);
    const half = (width - label - gap) * 0.56;
    const named = (shift) => rows.forEach((row, i) => {
      if (row.mean) svg.append(s("line", { class: "zero", x1: 0, x2: width - 8, y1: shift + place(i) - step / 2 - 3, y2: shift + place(i) - step / 2 - 3, "stroke-opacity": 0.5 }));
      if (row.mean || step >= 15 || i % Math.ceil(15 / step) === 0) svg.append(s("text", { class: row.mean ? "panel" : "tick", x: label - 12, y: shift + place(i) + 4, "text-anchor": "end" }, row.name));
    });
    const first = plot({ svg, width, height: tall, left: label, right: beside ? width - label - half : 14, top, bottom: foot, y: { domain: [0, 1], ticks: [] }, x: { domain: padded(rows.flatMap((row) => [row.plain, row.boosted]), 0.08), label: axisOf(boosted.dataset) } });
    named(0);
    rows.forEach((row, i) => {
      const [y, better] = [place(i), lower ? row.gain < 0 : row.gain > 0];
      svg.append(s("line", { x1: first.X(row.plain), x2: first.X(row.boosted), y1: y, y2: y, stroke: `var(--${row.gain === 0 ? "other" : better ? "gain" : "loss"})`, "stroke-width": row.mean ? 4 : 2.5, "stroke-opacity": 0.55 }));
      for (const which of ["plain", "boosted"]) {
        svg.append(mark(`${nameOf(which)}, ${row.name}`, [[metricOf(boosted.dataset), `${number(row[which], digits)} ${unitOf(boosted.dataset)}`], ["gain", signed(row.gain, digits)]],
          first.X(row[which]), y, 5, symbol(styleOf(which)[1], first.X(row[which]), y, row.mean ? 6 : 4.6, paint(styleOf(which)[0]))));
      }
    });
    const shift = beside ? 0 : tall;
    if (!beside) named(shift);
    const values = rows.map((row) => row.gain);
    const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
    const domain = padded([low, high, ...(there(boosted.low) ? [Math.max(boosted.low, low - (high - low)), Math.min(boosted.high, high + (high - low))] : [])], 0.06);
    const second = plot({ svg, width, height: shift + tall, left: beside ? label + half + gap : label, right: 22, top: shift + top, bottom: foot, y: { domain: [0, 1], ticks: [] }, x: { domain, label: `Gain in ${points(boosted.dataset)}`, format: (v) => (v > 0 ? `+${short(v)}` : short(v)) } });
    svg.append(s("text", { class: "panel", x: label, y: top - 10 }, "Plain and boosted"), s("text", { class: "panel", x: second.X(domain[0]), y: shift + top - 10 }, "Gain"));
    svg.append(s("line", { class: "zero", x1: second.X(0), x2: second.X(0), y1: shift + top, y2: shift + tall - foot }));
    rows.forEach((row, i) => {
      const y = shift + place(i);
      const sure = row.mean ? SURE[sureOf(boosted.low, boosted.high, lower)] : null;
      const colour = sure ? sure[0] : row.gain === 0 ? "other" : (lower ? row.gain < 0 : row.gain > 0) ? "gain" : "loss";
      if (row.mean && there(boosted.low)) svg.append(...interval(second.X, domain, boosted.low, boosted.high, y, colour));
      svg.append(mark(row.mean ? "Mean gain" : `Gain, ${row.name}`, row.mean ? tipOf(boosted) : [["gain", `${signed(row.gain, digits)} ${points(boosted.dataset)}`]],
        second.X(row.gain), y, 5, symbol(sure ? sure[1] : "circle", second.X(row.gain), y, row.mean ? 6 : 3.8, paint(colour))));
    });
    return {
      svg, legend: [["plain", nameOf("plain")], ["boosted", nameOf("boosted")]].map(([which, name]) => [swatch(styleOf(which)), name])
        .concat([[swatch(["gain", "circle"], { line: true }), "boosted is better"], [swatch(["loss", "circle"], { line: true }), "boosted is worse"]]),
      caption: there(boosted.low) ? "One row per split. The last row has the means, and the 95 % interval of the mean gain." : "One split has no interval.",
    };
  }));
}

// Bars from 0 with an interval each: [name, value, low, high, colour, what the tooltip says]

const bars = (width, rows, most, label, text) => {
  const names = rows.map(([name]) => fit(name, 0.36 * width));
  const left = 14 + Math.max(...names.map(wide));
  const [step, foot] = [30, 46];
  const height = 8 + step * rows.length + foot;
  const { svg, X } = plot({ width, height, left, right: 62, top: 8, bottom: foot, x: { domain: [0, most], label }, y: { domain: [0, 1], ticks: [] } });
  rows.forEach(([, value, low, high, colour, said], i) => {
    const y = 8 + step * (i + 0.5);
    svg.append(s("text", { x: left - 10, y: y + 4, "text-anchor": "end", class: i === 0 ? "panel" : null }, names[i]));
    if (!there(value)) return;
    svg.append(s("rect", { x: X(0), width: Math.max(1, X(value) - X(0)), y: y - 9, height: 18, rx: 2, fill: `var(--${colour})`, "fill-opacity": 0.5 }));
    if (there(low)) svg.append(...interval(X, [0, most], low, high, y, "ink"));
    svg.append(s("text", { class: "halo", x: X(Math.max(value, there(high) ? Math.min(high, most) : value)) + 8, y: y + 4 }, text(value)),
      mark(rows[i][0], said, X(value), y, 4, s("circle", { cx: X(value), cy: y, r: 3.6, fill: "var(--ink)" })));
  });
  svg.append(s("line", { class: "zero", x1: X(0), x2: X(0), y1: 8, y2: height - foot }));
  return svg;
};
const confusion = () => {
  const { classes, counts } = content.confusion;
  return h("div", { class: "scroll fits", tabindex: 0, role: "region", "aria-label": "Confusion matrix" },
    h("table", { class: "heat" }, h("caption", {}, h("span", {}, "Judged nodes by true class (rows) and predicted class (columns); the stronger the colour, the larger the share of the row")),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true \\ predicted"), classes.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, counts.map((row, i) => {
        const total = row.reduce((a, b) => a + b, 0);
        return h("tr", {}, h("th", { scope: "row" }, classes[i]), row.map((count, j) => h("td", {
          class: i === j ? "diagonal" : count ? null : "none", style: `--share:${total ? Math.round((100 * count) / total) : 0}%`,
        }, count.toLocaleString("en"))));
      }))));
};
const scatter = (state, width) => {
  const domain = padded(content.scatter.flatMap(([truth, value]) => [truth, value]));
  const side = Math.min(width, 600);
  const { svg, X, Y } = plot({ width: side, height: Math.round(side * 0.82), x: { domain, label: "True" }, y: { domain, label: "Predicted" } });
  svg.style.maxWidth = `${side}px`;
  svg.append(s("line", { class: "diagonal-line", x1: X(domain[0]), y1: Y(domain[0]), x2: X(domain[1]), y2: Y(domain[1]) }));
  for (const [truth, value, spread] of content.scatter) {
    svg.append(mark("A node", [["true", short(truth)], ["predicted", short(value)], ["standard deviation", short(spread)]], X(truth), Y(value), 3, s("circle", { cx: X(truth), cy: Y(value), r: 3, fill: "var(--boosted)", "fill-opacity": 0.6 })));
  }
  return { svg, legend: [], caption: `${content.scatter.length.toLocaleString("en")} judged nodes. On the dotted line, a prediction is right.` };
};

// Of an evaluation: how often it is right against the largest class, or how far it is off against the mean

const FEW_CLASSES = 12;
if (kind === "evaluation") {
  const found = content.answer;
  const judge = { better: "gain", worse: "loss" }[content.verdict] ?? "plain";
  const name = content.name ?? "model";
  const parts = [];
  if (found?.classes) {
    const share = (v) => `${v.toFixed(1)} %`;
    const told = (one) => [["right", share(one.value)], ["95 % interval", `${one.low.toFixed(1)} to ${one.high.toFixed(1)}`], ["nodes", one.nodes.toLocaleString("en")]];
    const each = found.classes.length <= FEW_CLASSES ? found.classes.filter((one) => one.nodes) : [];
    const rows = [[name, found.value, found.low, found.high, judge, told(found)],
      ["the largest class", found.majority, null, null, "other", [["always saying", found.largest], ["right", share(found.majority)]]],
      ...each.map((one) => [`“${one.name}”`, one.value, one.low, one.high, "plain", told(one)])];
    parts.push(...drawing("answer", "How often it is right", [], (state, width) => ({
      svg: bars(width, rows, 100, "Share that is right, %", share), legend: [],
      caption: `How often the model is right, with 95 % intervals; how often it would be by always saying the largest class, “${found.largest}”${each.length ? "; and how often it finds each class" : ""}.`,
    })));
    if (content.confusion.classes.length <= FEW_CLASSES) parts.push(confusion());
  } else if (content.scatter?.length) {
    parts.push(...drawing("answer", "Predicted against true", [], scatter));
    const beside = h("div", { class: "stack" });
    parts.push(beside);
    if (found) {
      beside.append(...drawing("answer", "How far it is off", [], (state, width) => ({
        svg: bars(width, [[name, found.value, found.low, found.high, judge, [["error", short(found.value)], ["95 % interval", `${short(found.low)} to ${short(found.high)}`], ["nodes", found.nodes.toLocaleString("en")]]],
          ["the mean", found.mean, null, null, "other", [["always saying", "the mean"], ["error", short(found.mean)]]]],
        1.1 * Math.max(found.high, found.mean, found.value) || 1, "Root mean squared error", short),
        legend: [], caption: "The shorter the better: the error of the model with its 95 % interval, and the error of always saying the mean of the judged labels.",
      })));
    }
    beside.append(...(content.tables ?? []).map((one) => table(one.caption, one.columns, one.rows)));
  }
  if (parts.length) answer(section("answer", found?.classes ? "How often it is right" : "How far it is off", h("div", { class: "pair" }, parts)));
}

// Of a leaderboard: every method, the best first

if (kind === "leaderboard" && measured.length) {
  const lookOf = (method) => {
    const { colour, kind: variant } = methods[method];
    return colour ? (variant === "plain" ? [`${colour}-pale`, "circle"] : [colour, "diamond"]) : ["other", "square"];
  };
  const where = measured[0].dataset;
  const digits = unitOf(where) === "%" ? 1 : 4;
  const unit = unitOf(where) ? ` ${unitOf(where)}` : "";
  const range = (low, high, text) => (there(low) ? `${text(low, digits)} to ${text(high, digits)}` : "–");
  answer(figure("board", "All methods", null, [], (state, width) => {
    const beside = width >= 620;
    const names = measured.map((cell) => fit(nameOf(cell.method), (beside ? 0.36 : 0.9) * width));
    const left = beside ? 18 + Math.max(...names.map(wide)) : 10;
    const [step, foot, right] = [beside ? 32 : 50, 46, beside ? 76 : 66];
    const height = 8 + step * measured.length + foot;
    // a method that is far worse than the others would squeeze them: it stands at the edge, with an arrow
    const sign = datasets[where]?.lower ? -1 : 1;
    const ranked = measured.map((cell) => sign * cell.mean).sort((a, b) => a - b);
    const quarter = ranked[Math.floor(ranked.length / 4)];
    const least = quarter - 1.5 * (ranked.at(-1) - quarter) - 1e-9;
    const near = measured.filter((cell) => sign * cell.mean >= least);
    const core = near.flatMap((cell) => [cell.mean, ...cell.trials.map((trial) => trial.value).filter(there)]);
    const [low, high] = [Math.min(...core), Math.max(...core)];
    const reach = (high - low || 1) * 0.4;
    const domain = padded([low, high, ...near.filter((cell) => there(cell.mean_low)).flatMap((cell) => [Math.max(cell.mean_low, low - reach), Math.min(cell.mean_high, high + reach)])], 0.04);
    const { svg, X } = plot({ width, height, left, right, top: 8, bottom: foot, x: { domain, label: axisOf(where) }, y: { domain: [0, 1], ticks: [] } });
    measured.forEach((cell, i) => {
      const y = 8 + step * i + (beside ? step / 2 : 33);
      const [colour, shape] = lookOf(cell.method);
      if (i) svg.append(s("line", { class: "gridline", x1: 0, x2: width, y1: 8 + step * i, y2: 8 + step * i }));
      svg.append(s("text", { class: cell.best ? "panel" : null, x: beside ? left - 14 : 10, y: beside ? y + 4 : y - 14, "text-anchor": beside ? "end" : "start" }, names[i]));
      const inside = near.includes(cell);
      const at = X(Math.min(Math.max(cell.mean, domain[0]), domain[1])) + (inside ? 0 : 16 * sign);
      if (!inside) svg.append(s("path", { d: `M${at - 15 * sign} ${y}l${6 * sign} -4v8z`, fill: "var(--muted)" }));
      for (const trial of cell.trials.filter((one) => inside && there(one.value))) {
        svg.append(s("circle", { cx: X(trial.value), cy: y, r: 2.4, fill: `var(--${colour})`, "fill-opacity": 0.45 }));
      }
      if (inside && there(cell.mean_low)) svg.append(...interval(X, domain, cell.mean_low, cell.mean_high, y, colour));
      svg.append(s("text", { class: cell.best ? "panel" : null, x: width - 4, y: y + 4, "text-anchor": "end" }, `${number(cell.mean, digits)}${unit}`),
        mark(nameOf(cell.method), [[metricOf(where), `${number(cell.mean, digits)}${unit}`], ["95 % interval", range(cell.mean_low, cell.mean_high, number)],
          ...(i ? [["to the first", signed(cell.to_best, digits)], ["95 % interval", range(cell.to_best_low, cell.to_best_high, signed)]] : []),
          ...(cell.base && there(cell.gain) ? [[`gain over ${nameOf(cell.base)}`, signed(cell.gain, digits)], ["95 % interval", range(cell.low, cell.high, signed)]] : []),
          ["splits", `${cell.n}${cell.failed ? `, ${cell.failed} failed` : ""}`], ["time of a fit", duration(cell.seconds)]], at, y, 6, symbol(shape, at, y, 5.4, paint(colour))));
    });
    const families = distinct(measured.filter((cell) => methods[cell.method].colour).map((cell) => methods[cell.method].family_name ?? nameOf(cell.method)));
    const of = (family) => measured.filter((cell) => methods[cell.method].colour && methods[cell.method].family_name === family).map((cell) => lookOf(cell.method));
    return {
      svg, legend: [...families.flatMap((family) => [["circle", `${family}, plain`], ["diamond", `${family}, boosted`]]
        .map(([shape, text]) => [of(family).find((look) => look[1] === shape), text]).filter(([look]) => look).map(([look, text]) => [swatch(look, { line: true }), text])),
      ...(measured.some((cell) => !methods[cell.method].colour) ? [[swatch(["other", "square"], { line: true }), "other methods"]] : [])],
      caption: `The mean over the splits${measured.some((cell) => there(cell.mean_low)) ? " with its 95 % interval" : ""}; small dots are single splits. ${datasets[where]?.lower ? "Lower is better. " : ""}Bold: ${(content.best ?? "the best").replace(" of its column", "")}.${near.length < measured.length ? " An arrow: outside of the axis." : ""}`,
    };
  }));
}
