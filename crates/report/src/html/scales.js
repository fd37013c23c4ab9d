"use strict";
/* The heights of the two pictures. A scale is { of, ticks }: `of` takes a share of all accesses to a
   height from 0 to 1, and `ticks` are the shares that the axis names. */

/* The steps of an axis that ends at or above the share `most`, the same as in plot.rs. */
function shareStep(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= rough * 0.999) || 10) * power;
}

function linearScale(most) {
  if (!(most > 0)) return { of: () => 0, ticks: [0] };
  const step = shareStep(most);
  const top = Math.max(Math.min(Math.ceil(most / step) * step, 1), most);
  const ticks = [...Array(9).keys()].map((index) => index * step).filter((tick) => tick <= top * 1.001);
  return { of: (share) => Math.min(1, share / top), ticks };
}

/* From the power of ten at or below the share `least` up to all accesses. */
function logScale(least) {
  const low = least > 0 ? Math.min(-1, Math.floor(Math.log10(least))) : -1;
  const step = Math.ceil(-low / 8);
  const ticks = [];
  for (let power = 0; power >= low; power -= step) ticks.push(10 ** power);
  return { of: (share) => share > 0 ? Math.min(1, Math.max(0, 1 - Math.log10(share) / low)) : 0, ticks };
}

function tickLabel(share) {
  if (share === 0) return "0";
  return +(share * 100).toPrecision(3) + " %";
}

/* The bars of a histogram, without the first touches: `n` accesses with distances from `low` up to, but without, `end`. */
function octaves(h) {
  const counts = new Map();
  eachBin(h, (bin, n) => {
    const low = range(bin)[0];
    const octave = low === 0 ? 0 : Math.floor(Math.log2(low)) + 1;
    counts.set(octave, (counts.get(octave) || 0) + n);
  });
  return [...counts].sort((a, b) => a[0] - b[0])
    .map(([octave, n]) => ({ low: octave === 0 ? 0 : 2 ** (octave - 1), end: 2 ** octave, n }));
}

/* The bars whose accesses miss in a cache of `items`; the bar that the size cuts keeps what misses of it. */
function missing(bars, items, missesIn) {
  return bars.filter((bar) => bar.end > items)
    .map((bar) => bar.low >= items ? bar : { ...bar, n: Math.max(0, missesIn(items) - missesIn(bar.end)) });
}

/* Where the label of a cache at `x` of the width goes to the left; `edges` are what plot.rs says of
   the picture. */
function flips(x, edges) {
  return (x >= +edges.flip ? " flip" : "") + (x >= +edges.narrowFlip ? " narrow-flip" : "");
}
