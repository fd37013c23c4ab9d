"use strict";
/* The page's numbers, the same as Rust's FineHistogram gives. A histogram is
   [cold, mean, step, count, step, count, …]: fine bins, each as the step from the one before. */

function range(bin) {
  if (bin < 32) return [bin, bin];
  const width = 2 ** ((bin >> 4) - 1);
  const low = ((bin & 15) + 16) * width;
  return [low, low + width - 1];
}

function eachBin(h, visit) {
  let bin = 0;
  for (let i = 2; i < h.length; i += 2) {
    bin += h[i];
    visit(bin, h[i + 1]);
  }
}

function accesses(h) {
  let sum = h[0];
  for (let i = 3; i < h.length; i += 2) sum += h[i];
  return sum;
}

/* Misses of a fully associative LRU cache; the bin that the size cuts counts in proportion, rounded down. */
function misses(h, items) {
  let sum = h[0];
  eachBin(h, (bin, count) => {
    const [low, high] = range(bin);
    if (low >= items) sum += count;
    else if (high >= items)
      sum += Number(BigInt(count) * BigInt(high - items + 1) / BigInt(high - low + 1));
  });
  return sum;
}

/* Numbers as people read them, the same as in numbers.rs. */
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

function count(n) {
  if (n < 10000) return grouped(n);
  const units = ["k", "M", "G", "T", "P", "E"];
  let unit = 0;
  let scaled = n / 1000;
  while (scaled >= 999.5 && unit + 1 < units.length) { scaled /= 1000; unit++; }
  return scaled.toFixed(scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2) + " " + units[unit];
}

function percent(part, whole) {
  if (whole === 0) return "—";
  if (part === 0) return "0 %";
  if (part === whole) return "100 %";
  const value = part / whole * 100;
  if (value < 0.01) return "<0.01 %";
  if (value > 99.99) return ">99.99 %";
  return value.toFixed(value < 9.995 || value >= 99.95 ? 2 : 1) + " %";
}

function bytes(n) {
  if (n < 1024) return n + " B";
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let power = 0;
  while (n >= 1024 ** (power + 2) && power + 1 < units.length) power++;
  const tenths = Math.round(n * 10 / 1024 ** (power + 1));
  return (tenths % 10 ? (tenths / 10).toFixed(1) : tenths / 10) + " " + units[power];
}

function parseSize(text) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text);
  return match ? Math.round(match[1] * 1024 ** " kmgt".indexOf(match[2].toLowerCase() || " ")) : NaN;
}

function size(items, granularity) {
  return granularity === 1 ? count(items) + (items === 1 ? " item" : " items") : bytes(items * granularity);
}

/* Where a cache of so many items lies on an axis [first octave, last octave, its place], from 0 to 1. */
function xOn([low, high, finite], items) {
  const octave = items < 1 ? low : Math.log2(items);
  return Math.min(1, Math.max(0, (octave - low) / (high - low) * finite));
}

/* The sizes at which a curve has a point. */
function sizesOf([low, high, finite]) {
  const sizes = [];
  const end = 2 ** Math.min(52, low + (high - low) / finite);
  for (let bin = 1; range(bin)[0] <= end; bin++) sizes.push(range(bin)[0]);
  return sizes;
}

