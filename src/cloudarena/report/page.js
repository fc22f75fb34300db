"use strict";
/* Draws a page: its charts, each described by plain values, follow the theme; tips, tables, downloads. */
const data = JSON.parse(document.getElementById("data").textContent);
const encode = echarts.format.encodeHTML;

/* Colours that colour-blind readers can tell apart; shapes and dashes say the same again. */
const THEMES = {
  light: {
    policies: ["#0072b2", "#d55e00", "#00896b", "#a8438d", "#a87a00", "#3b94d1", "#7a4a2b", "#5c6672"],
    text: "#18212d", muted: "#586474", line: "#dfe3e9", surface: "#ffffff", soft: "#eef2f6",
    accent: "#0b5fad", verdicts: { better: "#00896b", worse: "#d55e00", "no difference": "#7a8694", "not told apart": "#7a8694", "": "#0072b2" },
  },
  dark: {
    policies: ["#56b4e9", "#ff8c4a", "#34c9a0", "#e08fc6", "#e5b93c", "#a3d4f7", "#c99a77", "#a9b4c0"],
    text: "#e7ecf2", muted: "#9dabbb", line: "#2d3744", surface: "#19202a", soft: "#232c38",
    accent: "#79bdf5", verdicts: { better: "#34c9a0", worse: "#ff8c4a", "no difference": "#8b98a8", "not told apart": "#8b98a8", "": "#56b4e9" },
  },
};
const SHAPES = ["circle", "rect", "triangle", "diamond"];
const DASHES = ["solid", [7, 3], [2, 2], [10, 3, 2, 3]];

const darkness = matchMedia("(prefers-color-scheme: dark)");
let theme = darkness.matches ? THEMES.dark : THEMES.light;
const policyColour = (k) => theme.policies[k % theme.policies.length];
const turn = (k) => (k + Math.floor(k / theme.policies.length)) % SHAPES.length;

const format = (options) => new Intl.NumberFormat("en-US", options);
const small = format({ maximumSignificantDigits: 5 });
const large = format({ maximumFractionDigits: 1 });
const compact = format({ notation: "compact", maximumSignificantDigits: 5 });
const number = (value) => {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) return String(Number(value.toPrecision(3)));
  return (size >= 1000 ? large : small).format(value);
};
const tick = (value) => (Math.abs(value) >= 1e6 ? compact.format(value) : number(value));

const measuring = document.createElement("canvas").getContext("2d");
const FONT = "12px " + getComputedStyle(document.body).fontFamily;
const textWidth = (text) => {
  measuring.font = FONT;
  return measuring.measureText(text).width;
};

function tooltipStyle() {
  return {
    confine: true, backgroundColor: theme.surface, borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: 13 },
  };
}

const charts = [];
function addChart(frame, height, option) {
  frame.style.height = `${height}px`;
  const chart = echarts.init(frame, null, { renderer: "svg" });
  charts.push({ chart, frame, option });
  return chart;
}

/* Draws all charts, again when the theme changes; colourKeys colours what is not a chart. */
function startPage(colourKeys) {
  function draw() {
    charts.forEach(({ chart, option }) => chart.setOption(option()));
    colourKeys();
  }
  function useTheme(next) {
    theme = next;
    draw();
  }

  draw();
  darkness.addEventListener("change", () => useTheme(darkness.matches ? THEMES.dark : THEMES.light));
  const refit = () => charts.forEach(({ chart }) => chart.resize());
  addEventListener("beforeprint", () => { useTheme(THEMES.light); refit(); });
  addEventListener("afterprint", () => { useTheme(darkness.matches ? THEMES.dark : THEMES.light); refit(); });
  if ("ResizeObserver" in window) {
    const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => echarts.getInstanceByDom(target)?.resize()));
    charts.forEach(({ frame }) => observer.observe(frame));
  } else {
    addEventListener("resize", refit);
  }
}

