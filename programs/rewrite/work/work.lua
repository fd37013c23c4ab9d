-- Work for Lua: tables and strings that are collected, coroutines, errors, a loop that LuaJIT compiles.
local function collatz(n)
  local steps = 0
  while n ~= 1 do
    if n % 2 == 0 then n = n / 2 else n = 3 * n + 1 end
    steps = steps + 1
  end
  return steps
end
local sum, names = 0, {}
for i = 1, 8000 do
  sum = sum + collatz(i)
  names["k" .. i % 97] = { i, tostring(i) }
end
collectgarbage()
local squares = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i * i) end end)
print(string.format("%d %d", sum, #names["k7"][2]), squares(), squares(), pcall(error, "caught"))
print((string.rep("abc7 ", 100):gsub("%d", "x")):len())