/* Lets a picture of curves be read by pointer, touch and keys. */
function slider(area, axis, sizes, first, read, choose) {
  const [low, high, finite] = axis;
  const cursor = document.createElement("div");
  cursor.className = "cursor";
  cursor.hidden = true;
  area.append(cursor);
  let at = Math.max(0, sizes.findIndex((size) => size >= first));
  for (const [name, value] of [["role", "slider"], ["tabindex", "0"], ["aria-label", "Cache size"],
    ["aria-valuemin", 0], ["aria-valuemax", sizes.length - 1], ["aria-valuenow", at]]) area.setAttribute(name, value);
  const show = () => {
    cursor.hidden = false;
    cursor.style.left = xOn(axis, sizes[at]) * 100 + "%";
    area.setAttribute("aria-valuenow", at);
    read(sizes[at], area, cursor);
  };
  area.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 16, PageDown: -16,
      Home: -sizes.length, End: sizes.length }[event.key];
    if ((event.key === "Enter" || event.key === " ") && choose) choose(sizes[at]);
    else if (step) at = Math.min(sizes.length - 1, Math.max(0, at + step));
    else return;
    event.preventDefault();
    show();
  });
  area.addEventListener("focus", show);
  const point = (event) => {
    const box = area.getBoundingClientRect();
    const wanted = 2 ** (low + (event.clientX - box.left) / box.width / finite * (high - low));
    const beyond = sizes.findIndex((size) => size > wanted);
    at = Math.max(0, (beyond < 0 ? sizes.length : beyond) - 1);
    show();
  };
  area.addEventListener("pointermove", point);
  area.addEventListener("pointerdown", point);
  if (choose) area.addEventListener("click", (event) => { point(event); choose(sizes[at]); });
}

