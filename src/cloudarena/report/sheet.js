/* A page of charts over two axes, each described by plain values. */
(() => {
  const MOST_NAMED = 8;
  const STAR = "path://M50 3 61 37 97 37 68 58 79 93 50 72 21 93 32 58 3 37 39 37Z";

  function xyOption(chart) {
    const lines = chart.series.filter(({ kind }) => kind === "line" || kind === "steps").length;
    let drawnLines = 0, drawnPoints = 0;
    const series = chart.series.map((one) => {
      const data = one.x.map((x, i) => ({ value: [x, one.y[i]], name: one.labels[i] || "" }));
      const isLine = one.kind === "line" || one.kind === "steps";
      const k = isLine ? drawnLines++ : drawnPoints++ + lines;
      const colour = one.kind === "faint" ? theme.muted : policyColour(k);
      if (one.kind === "star") {
        return { type: "scatter", name: one.name, data, z: 6, symbol: STAR, symbolSize: 20,
          itemStyle: { color: theme.verdicts.worse, borderColor: theme.surface, borderWidth: 1 } };
      }
      if (isLine) {
        return { type: "line", name: one.name, data, z: 4, step: one.kind === "steps" ? "end" : false,
          showSymbol: data.length <= 40, symbol: SHAPES[turn(k)], symbolSize: 6, emphasis: { disabled: true },
          lineStyle: { width: 2, color: colour, type: DASHES[turn(k)] }, itemStyle: { color: colour } };
      }
      return { type: "scatter", name: one.name, data, z: one.kind === "faint" ? 2 : 3,
        symbol: one.kind === "faint" ? "circle" : SHAPES[turn(k)], symbolSize: one.kind === "faint" ? 4 : 8,
        itemStyle: { color: colour, opacity: one.kind === "faint" ? 0.35 : 0.85 } };
    });
    if (chart.marks.length) {
      series[0].markLine = { silent: true, symbol: "none", lineStyle: { color: theme.muted, type: "dashed", width: 1 },
        data: chart.marks.map(([x, words]) => ({ xAxis: x, label: { show: Boolean(words), formatter: words } })) };
    }
    const axis = (name, range, isLog) => ({
      type: isLog ? "log" : "value", scale: true, name, nameLocation: "middle", nameTextStyle: { color: theme.muted }, splitNumber: 5,
      ...(range ? { min: range[0], max: range[1] } : {}),
      axisLabel: { color: theme.muted, formatter: tick, hideOverlap: true },
      splitLine: { lineStyle: { color: theme.line } }, axisLine: { show: false },
    });
    const named = chart.series.length > 1 && chart.series.length <= MOST_NAMED;
    const last = Math.max(...chart.series.flatMap(({ x }) => x.filter((v) => v !== null)).concat(1).map((v) => textWidth(tick(v))).slice(0, 500));
    const labels = Math.max(...chart.series.flatMap(({ y }) => y.filter((v) => v !== null)).concat(1).map((v) => textWidth(tick(v))).slice(0, 500));
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: theme.text },
      legend: { show: named, top: 0, left: 0, itemWidth: 18, itemHeight: 9, itemGap: 12, type: "scroll",
        textStyle: { color: theme.muted, width: 260, overflow: "truncate" }, pageTextStyle: { color: theme.muted } },
      grid: { left: Math.min(90, labels + 34), right: Math.max(20, last / 2 + 4), top: named ? 34 : 12, bottom: 44, outerBoundsMode: "none" },
      xAxis: { ...axis(chart.x, null, chart.x_log), scale: !chart.x_from_zero, nameGap: 26 },
      yAxis: { ...axis(chart.y, chart.y_range, chart.y_log), nameGap: Math.min(72, labels + 16) },
      tooltip: {
        ...tooltipStyle(), trigger: "item",
        formatter: ({ marker, seriesName, name, value }) =>
          `${marker}<b>${encode(seriesName)}</b>${name ? "<br>" + encode(name) : ""}` +
          `<br>${encode(chart.x)} <b>${number(value[0])}</b><br>${encode(chart.y)} <b>${number(value[1])}</b>`,
      },
      series,
    };
  }

  document.querySelectorAll("[data-sheet]").forEach((figure) => {
    const chart = data.charts[Number(figure.dataset.sheet)];
    addChart(figure.querySelector(".plot"), Number(figure.dataset.height), () => xyOption(chart));
  });
  startPage(() => {});
  const files = {};
  document.querySelectorAll("[data-file]").forEach((holder) => { files[holder.dataset.file] = () => holder.textContent; });
  offerDownloads(files);
})();
