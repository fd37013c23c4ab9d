// Work for node: code that becomes compiled while it runs, objects that are collected, workers, promises, WebAssembly.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

function collatz(n) {
  let steps = 0;
  for (; n !== 1; steps++) n = n % 2 === 0 ? n / 2 : 3 * n + 1;
  return steps;
}

function work(start) {
  const names = new Map();
  let sum = 0;
  for (let i = 1; i < 6000; i++) {
    names.set('k' + (i % 97), new Array(i % 50).fill(i));
    sum += collatz(i + start);
  }
  return sum + names.size;
}

if (isMainThread) {
  const done = [0, 1, 2].map(
    (start) => new Promise((right) => new Worker(__filename, { workerData: start }).on('message', right)));
  // (func (export "f") (param i32) (result i32) local.get 0 local.get 0 i32.mul)
  const square = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 0,
    108, 11])));
  Promise.all(done).then((sums) => console.log(sums, square.exports.f(12), JSON.stringify({ a: [1, 'ä'] })));
} else {
  parentPort.postMessage(work(workerData));
}