function start() {
  const root = document.documentElement;
  root.classList.add("js");
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, words, className) => {
    const element = document.createElement(tag);
    if (words !== undefined) element.textContent = words;
    if (className) element.className = className;
    return element;
  };
  theme();
  const D = JSON.parse($("#data").textContent);
  if (D.compare && $("#curves")) compare();
  if (!D.whole || !accesses(D.whole)) return;

  const all = accesses(D.whole);
  const high = D.axis[1];
  const xOf = (items) => xOn(D.axis, items);
  const sizeOf = (items) => size(items, D.g);
  const exact = new Map(D.levels.map((level) => [level[1], level[2]]));
  const names = new Map(D.levels.map((level) => [level[1], level[0]]));
  const wholeMisses = (items) => exact.has(items) ? exact.get(items) : misses(D.whole, items);
  const label = (items) => names.get(items) || sizeOf(items);
  let items = D.chosen;
  let picked = null;

  /* ---- The choice of the cache ---- */
  const form = $("#chooser");
  const other = $("#other");
  const choose = (value) => {
    items = value;
    const radio = $$("input[type=radio]", form).find((input) => +input.value === value);
    (radio || $("input[value=other]", form)).checked = true;
    if (!radio) other.value = sizeOf(value);
    $("#total").classList.remove("bad");
    show();
  };
  const readOther = () => {
    const value = D.g === 1 ? parseInt(other.value.replace(/[, ]/g, ""), 10) : Math.floor(parseSize(other.value) / D.g);
    if (value >= 1 && value < 2 ** 53) return choose(value);
    $("#total").textContent = `a size, such as 48K, of at least ${sizeOf(1)}`;
    $("#total").classList.add("bad");
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); readOther(); });
  form.addEventListener("change", (event) => {
    if (event.target === other || event.target.value === "other") other.value ? readOther() : other.focus();
    else choose(+event.target.value);
  });
  other.addEventListener("focus", () => { $("input[value=other]", form).checked = true; });

  function show() {
    const total = wholeMisses(items);
    $("#total").textContent = `${count(total)} misses, ${percent(total, all)}`;
    $$("[data-cache]").forEach((element) => { element.textContent = label(items); });
    const edge = barEdge();
    $("#misses-rect").setAttribute("x", edge);
    $("#hits-rect").setAttribute("width", edge + 1);
    for (const id of ["histogram", "curve"]) markCache($("#" + id + " .area"), id === "curve");
    $$(".panel").forEach(fillTable);
    drawIcicle();
    fillSource();
  }

  /* Where the bars change colour: a bar that the size cuts, at the share of its accesses that hit. */
  function barEdge() {
    const low = 2 ** Math.floor(Math.log2(items));
    const inBar = wholeMisses(low) - wholeMisses(2 * low);
    if (low === items || !inBar) return xOf(items) * 1000;
    const hits = Math.min(1, (wholeMisses(low) - wholeMisses(items)) / inBar);
    const left = xOf(low), width = xOf(2 * low) - left;
    return (left + width * (0.05 + 0.9 * hits)) * 1000;
  }

  function markCache(area, withRatio) {
    $$(".mark.custom", area).forEach((mark) => mark.remove());
    let found = false;
    for (const mark of $$(".mark", area)) {
      const on = +mark.dataset.items === items;
      found = found || on;
      mark.classList.toggle("on", on);
    }
    if (found || Math.log2(items) > high) return;
    const mark = make("div", undefined, "mark on custom" + (xOf(items) > 0.86 ? " flip narrow-flip" : xOf(items) > 0.55 ? " narrow-flip" : ""));
    mark.style.left = xOf(items) * 100 + "%";
    const words = make("span");
    words.style.top = "40%";
    words.append(make("b", "cache"), " " + sizeOf(items));
    if (withRatio) words.append(make("br"), percent(wholeMisses(items), all) + " miss");
    mark.append(words);
    area.append(mark);
  }

  /* ---- Tables ---- */
  const value = {
    misses: (h) => misses(h, items),
    share: (h) => misses(h, items),
    ratio: (h) => misses(h, items) / Math.max(1, accesses(h)),
    accesses,
    cold: (h) => h[0],
    mean: (h) => h[1] === null ? -1 : h[1],
  };
  const sorted = {};
  for (const panel of $$(".panel")) {
    sorted[panel.dataset.by] = ["misses", -1];
    for (const head of $$("thead th", panel)) {
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const [key, way] = sorted[panel.dataset.by];
        const first = head.dataset.key === "name" ? 1 : -1;
        sorted[panel.dataset.by] = [head.dataset.key, key === head.dataset.key ? -way : first];
        fillTable(panel);
      });
    }
  }

  function fillTable(panel) {
    const by = panel.dataset.by;
    const table = D.tables[by];
    const [key, way] = sorted[by];
    for (const head of $$("thead th", panel)) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const wanted = ($("#filter") ? $("#filter").value : "").toLowerCase();
    const rows = table.names.map((name, index) => ({ name, index, h: table.h[index] }))
      .filter((row) => row.name.toLowerCase().includes(wanted));
    const of = key === "name" ? null : new Map(rows.map((row) => [row.index, value[key](row.h)]));
    rows.sort((a, b) => way * (of ? of.get(a.index) - of.get(b.index) : a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
      || a.index - b.index);
    const body = $("tbody", panel);
    body.replaceChildren(...rows.map((row) => tableRow(by, row)));
    if (!rows.length) {
      const cell = make("td", `No name holds “${wanted}”.`);
      cell.colSpan = 7;
      body.append(make("tr"));
      body.firstChild.append(cell);
    }
    const rest = $("tfoot tr", panel);
    if (rest && table.rest) rest.replaceChildren(rest.firstElementChild, ...numbers(table.rest[1]));
  }

  function tableRow(by, row) {
    const tr = make("tr");
    const head = make("th");
    head.scope = "row";
    const pick = make("button", row.name, "pick");
    pick.type = "button";
    pick.title = "Draw its distances into the pictures";
    const on = picked && picked.by === by && picked.index === row.index;
    pick.setAttribute("aria-pressed", on);
    tr.classList.toggle("on", !!on);
    pick.addEventListener("click", () => {
      picked = on ? null : { by, index: row.index, name: row.name, h: row.h };
      drawPicked();
      fillTable($("#panel-" + by));
      const again = $$("#panel-" + by + " .pick").find((button) => button.textContent === row.name);
      if (again) again.focus();
    });
    head.append(pick);
    tr.append(head, ...numbers(row.h));
    return tr;
  }

  function numbers(h) {
    const mine = misses(h, items);
    const total = wholeMisses(items);
    const own = accesses(h);
    const share = make("td", percent(Math.min(mine, total), total), "share");
    const bar = make("i");
    bar.style.width = Math.min(100, mine / Math.max(1, total) * 100) + "%";
    share.append(bar);
    const cells = [make("td", count(mine)), share, make("td", percent(mine, own)), make("td", count(own)),
      make("td", count(h[0])), make("td", h[1] === null ? "—" : sizeOf(Math.round(h[1])))];
    cells[0].title = grouped(mine);
    cells[3].title = grouped(own);
    return cells;
  }

  /* ---- Tabs and the filter ---- */
  const tabs = $$("[role=tab]");
  const openTab = (tab) => {
    for (const each of tabs) {
      each.setAttribute("aria-selected", each === tab);
      each.tabIndex = each === tab ? 0 : -1;
      $("#" + each.getAttribute("aria-controls")).hidden = each !== tab;
    }
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => openTab(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(index + step + tabs.length) % tabs.length];
      openTab(next);
      next.focus();
    });
  });
  if (tabs.length) openTab(tabs[0]);
  if ($("#filter")) $("#filter").addEventListener("input", () => $$(".panel").forEach(fillTable));

  /* ---- A group drawn into the pictures ---- */
  function drawPicked() {
    const bars = $("#pick-bars");
    const line = $("#pick-line");
    $("#key-pick").hidden = !picked;
    bars.setAttribute("d", "");
    line.setAttribute("d", "");
    if (!picked) return;
    $("#key-pick span").textContent = picked.name + " alone";
    const log2 = new Map();
    eachBin(picked.h, (bin, n) => {
      const first = range(bin)[0];
      const octave = first === 0 ? 0 : Math.floor(Math.log2(first)) + 1;
      log2.set(octave, (log2.get(octave) || 0) + n);
    });
    let path = "";
    const top = +bars.dataset.top;
    for (const [octave, n] of log2) {
      const left = xOf(octave === 0 ? 0.5 : 2 ** (octave - 1)) * 1000;
      const right = xOf(octave === 0 ? 1 : 2 ** octave) * 1000;
      const inset = (right - left) * 0.05;
      path += `M${left + inset} 1000V${1000 - Math.max(6, n / all / top * 1000)}H${right - inset}V1000`;
    }
    bars.setAttribute("d", path);
    const scale = 1000 / all / +$("#curve .line").dataset.top;
    line.setAttribute("d", sizes.map((at, i) => `${i ? "L" : "M"}${xOf(at) * 1000} ${1000 - misses(picked.h, at) * scale}`)
      .join("") + `L1000 ${1000 - picked.h[0] * scale}`);
  }

  /* ---- Reading the curve ---- */
  const sizes = sizesOf(D.axis);
  slider($("#curve .area"), D.axis, sizes, items, (here, area, cursor) => {
    const mine = wholeMisses(here);
    cursor.style.setProperty("--v", mine / all / +$("#curve .line").dataset.top);
    const words = [make("b", sizeOf(here)), `: ${percent(mine, all)} of the accesses miss (${grouped(mine)} of ${grouped(all)})`];
    if (picked) words.push(`; ${picked.name}: ${percent(misses(picked.h, here), accesses(picked.h))} of its own`);
    const next = sizes.find((each) => each > here && misses(D.whole, each) < mine * 0.9);
    words.push(". " + (mine === D.whole[0] ? "Only first touches miss: a larger cache does not help."
      : next ? `The next size that saves a tenth of them: ${sizeOf(next)}.` : "No larger cache saves even a tenth of them."));
    $("#readout").replaceChildren(...words);
    area.setAttribute("aria-valuetext", `${sizeOf(here)}: ${percent(mine, all)} miss`);
  }, choose);

  /* ---- The icicle ---- */
  let zoom = 0;
  function drawIcicle() {
    const box = $("#icicle");
    if (!box) return;
    const { p, f, h } = D.tree;
    const inclusive = h.map((each) => misses(each, items));
    const own = h.map(accesses);
    const children = h.map(() => []);
    for (let node = h.length - 1; node > 0; node--) {
      inclusive[p[node]] += inclusive[node];
      own[p[node]] += own[node];
      children[p[node]].push(node);
    }
    const tiles = [];
    const path = [];
    for (let node = zoom; node !== 0; node = p[node]) path.unshift(p[node]);
    path.forEach((node, depth) => tiles.push([node, depth, 0, 100]));
    const queue = [[zoom, path.length, 0, 100]];
    const scale = 100 / Math.max(1, inclusive[zoom]);
    while (queue.length) {
      const tile = queue.shift();
      tiles.push(tile);
      let left = tile[2];
      children[tile[0]].sort((a, b) => inclusive[b] - inclusive[a] || a - b);
      for (const child of children[tile[0]]) {
        const width = inclusive[child] * scale;
        if (width >= 0.25 && tile[1] + 1 < path.length + 40) queue.push([child, tile[1] + 1, left, width]);
        left += width;
      }
    }
    box.style.height = (Math.max(...tiles.map((tile) => tile[1])) + 1) * 27 + "px";
    box.replaceChildren(...tiles.map((tile) => icicleTile(tile, inclusive, own)));
    function icicleTile([node, depth, left, width], costs, counts) {
      const share = percent(costs[node], costs[0]);
      const name = node === 0 ? "all" : f[node];
      const button = make("button", width < 2 ? "" : `${name} ${share}`, width < 2 ? "slim" : "");
      button.type = "button";
      button.style.cssText = `left:${left}%;width:${width}%;top:${depth * 27}px;--heat:${Math.sqrt(costs[node] / Math.max(1, counts[node]))}`;
      const where = D.tree.at[node] ? ` called at ${D.tree.at[node]}` : "";
      button.title = `${name}${where}: ${grouped(costs[node])} misses (${share}) of ${grouped(counts[node])} accesses`;
      if (width < 2) button.setAttribute("aria-label", button.title);
      button.addEventListener("click", () => {
        zoom = node === zoom ? p[node] : node;
        drawIcicle();
        box.children[0].focus();
      });
      return button;
    }
  }

  /* ---- The source ---- */
  function fillSource() {
    D.source.forEach(([, lines], index) => {
      const total = wholeMisses(items);
      let sum = 0;
      for (const [line, h] of lines) {
        const mine = misses(h, items);
        sum += mine;
        const row = document.getElementById(`s${index}-${line}`);
        if (!row) continue;
        const [first, second] = row.children;
        first.textContent = count(mine);
        first.title = grouped(mine);
        first.style.setProperty("--heat", Math.min(1, mine / Math.max(1, total)));
        second.textContent = percent(mine, accesses(h));
      }
      $(`[data-file="${index}"]`).textContent = `${percent(Math.min(sum, total), total)} of the misses`;
    });
  }

  show();

  /* ---- Several profiles ---- */
  function compare() {
    slider($("#curves .area"), D.axis, sizesOf(D.axis), 1, (here, area, cursor) => {
      cursor.classList.add("bare");
      const words = D.compare.map(([name, h]) => `${name} ${percent(misses(h, here), accesses(h))}`).join(", ");
      $("#readout").replaceChildren(make("b", size(here, D.g)), `: ${words} miss.`);
      area.setAttribute("aria-valuetext", `${size(here, D.g)}: ${words} miss`);
    });
  }

  function theme() {
    const button = $("#theme");
    const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const asked = new URLSearchParams(location.search).get("theme") || location.hash.slice(1);
    if (asked === "dark" || asked === "light") root.dataset.theme = asked;
    const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.title = `Switch to ${button.textContent.toLowerCase()} colours`; };
    button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
    name();
  }
}

if (typeof module !== "undefined") module.exports = { misses, accesses, count, percent, bytes, size, parseSize, grouped };
if (typeof document !== "undefined") start();
