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
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, words, className) => {
    const element = document.createElement(tag);
    if (words !== undefined) element.textContent = words;
    if (className) element.className = className;
    return element;
  };
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
    drawHeights();
    for (const id of ["histogram", "curve"]) markCache($("#" + id + " .area"), id === "curve");
    $$(".panel").forEach(fillTable);
    drawIcicle();
    fillSource();
  }

  /* ---- The heights of the pictures ---- */
  const bars = octaves(D.whole);
  const sizes = sizesOf(D.axis);
  let heights = "all";
  let scales = null;
  for (const input of $$(".heights input")) input.addEventListener("change", () => {
    heights = input.value;
    for (const each of $$(".heights input")) each.checked = each.value === heights;
    show();
    drawPicked();
  });

  /* The scale of the bars and that of the curve. "misses only" leaves room for what misses in the chosen cache. */
  function scalesNow(shown) {
    const most = Math.max(D.whole[0], ...shown.map((bar) => bar.n)) / all;
    if (heights === "log") {
      const least = Math.min(...[D.whole[0], ...shown.map((bar) => bar.n)].filter((n) => n > 0)) / all;
      return { bars: logScale(least), curve: logScale(misses(D.whole, sizes.at(-1)) / all) };
    }
    const highest = heights === "misses" ? wholeMisses(items) : misses(D.whole, sizes[0]);
    return { bars: linearScale(most * 1.06), curve: linearScale(highest / all) };
  }

  function drawHeights() {
    const shown = heights === "misses" ? missing(bars, items, wholeMisses) : bars;
    scales = scalesNow(shown);
    drawAxis($("#histogram"), scales.bars);
    drawAxis($("#curve"), scales.curve);
    const path = shown.map((bar) => barPath(...spanOf(bar), bar.n, scales.bars) + "Z").join("");
    $$("#histogram .bars").forEach((element) => element.setAttribute("d", path));
    const edge = heights === "misses" ? -1 : barEdge();
    $("#misses-rect").setAttribute("x", edge);
    $("#hits-rect").setAttribute("width", edge + 1);
    const cold = [D.axis[2] * 1000 + 14, 996];
    $("#histogram .cold").setAttribute("d", D.whole[0] ? barPath(...cold, D.whole[0], scales.bars) + "Z" : "");
    labelBars([...shown.map((bar) => [...spanOf(bar), bar.n]), [...cold, D.whole[0]]]);
    const line = curvePath(D.whole, D.levels.length ? wholeMisses : undefined);
    $("#curve .line").setAttribute("d", line);
    $("#curve .fill").setAttribute("d", `${line}V1000H${xOf(1) * 1000}Z`);
  }

  function drawAxis(plot, scale) {
    const marks = scale.ticks.map((tick) => [tick, scale.of(tick)]);
    $(".y", plot).replaceChildren(...marks.map(([tick, height]) => {
      const mark = make("span", tickLabel(tick));
      mark.style.bottom = height * 100 + "%";
      return mark;
    }));
    $$(".grid", plot).forEach((line) => line.remove());
    const svg = $("svg", plot);
    for (const [, height] of marks.filter((mark) => mark[1] > 0)) {
      const line = document.createElementNS(svg.namespaceURI, "path");
      line.setAttribute("class", "grid");
      line.setAttribute("d", `M0 ${1000 - height * 1000}H1000`);
      svg.prepend(line);
    }
  }

  /* Left and right of a bin, in thousandths. */
  const spanOf = (bar) => [xOf(bar.low === 0 ? 0.5 : bar.low) * 1000, xOf(bar.end) * 1000];

  /* A bar without its last side; one that has accesses is never too low to be seen. */
  function barPath(left, right, n, scale) {
    const inset = (right - left) * 0.05;
    return `M${left + inset} 1000V${1000 - Math.max(6, scale.of(n / all) * 1000)}H${right - inset}V1000`;
  }

  function labelBars(shown) {
    const area = $("#histogram .area");
    $$(".bar-label", area).forEach((label) => label.remove());
    for (const [left, right, n] of shown) {
      const height = scales.bars.of(n / all);
      if (n / all < (heights === "all" ? 0.005 : 0.0001) || height < 0.02) continue;
      const label = make("span", percent(n, all), "bar-label");
      label.style.cssText = `left:${(left + right) / 20}%;bottom:${height * 100}%`;
      area.append(label);
    }
  }

  /* The curve of a histogram. There is no cache of two and a half items: small sizes are steps. */
  function curvePath(h, missesIn = (at) => misses(h, at)) {
    let path = "";
    let y = 1000;
    for (const at of sizes) {
      const x = xOf(at) * 1000;
      y = 1000 - scales.curve.of(missesIn(at) / all) * 1000;
      path += !path ? `M${x} ${y}` : at <= 32 ? `H${x}V${y}` : `L${x} ${y}`;
    }
    return path + `L1000 ${y}`;
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
    const mark = make("div", undefined, "mark on custom" + flips(xOf(items), area.dataset));
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
    const first = wanted || unfolded.has(by) ? rows.length : large(rows);
    body.replaceChildren(...rows.slice(0, first).map((row) => tableRow(by, row)));
    $(".more", panel).replaceChildren(...foldButton(panel, rows.length, first, wanted));
    if (!rows.length) {
      const cell = make("td", `No name holds “${wanted}”.`);
      cell.colSpan = 7;
      body.append(make("tr"));
      body.firstChild.append(cell);
    }
    const rest = $("tfoot tr", panel);
    if (rest && table.rest) rest.replaceChildren(rest.firstElementChild, ...numbers(table.rest[1]));
  }

  /* How many rows a table shows at first: as many as have a percent of all misses, and ten in any case. */
  const unfolded = new Set();
  function large(rows) {
    const least = Math.max(1, wholeMisses(items)) / 100;
    return Math.min(rows.length, Math.max(10, rows.filter((row) => misses(row.h, items) >= least).length));
  }

  function foldButton(panel, rows, first, wanted) {
    const by = panel.dataset.by;
    const isOpen = unfolded.has(by);
    if (wanted || (!isOpen && first === rows)) return [];
    const left = rows - first;
    const button = make("button", isOpen ? "Show fewer rows" : `Show ${grouped(left)} more ${left === 1 ? "row" : "rows"}`);
    button.type = "button";
    button.addEventListener("click", () => {
      isOpen ? unfolded.delete(by) : unfolded.add(by);
      fillTable(panel);
    });
    return [button];
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
    bars.setAttribute("d", octaves(picked.h).map((bar) => barPath(...spanOf(bar), bar.n, scales.bars)).join(""));
    line.setAttribute("d", curvePath(picked.h));
  }

  /* ---- Reading the curve ---- */
  slider($("#curve .area"), D.axis, sizes, items, (here, area, cursor) => {
    const mine = wholeMisses(here);
    cursor.style.setProperty("--v", scales.curve.of(mine / all));
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
  /* A file opens where its misses are, not at its first line. */
  function scrollToHottest(file, index) {
    const hottest = D.source[index][1].reduce((best, line) => misses(line[1], items) > misses(best[1], items) ? line : best);
    const row = document.getElementById(`s${index}-${hottest[0]}`);
    const code = $(".code", file);
    if (!file.open || !row) return;
    /* Not by offsetTop: some browsers count that from the top of the page, which ends at the last line. */
    const down = row.getBoundingClientRect().top - code.getBoundingClientRect().top;
    code.scrollTop += down - code.clientHeight / 3;
  }
  $$("#source .file").forEach((file, index) => {
    scrollToHottest(file, index);
    file.addEventListener("toggle", () => scrollToHottest(file, index));
  });

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
      const words = D.compare.map(([name, h]) => `${name} ${percent(misses(h, here), accesses(h))} (${count(misses(h, here))})`).join(", ");
      $("#readout").replaceChildren(make("b", size(here, D.g)), `: ${words} miss.`);
      area.setAttribute("aria-valuetext", `${size(here, D.g)}: ${words} miss`);
    });
  }
}

if (typeof module !== "undefined") module.exports = { linearScale, logScale, tickLabel, octaves, missing, misses, accesses, count, percent, bytes, size, parseSize, grouped };
if (typeof document !== "undefined") start();
