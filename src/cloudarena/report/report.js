(() => {
  const metrics = new Map(data.metrics.map((metric) => [metric.name, metric]));

  const MARKS = { better: "✓ ", worse: "✕ ", "no difference": "≈ ", "": "" };
  const FEW_REPLICATIONS = 100;
  const SHOWN_ROWS = 500;
  const isOut = (name) => data.out_of_the_running.includes(name);
  const label = (name) => (isOut(name) ? "⊘ " : "") + name;

  /* A row for each policy: the interval as a line with ends, the mean, and each replication. */
  function dotOption(rows, zeroLine) {
    const names = rows.map((row) => row.name);
    const labels = Math.min(150, Math.max(...names.map(textWidth)) + 4);
    const series = [];
    rows.forEach((row, place) => {
      if (row.points.length > 1) {
        series.push({
          type: "scatter", symbol: "circle", symbolSize: 4, symbolOffset: [0, 9], silent: true, z: 2,
          itemStyle: { color: row.colour, opacity: 0.55 },
          data: row.points.filter((value) => value !== null).map((value) => [value, place]),
        });
      }
      if (row.mean === null) return;
      if (row.low !== null && row.high !== null) {
        series.push({
          type: "line", symbol: "rect", symbolSize: [2, 11], silent: true, z: 3,
          lineStyle: { color: row.colour, width: 2 }, itemStyle: { color: row.colour },
          data: [[row.low, place], [row.high, place]],
        });
      }
      series.push({
        type: "scatter", z: 4, symbolSize: 11,
        ...(row.bound ? { symbol: "triangle", symbolRotate: row.bound === "least" ? -90 : 90 } : { symbol: row.shape }),
        itemStyle: row.hollow ? { color: theme.surface, borderColor: row.colour, borderWidth: 2, opacity: 1 }
          : { color: row.colour, borderColor: theme.surface, borderWidth: 1, opacity: 1 },
        data: [[row.mean, place]],
      });
    });
    /* In a series of its own, lest it go with a policy that has no value. */
    if (zeroLine) series.push({
      type: "line", data: [], markLine: {
        silent: true, symbol: "none", label: { show: false },
        lineStyle: { color: theme.text, type: "solid", width: 1 }, data: [{ xAxis: 0 }],
      },
    });
    /* Words for each row without a value. */
    const missing = rows.flatMap((row, place) => (row.mean === null ? [place] : []));
    const middle = extent(rows, zeroLine);
    if (missing.length) series.push({
      type: "scatter", symbolSize: 1, silent: true, itemStyle: { color: "transparent" },
      label: { show: true, formatter: "no value", color: theme.muted, fontSize: 12, position: "inside" },
      data: missing.map((place) => [middle.min + (middle.max - middle.min) * (zeroLine ? 0.75 : 0.5), place]),
    });
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: theme.text },
      grid: { left: labels + 12, right: 24, top: 6, bottom: 26, outerBoundsMode: "none" },
      xAxis: {
        type: "value", ...extent(rows, zeroLine), splitNumber: 4,
        axisLabel: { color: theme.muted, formatter: tick, hideOverlap: true, showMinLabel: false, showMaxLabel: false },
        splitLine: { showMinLine: false, showMaxLine: false, lineStyle: { color: theme.line } },
      },
      yAxis: {
        type: "category", inverse: true, data: names,
        axisTick: { show: false }, axisLine: { show: false },
        axisLabel: { color: theme.text, width: labels, overflow: "truncate", interval: 0 },
      },
      tooltip: {
        ...tooltipStyle(),
        trigger: "axis", axisPointer: { type: "shadow", axis: "y", shadowStyle: { color: theme.muted, opacity: 0.1 } },
        formatter: (items) => rows[items[0].value[1]].tooltip,
      },
      series,
    };
  }

  /* All that a row shows, with some air. */
  function extent(rows, zeroLine) {
    const all = rows.flatMap((row) => [row.mean, row.low, row.high, ...row.points]).filter((value) => value !== null);
    if (zeroLine || all.length === 0) all.push(0);
    const low = Math.min(...all), high = Math.max(...all);
    const air = (high - low) * 0.07 || Math.abs(high) * 0.1 || 1;
    return { min: all.every((value) => value === 0) && !zeroLine ? -0.07 : low - air, max: high + air };
  }

  function tooltipText(name, estimate, extra, level) {
    const range = estimate.range && `<br><span style="opacity:.75">${level}: ${encode(estimate.range)}</span>`;
    return `<b>${encode(name)}</b><br>${encode(estimate.text)}${extra ? " " + encode(extra) : ""}${range}`;
  }

  function meansOption(metric) {
    const values = data.values[metric.name];
    return dotOption(data.policies.map((name, k) => ({
      ...metric.estimates[k],
      name: (metric.leaders.includes(name) ? "★ " : "") + label(name), hollow: isOut(name),
      colour: policyColour(k), shape: SHAPES[turn(k)],
      points: data.replications <= FEW_REPLICATIONS ? values[k] : [],
      tooltip: tooltipText(
        label(name), metric.estimates[k], metric.leaders.includes(name) ? "★" : isOut(name) ? "out of the running" : "",
        `${Math.round(data.confidence * 100)} % interval`,
      ),
    })), false);
  }

  /* The difference of two values; none where one is missing, and 0 where it is rounding. */
  function minus(value, other) {
    if (value === null || other === null) return null;
    return Math.abs(value - other) <= 1e-9 * Math.max(Math.abs(value), Math.abs(other)) ? 0 : value - other;
  }

  function differencesOption(metric) {
    const values = data.values[metric.name];
    return dotOption(data.policies.slice(1).map((name, k) => {
      const difference = metric.differences[k];
      const verdict = difference.verdict;
      return {
        ...difference,
        name: MARKS[verdict] + name,
        colour: theme.verdicts[verdict], shape: verdict === "worse" ? "diamond" : "circle", hollow: verdict === "no difference",
        points: data.replications <= FEW_REPLICATIONS ? values[k + 1].map((value, r) => minus(value, values[0][r])) : [],
        tooltip: tooltipText(name, difference, verdict, "interval at the level of the test"),
      };
    }), true);
  }

  function timeOption(timeline) {
    const shared = timeline.lines[0].x;
    const ends = timeline.lines.flatMap(({ x }) => (x ? [x[0], x[x.length - 1]] : []));
    const first = Math.min(...ends), last = Math.max(...ends), begin = first > 0 && first < 0.2 * last ? 0 : first;
    const series = timeline.lines.map((line) => {
      const k = data.policies.indexOf(line.policy);
      const x = line.x || shared;
      return {
        type: "line", name: line.policy, showSymbol: false, sampling: "none",
        step: timeline.mean_of === 1 && "end",
        lineStyle: { width: 1.6, color: policyColour(k), type: DASHES[turn(k)] },
        itemStyle: { color: policyColour(k) }, emphasis: { disabled: true },
        data: line.y.map((y, i) => [x[i], y]),
        markLine: line.marks && {
          silent: true, symbol: "none", label: { show: false },
          lineStyle: { color: policyColour(k), type: DASHES[turn(k)], width: 1, opacity: 0.45 },
          data: line.marks.map((time) => ({ xAxis: time })),
        },
      };
    });
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: theme.text },
      legend: { show: false },
      grid: { left: 56, right: 18, top: 12, bottom: 84, outerBoundsMode: "none" },
      xAxis: {
        type: "value", name: timeline.x_unit, nameLocation: "middle", nameGap: 24,
        min: begin, max: last,
        nameTextStyle: { color: theme.muted },
        axisLabel: { color: theme.muted, formatter: tick, showMinLabel: begin === 0, showMaxLabel: false, hideOverlap: true },
        splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: theme.line } },
      },
      yAxis: {
        type: "value", scale: true, splitNumber: 4,
        axisLabel: { color: theme.muted, formatter: tick }, splitLine: { lineStyle: { color: theme.line } },
      },
      dataZoom: [{
        type: "slider", height: 22, bottom: 8, brushSelect: false, showDetail: false,
        borderColor: theme.line, fillerColor: theme.accent + "22", backgroundColor: theme.soft,
        handleStyle: { color: theme.surface, borderColor: theme.accent },
        moveHandleStyle: { color: theme.accent, opacity: 0.35 },
        dataBackground: { lineStyle: { color: theme.muted, opacity: 0.5 }, areaStyle: { color: theme.muted, opacity: 0.15 } },
        selectedDataBackground: { lineStyle: { color: theme.accent, opacity: 0.6 }, areaStyle: { color: theme.accent, opacity: 0.12 } },
      }],
      tooltip: {
        ...tooltipStyle(), trigger: "axis",
        axisPointer: { lineStyle: { color: theme.muted } },
        formatter: (items) => `<span style="opacity:.75">${number(items[0].value[0])} ${encode(timeline.x_unit)}</span>` +
          items.map((item) => `<br>${item.marker}${encode(item.seriesName)} <b>${item.value[1] === null ? "none" : number(item.value[1])}</b> ${encode(timeline.unit)}`).join(""),
      },
      series,
    };
  }

  /* A mark for each policy, its intervals both ways, and a line through the front. Where the means differ by an order of
     magnitude the axis is logarithmic, or one bad policy would push all others into a corner. */
  const WIDE = 20;
  const isWide = (means) => Math.min(...means) > 0 && Math.max(...means) > WIDE * Math.min(...means);
  /* Where each mean is on its axis, from 0 to 1. */
  function placed(estimates, type) {
    const at = estimates.map(({ mean }) => (mean === null ? null : type === "log" ? Math.log(mean) : mean));
    const there = at.filter((value) => value !== null), low = Math.min(...there), span = Math.max(...there) - low || 1;
    return at.map((value) => (value === null ? null : (value - low) / span));
  }
  /* The words beside marks: of those that would be written over each other, the rightmost has the names of all. */
  function markNames(across, up) {
    const order = across.map((x, k) => k).filter((k) => across[k] !== null && up[k] !== null).sort((a, b) => across[b] - across[a]);
    const groups = new Map();
    order.forEach((k) => {
      const first = [...groups.keys()].find((j) => across[j] - across[k] < 0.08 && Math.abs(up[j] - up[k]) < 0.06);
      groups.set(first ?? k, [...(groups.get(first ?? k) ?? []), label(data.policies[k])]);
    });
    return new Map([...groups].map(([k, together]) => [k, together.join(", ")]));
  }
  function tradeOffOption(pair) {
    const onAxis = (estimates) => {
      const means = estimates.map(({ mean }) => mean).filter((mean) => mean !== null), wide = isWide(means);
      const least = wide ? Math.min(...means) / 2 : -Infinity;
      const kept = estimates.map((one) => ({ ...one, low: one.low === null ? null : Math.max(one.low, least) }));
      return [kept, wide ? "log" : "value"];
    };
    const [across, xType] = onAxis(metrics.get(pair.x).estimates);
    const [up, yType] = onAxis(metrics.get(pair.y).estimates);
    const names = markNames(placed(across, xType), placed(up, yType));
    const line = (data, colour) => ({
      type: "line", data, silent: true, symbol: "none", z: 2, lineStyle: { color: colour, width: 1.5 },
    });
    const series = [{
      type: "line", silent: true, symbol: "none", z: 1,
      lineStyle: { color: theme.muted, width: 1.5, type: "dashed" },
      data: pair.front.map((k) => [across[k].mean, up[k].mean]),
    }];
    data.policies.forEach((name, k) => {
      const colour = policyColour(k), { mean: x } = across[k], { mean: y } = up[k];
      if (x === null || y === null) return;
      if (across[k].low !== null && across[k].high !== null) series.push(line([[across[k].low, y], [across[k].high, y]], colour));
      if (up[k].low !== null && up[k].high !== null) series.push(line([[x, up[k].low], [x, up[k].high]], colour));
      const words = { show: names.has(k), formatter: names.get(k), position: "right", color: theme.text, fontSize: 12 };
      series.push({
        type: "scatter", name, symbol: SHAPES[turn(k)], symbolSize: 12, z: 4, data: [[x, y]], label: words,
        itemStyle: isOut(name) ? { color: theme.surface, borderColor: colour, borderWidth: 2, opacity: 1 }
          : { color: colour, borderColor: theme.surface, borderWidth: 1, opacity: 1 },
      });
    });
    const axis = (name, gap, type) => ({
      type, scale: true, name, nameLocation: "middle", nameGap: gap, nameTextStyle: { color: theme.muted },
      axisLabel: { color: theme.muted, formatter: tick, hideOverlap: true }, splitLine: { lineStyle: { color: theme.line } },
    });
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: theme.text },
      grid: { left: 70, right: 140, top: 12, bottom: 48, outerBoundsMode: "none" },
      xAxis: axis(pair.x, 28, xType), yAxis: axis(pair.y, 50, yType),
      tooltip: {
        ...tooltipStyle(), trigger: "item",
        formatter: ({ seriesName }) => {
          const k = data.policies.indexOf(seriesName);
          return `<b>${encode(label(seriesName))}</b><br>${encode(pair.x)} ${encode(across[k].text)}<br>${encode(pair.y)} ${encode(up[k].text)}`;
        },
      },
      series,
    };
  }

  const timeCharts = [];
  document.querySelectorAll("[data-chart]").forEach((figure) => {
    const { chart: kind, metric, plot } = figure.dataset;
    const rows = kind === "means" ? data.policies.length : data.policies.length - 1;
    const height = kind === "time" ? 300 : kind === "trade-off" ? 380 : 40 + 30 * Math.max(2, rows);
    const option = kind === "time" ? () => timeOption(data.timelines[plot])
      : kind === "trade-off" ? () => tradeOffOption(data.trade_offs[plot])
      : kind === "means" ? () => meansOption(metrics.get(metric)) : () => differencesOption(metrics.get(metric));
    const chart = addChart(figure.querySelector(".plot"), height, option);
    if (kind === "time") timeCharts.push(chart);
  });

  startPage(() => {
    document.querySelectorAll("[data-policy]").forEach((key) => {
      const k = Number(key.dataset.policy);
      if (key.classList.contains("line")) {
        key.style.borderTop = `3px ${["solid", "dashed", "dotted", "dashed"][turn(k)]} ${policyColour(k)}`;
      } else {
        key.style.background = policyColour(k);
      }
    });
  });

  /* One slider zooms all charts over time; one button hides a policy in all of them. */
  let zooming = false;
  const zoomAll = (start, end, except) => {
    zooming = true;
    timeCharts.filter((chart) => chart !== except).forEach((chart) => chart.dispatchAction({ type: "dataZoom", start, end }));
    zooming = false;
  };
  timeCharts.forEach((chart) => chart.on("datazoom", () => {
    if (zooming) return;
    const { start, end } = chart.getOption().dataZoom[0];
    zoomAll(start, end, chart);
  }));
  document.getElementById("reset-zoom").addEventListener("click", () => zoomAll(0, 100, null));
  document.querySelectorAll("[data-switch]").forEach((button) => button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    const name = data.policies[Number(button.dataset.switch)];
    timeCharts.forEach((chart) => chart.dispatchAction({ type: shown ? "legendSelect" : "legendUnSelect", name }));
  }));

  /* Every replication, as a table when asked for, and as a file. */
  const NAMES = data.metrics.map((metric) => metric.name), BOUNDED = Object.keys(data.bounds);
  const HEADS = ["policy", "replication", "seed", ...NAMES];
  function* replicationRows() {
    for (const [k, policy] of data.policies.entries()) {
      for (let r = 0; r < data.replications; r++) {
        yield [k, r, [policy, r, data.seed + r, ...NAMES.map((name) => data.values[name][k][r])]];
      }
    }
  }
  const cellText = (value, name, k, r) =>
    value === null ? "\u2013" : (data.bounds[name]?.[k][r] ? "> " : "") + number(value);
  const replications = document.getElementById("replications");
  replications.addEventListener("toggle", () => {
    const holder = replications.querySelector(".scroll");
    if (!replications.open || holder.firstChild) return;
    const table = holder.appendChild(document.createElement("table"));
    const head = table.createTHead().insertRow();
    HEADS.forEach((text) => { head.appendChild(document.createElement("th")).textContent = text; });
    const body = table.createTBody();
    let shown = 0;
    for (const [k, r, row] of replicationRows()) {
      if (shown++ === SHOWN_ROWS) {
        body.insertRow().insertCell().textContent = `The first ${SHOWN_ROWS} rows; the CSV file has all.`;
        break;
      }
      const line = body.insertRow();
      row.forEach((value, column) => {
        line.insertCell().textContent = column > 2 ? cellText(value, HEADS[column], k, r) : value;
      });
    }
  });

  const csvField = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  offerDownloads({
    "replications.csv": () => [
      [...HEADS, ...BOUNDED.map((name) => `${name}_is_at_least`)],
      ...[...replicationRows()].map(([k, r, row]) => [...row, ...BOUNDED.map((name) => data.bounds[name][k][r])]),
    ].map((row) => row.map(csvField).join(",") + "\n").join(""),
    "scenario.yaml": () => document.getElementById("spec").textContent,
  });
})();
