"use strict";
/* What all pages share: colours, numbers, charts that follow the theme, tips, downloads. */
const data = JSON.parse(document.getElementById("data").textContent);
const encode = echarts.format.encodeHTML;

/* Colours that colour-blind readers can tell apart; shapes and dashes say the same again. */
const THEMES = {
  light: {
    policies: ["#0072b2", "#d55e00", "#00896b", "#a8438d", "#a87a00", "#3b94d1", "#7a4a2b", "#5c6672"],
    text: "#18212d", muted: "#586474", line: "#dfe3e9", surface: "#ffffff", soft: "#eef2f6",
    accent: "#0b5fad", verdicts: { better: "#00896b", worse: "#d55e00", "no difference": "#7a8694", "": "#0072b2" },
  },
  dark: {
    policies: ["#56b4e9", "#ff8c4a", "#34c9a0", "#e08fc6", "#e5b93c", "#a3d4f7", "#c99a77", "#a9b4c0"],
    text: "#e7ecf2", muted: "#9dabbb", line: "#2d3744", surface: "#19202a", soft: "#232c38",
    accent: "#79bdf5", verdicts: { better: "#34c9a0", worse: "#ff8c4a", "no difference": "#8b98a8", "": "#56b4e9" },
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

/* Files that a page offers: for each name a function that gives its text. */
function offerDownloads(contents) {
  document.querySelectorAll("[data-download]").forEach((button) => button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.download = button.dataset.download;
    link.href = URL.createObjectURL(new Blob([contents[link.download]()], { type: "text/plain;charset=utf-8" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }));
}
document.querySelectorAll("[data-copy]").forEach((button) => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
});
