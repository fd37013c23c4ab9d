// A function that becomes hot, is optimised, meets another type and is optimised again; a module of WebAssembly; a regular
// expression, which V8 compiles too.
function add(a, b) { return a + b; }
let sum = 0;
for (let index = 0; index < 30000; index++) sum = add(sum, index % 7);
let text = '';
for (let index = 0; index < 300; index++) text = add(text, String(index % 10));
const bytes = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 108, 11,
]);
const times = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f;
let product = 1;
for (let index = 0; index < 2000; index++) product = times(product, 3);
const found = text.match(/(\d)\1*(?=5)/g).length;
console.log(sum, text.length, product, found);
process.exitCode = 4;