/* What a metric means, on hover and on focus. */
const tooltip = document.getElementById("tooltip");
function showTip(event) {
  const target = event.target.closest?.("[data-tip]");
  tooltip.hidden = !target || !target.dataset.tip;
  if (tooltip.hidden) return;
  tooltip.textContent = target.dataset.tip;
  const box = target.getBoundingClientRect();
  const room = innerWidth - tooltip.offsetWidth - 12;
  tooltip.style.left = `${Math.max(12, Math.min(box.left, room))}px`;
  const above = box.top - tooltip.offsetHeight - 8;
  tooltip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
}
const hideTip = () => { tooltip.hidden = true; };
document.addEventListener("pointerover", showTip);
document.addEventListener("focusin", showTip);
document.addEventListener("focusout", hideTip);
addEventListener("scroll", hideTip, true);
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

document.querySelectorAll("[data-copy]").forEach((button) => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
});

/* A row for each mean: the interval as a line with ends, the mean, and single values. */
function dotsOption(chart) {
  const rows = chart.rows.map((row) => {
    const [mean, low, high] = row.estimate;
    const isPolicy = typeof row.colour === "number";
    return {
      ...row, mean, low, high, name: row.prefix + row.name,
      shade: isPolicy ? policyColour(row.colour) : theme.verdicts[row.colour],
      shape: isPolicy ? SHAPES[turn(row.colour)] : row.colour === "worse" ? "diamond" : "circle",
      tooltip: `<b>${encode(row.name)}</b><br>${encode(row.text)} ${encode(row.note)}` +
        (row.ends && `<br><span style="opacity:.75">${encode(chart.level)}: ${encode(row.ends)}</span>`),
    };
  });
  const names = rows.map((row) => row.name);
  const labels = Math.min(150, Math.max(...names.map(textWidth)) + 4);
  const range = extent(rows, chart.has_zero);
  const series = [];
  rows.forEach((row, place) => {
    if (row.points.length > 1) {
      series.push({
        type: "scatter", symbol: "circle", symbolSize: 4, symbolOffset: [0, 9], silent: true, z: 2,
        itemStyle: { color: row.shade, opacity: 0.55 },
        data: row.points.filter((value) => value !== null).map((value) => [value, place]),
      });
    }
    if (row.mean === null) return;
    if (row.low !== null && row.high !== null) {
      series.push({
        type: "line", symbol: "rect", symbolSize: [2, 11], silent: true, z: 3,
        lineStyle: { color: row.shade, width: 2 }, itemStyle: { color: row.shade },
        data: [[row.low, place], [row.high, place]],
      });
    }
    series.push({
      type: "scatter", z: 4, symbolSize: 11,
      ...(row.bound ? { symbol: "triangle", symbolRotate: row.bound === "least" ? -90 : 90 } : { symbol: row.shape }),
      itemStyle: markStyle(row.shade, row.is_hollow),
      data: [[row.mean, place]],
    });
  });
  /* In a series of its own, lest it go with a row that has no value. */
  if (chart.has_zero) series.push({
    type: "line", data: [], markLine: {
      silent: true, symbol: "none", label: { show: false },
      lineStyle: { color: theme.text, type: "solid", width: 1 }, data: [{ xAxis: 0 }],
    },
  });
  /* Words for each row without a value. */
  const missing = rows.flatMap((row, place) => (row.mean === null ? [place] : []));
  if (missing.length) series.push({
    type: "scatter", symbolSize: 1, silent: true, itemStyle: { color: "transparent" },
    label: { show: true, formatter: "no value", color: theme.muted, fontSize: 12, position: "inside" },
    data: missing.map((place) => [range.min + (range.max - range.min) * (chart.has_zero ? 0.75 : 0.5), place]),
  });
  return {
    ...baseOption(),
    grid: { left: labels + 12, right: 24, top: 6, bottom: 26, outerBoundsMode: "none" },
    xAxis: {
      type: "value", ...range, splitNumber: 4,
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

/* All that the rows show, with some air. */
function extent(rows, hasZero) {
  const all = rows.flatMap((row) => [row.mean, row.low, row.high, ...row.points]).filter((value) => value !== null);
  if (hasZero || all.length === 0) all.push(0);
  const low = Math.min(...all), high = Math.max(...all);
  const air = (high - low) * 0.07 || Math.abs(high) * 0.1 || 1;
  return { min: all.every((value) => value === 0) && !hasZero ? -0.07 : low - air, max: high + air };
}

const markStyle = (colour, isHollow) => (isHollow ? { color: theme.surface, borderColor: colour, borderWidth: 2, opacity: 1 }
  : { color: colour, borderColor: theme.surface, borderWidth: 1, opacity: 1 });

/* Points that have their names beside them. On a logarithmic axis an interval ends where half the least of them is. */
const named = (chart) => chart.series.filter(({ kind }) => kind === "named");
const least = (chart, axis) => (chart[`${axis}_log`] ? Math.min(...named(chart).map((one) => one[axis][0])) / 2 : -Infinity);
/* Where each is on an axis, from 0 to 1. */
function placed(chart, axis) {
  const at = named(chart).map((one) => (chart[`${axis}_log`] ? Math.log(one[axis][0]) : one[axis][0]));
  const low = Math.min(...at), span = Math.max(...at) - low || 1;
  return at.map((value) => (value - low) / span);
}
/* The words beside points: of those that would be written over each other, the rightmost has the names of all. */
function namesBeside(chart) {
  const points = named(chart), across = placed(chart, "x"), up = placed(chart, "y");
  const groups = new Map();
  points.map((_, k) => k).sort((a, b) => across[b] - across[a]).forEach((k) => {
    const first = [...groups.keys()].find((j) => across[j] - across[k] < 0.08 && Math.abs(up[j] - up[k]) < 0.06);
    groups.set(first ?? k, [...(groups.get(first ?? k) ?? []), points[k].name]);
  });
  return new Map([...groups].map(([k, together]) => [points[k], together.join(", ")]));
}

/* A series over two axes as the library wants it; some are drawn as several. */
const STAR = "path://M50 3 61 37 97 37 68 58 79 93 50 72 21 93 32 58 3 37 39 37Z";
const isLine = ({ kind }) => kind === "line" || kind === "steps";
function xySeries(one, k, chart) {
  const data = one.x.map((x, i) => ({ value: [x, one.y[i]], name: one.labels[i] || "" }));
  const colour = one.kind === "faint" ? theme.muted : policyColour(k);
  const vertical = one.marks.length && {
    silent: true, symbol: "none", label: { show: false },
    lineStyle: { color: colour, type: DASHES[turn(k)], width: 1, opacity: 0.45 }, data: one.marks.map((time) => ({ xAxis: time })),
  };
  switch (one.kind) {
    case "star":
      return [{ type: "scatter", name: one.name, data, z: 6, symbol: STAR, symbolSize: 20,
        itemStyle: { color: theme.verdicts.worse, borderColor: theme.surface, borderWidth: 1 } }];
    case "dashed":
      return [{ type: "line", data, silent: true, symbol: "none", z: 1, lineStyle: { color: theme.muted, width: 1.5, type: "dashed" } }];
    case "threads":
      return [{ type: "line", name: one.name, data: one.x.map((x, i) => (x === null ? null : [x, one.y[i]])), silent: true, symbol: "none",
        connectNulls: false, z: one.colour === null ? 1 : 2, itemStyle: { color: one.colour === null ? theme.muted : colour },
        lineStyle: { color: one.colour === null ? theme.muted : colour, width: 1, opacity: one.colour === null ? 0.25 : 0.6 } }];
    case "named": {
      const [x, y] = data[0].value, [left, right, low, high] = one.spans;
      const span = (ends) => ({ type: "line", data: ends, silent: true, symbol: "none", z: 2, lineStyle: { color: colour, width: 1.5 } });
      const words = namesBeside(chart).get(one);
      return [
        ...(left === null || right === null ? [] : [span([[Math.max(left, least(chart, "x")), y], [right, y]])]),
        ...(low === null || high === null ? [] : [span([[x, Math.max(low, least(chart, "y"))], [x, high]])]),
        { type: "scatter", name: one.name, data, z: 4, symbol: SHAPES[turn(k)], symbolSize: 12,
          label: { show: Boolean(words), formatter: words, position: "right", offset: [0, -9], color: theme.text, fontSize: 12 },
          itemStyle: markStyle(colour, one.is_hollow) },
      ];
    }
    case "line": case "steps":
      return [{ type: "line", name: one.name, data, z: 4, step: one.kind === "steps" ? "end" : false, sampling: "none",
        showSymbol: !chart.over_time && data.length <= 40, symbol: SHAPES[turn(k)], symbolSize: 6, emphasis: { disabled: true },
        lineStyle: { width: chart.over_time ? 1.6 : 2, color: colour, type: DASHES[turn(k)] }, itemStyle: { color: colour },
        ...(vertical ? { markLine: vertical } : {}) }];
    default:
      return [{ type: "scatter", name: one.name, data, z: one.kind === "faint" ? 2 : 3,
        symbol: one.kind === "faint" ? "circle" : SHAPES[turn(k)], symbolSize: one.kind === "faint" ? 4 : 8,
        itemStyle: { color: colour, opacity: one.kind === "faint" ? 0.35 : 0.85 } }];
  }
}

/* Words on an axis instead of numbers; long ones are cut. */
const wordsAt = (words) => (words.length ? {
  min: 0, max: words.length - 1, interval: 1, splitLine: { show: false },
  axisLabel: { color: theme.muted, interval: 0, formatter: (value) => words[value] ?? "", hideOverlap: false,
    width: Math.min(180, (innerWidth - 130) / words.length), overflow: "truncate", fontSize: 11 },
} : {});

const MOST_NAMED = 8;
function xyOption(chart) {
  const lines = chart.series.filter(isLine).length;
  let drawnLines = 0, drawnPoints = 0;
  const series = chart.series.flatMap((one) => {
    const turnOfOwn = isLine(one) ? drawnLines++ : drawnPoints++ + lines;
    return xySeries(one, one.colour ?? turnOfOwn, chart);
  });
  if (chart.marks.length) {
    series[0].markLine = { silent: true, symbol: "none", lineStyle: { color: theme.muted, type: "dashed", width: 1 },
      data: chart.marks.map(([x, words]) => ({ xAxis: x, label: { show: Boolean(words), formatter: words } })) };
  }
  const isNamed = named(chart).length > 0;
  const hasLegend = (!chart.over_time || chart.has_legend) && !isNamed && chart.series.length > 1 && chart.series.length <= MOST_NAMED;
  const axis = (name, range, isLog) => ({
    type: isLog ? "log" : "value", scale: true, name, nameLocation: "middle", nameTextStyle: { color: theme.muted }, splitNumber: 5,
    ...(range ? { min: range[0], max: range[1] } : {}),
    axisLabel: { color: theme.muted, formatter: tick, hideOverlap: true },
    splitLine: { lineStyle: { color: theme.line } }, axisLine: { show: false },
  });
  const isCounted = !chart.dates && chart.series.every(({ x }) => x.every(Number.isInteger));
  const widest = (axis) => Math.max(...chart.series.flatMap((one) => one[axis].filter((value) => value !== null)).concat(1)
    .slice(0, 500).map((value) => textWidth(tick(value))));
  const labels = widest("y");
  const option = {
    ...baseOption(),
    legend: { show: hasLegend, top: 0, left: 0, itemWidth: 18, itemHeight: 11, itemGap: 12, type: "scroll",
      textStyle: { color: theme.muted, width: 260, overflow: "truncate" }, pageTextStyle: { color: theme.muted } },
    grid: { left: Math.min(90, Math.max(62, labels + 34)), right: isNamed ? 140 : Math.max(20, widest("x") / 2 + 4), top: hasLegend ? 34 : 12, bottom: 44, outerBoundsMode: "none" },
    xAxis: { ...axis(chart.x, null, chart.x_log), scale: !chart.x_from_zero, nameGap: 26, ...(isCounted ? { minInterval: 1 } : {}), ...wordsAt(chart.x_words) },
    yAxis: { ...axis(chart.y, chart.y_range, chart.y_log), nameGap: Math.min(72, Math.max(42, labels + 16)) },
    tooltip: {
      ...tooltipStyle(), trigger: "item",
      formatter: ({ marker, seriesName, name, value }) =>
        `${marker}<b>${encode(seriesName)}</b>${name ? "<br>" + encode(name) : ""}` +
        `<br>${encode(chart.x)} <b>${number(value[0])}</b><br>${encode(chart.y)} <b>${number(value[1])}</b>`,
    },
    series,
  };
  return chart.over_time ? withSlider(option, chart, labels) : option;
}

/* A chart over time: from end to end, a slider below it, and all lines in one tooltip. */
function withSlider(option, chart, labels) {
  const ends = chart.series.flatMap(({ x }) => [x[0], x[x.length - 1]]);
  const first = Math.min(...ends), last = Math.max(...ends), begin = first > 0 && first < 0.2 * last ? 0 : first;
  return {
    ...option,
    grid: { left: Math.min(80, Math.max(48, labels + 16)), right: 18, top: chart.has_legend ? 34 : 12, bottom: 84, outerBoundsMode: "none" },
    xAxis: {
      ...option.xAxis, min: begin, max: last, nameGap: 24, ...(chart.dates ? { type: "time" } : {}),
      axisLabel: chart.dates ? { color: theme.muted, hideOverlap: true, showMaxLabel: false, formatter: dateLabel }
        : { ...option.xAxis.axisLabel, showMinLabel: begin === 0, showMaxLabel: false }, splitLine: { show: false },
      axisLine: { show: true, lineStyle: { color: theme.line } },
    },
    yAxis: { ...option.yAxis, name: "", splitNumber: 4 },
    dataZoom: [{
      type: "slider", height: 22, bottom: 8, brushSelect: false, showDetail: false,
      borderColor: theme.line, fillerColor: theme.accent + "22", backgroundColor: theme.soft,
      handleStyle: { color: theme.surface, borderColor: theme.accent },
      moveHandleStyle: { color: theme.accent, opacity: 0.35 },
      dataBackground: { lineStyle: { color: theme.muted, opacity: 0.5 }, areaStyle: { color: theme.muted, opacity: 0.15 } },
      selectedDataBackground: { lineStyle: { color: theme.accent, opacity: 0.6 }, areaStyle: { color: theme.accent, opacity: 0.12 } },
    }],
    tooltip: {
      ...tooltipStyle(), trigger: "axis", axisPointer: { lineStyle: { color: theme.muted } },
      formatter: (items) => `<span style="opacity:.75">${chart.dates ? dateText(items[0].value[0]) : number(items[0].value[0])} ${encode(chart.x)}</span>` +
        items.map((item) => `<br>${item.marker}${encode(item.seriesName)} <b>${item.value[1] === null ? "none" : number(item.value[1])}</b> ${encode(chart.y)}`).join(""),
    },
  };
}

const baseOption = () => ({
  animation: false, useUTC: true, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: theme.text },
});

/* Times as dates, in ms since 1970, where the scenario says when it began. */
/* A day is told with its month: "3" alone could be anything. */
const dateLabel = {
  year: "{d} {MMM} {yyyy}", month: "{d} {MMM}", day: "{d} {MMM}", hour: "{HH}:{mm}", minute: "{HH}:{mm}", second: "{HH}:{mm}:{ss}",
};
const dateText = (time) => new Date(time).toISOString().slice(0, 16).replace("T", " ");
data.charts.filter(({ dates }) => dates).forEach((chart) => {
  const [begin, unit] = chart.dates, moved = (time) => begin + time * unit;
  chart.x = "UTC";
  chart.series.forEach((one) => { one.x = one.x.map(moved); one.marks = one.marks.map(moved); });
});

const timeCharts = [];
document.querySelectorAll("[data-chart]").forEach((figure) => {
  const chart = data.charts[Number(figure.dataset.chart)];
  const option = chart.type === "dots" ? () => dotsOption(chart) : () => xyOption(chart);
  const drawn = addChart(figure.querySelector(".plot"), Number(figure.dataset.height), option);
  if (chart.over_time) timeCharts.push(drawn);
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
document.querySelectorAll(".reset-zoom").forEach((button) => button.addEventListener("click", () => zoomAll(0, 100, null)));
const showLines = (name, shown) => timeCharts.forEach((chart) => chart.dispatchAction({ type: shown ? "legendSelect" : "legendUnSelect", name }));
document.querySelectorAll("[data-switch]").forEach((button) => {
  if (button.getAttribute("aria-pressed") === "false") showLines(button.dataset.switch, false);
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    showLines(button.dataset.switch, shown);
  });
});
/* Of several views of a section, one is shown. */
document.querySelectorAll("[data-view]").forEach((button) => button.addEventListener("click", () => {
  const section = button.closest("section");
  section.querySelectorAll("[data-view]").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
  section.querySelectorAll(".chart").forEach((figure) => { figure.hidden = (figure.dataset.inView ?? "0") !== button.dataset.view; });
}));

/* Rows of numbers, as a table when asked for, and as a file. */
const SHOWN_ROWS = 500;
const cellText = (value, isBound) => (value === null ? "\u2013" : typeof value === "number" ? (isBound ? "> " : "") + number(value) : value);
document.querySelectorAll("[data-rows]").forEach((details) => details.addEventListener("toggle", () => {
  const { heads, columns, bounds } = data.rows[Number(details.dataset.rows)];
  const holder = details.querySelector(".scroll");
  if (!details.open || holder.firstChild) return;
  const table = holder.appendChild(document.createElement("table"));
  const head = table.createTHead().insertRow();
  heads.forEach((text) => { head.appendChild(document.createElement("th")).textContent = text; });
  const body = table.createTBody();
  columns[0].slice(0, SHOWN_ROWS).forEach((_, row) => {
    const line = body.insertRow();
    heads.forEach((name, k) => { line.insertCell().textContent = cellText(columns[k][row], bounds[name]?.[row]); });
  });
  if (columns[0].length > SHOWN_ROWS) body.insertRow().insertCell().textContent = `The first ${SHOWN_ROWS} rows; the CSV file has all.`;
}));

const csvField = (value) => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
function csvText({ heads, columns, bounds }) {
  const bounded = Object.keys(bounds);
  const lines = [[...heads, ...bounded.map((name) => `${name}_is_at_least`)]];
  columns[0].forEach((_, row) => lines.push([...columns.map((column) => column[row]), ...bounded.map((name) => bounds[name][row])]));
  return lines.map((line) => line.map(csvField).join(",") + "\n").join("");
}

/* Files that the page offers: for each name a function that gives its text. */
const contents = Object.fromEntries([
  ...data.rows.map((rows) => [rows.name, () => csvText(rows)]),
  ...[...document.querySelectorAll("[data-file]")].map((holder) => [holder.dataset.file, () => holder.textContent]),
]);
document.querySelectorAll("[data-download]").forEach((button) => button.addEventListener("click", () => {
  const link = document.createElement("a");
  link.download = button.dataset.download;
  link.href = URL.createObjectURL(new Blob([contents[link.download]()], { type: "text/plain;charset=utf-8" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}));
