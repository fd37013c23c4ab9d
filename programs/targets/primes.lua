-- Traces that LuaJIT compiles, leaves by side exits, and compiles again; a callback from C, whose entry is generated code.
local ffi = require("ffi")
ffi.cdef("void qsort(void *base, size_t count, size_t size, int (*compare)(const int *, const int *));")
local sum, count = 0, 0
for number = 2, 4000 do
  local prime = true
  for divisor = 2, math.floor(math.sqrt(number)) do
    if number % divisor == 0 then prime = false break end
  end
  if prime then sum, count = sum + number, count + 1 end
end
local list = ffi.new("int[?]", 100)
for index = 0, 99 do list[index] = (index * 37) % 101 end
ffi.C.qsort(list, 100, 4, function(a, b) return a[0] - b[0] end)
print(sum, count, list[0], list[50], list[99], jit.status())
os.exit(3)
