# Work for Ruby: objects that are collected, threads, fibers, exceptions, regular expressions, a child.
def collatz(n)
  steps = 0
  until n == 1
    n = n.even? ? n / 2 : 3 * n + 1
    steps += 1
  end
  steps
end
sums = 4.times.map { |thread| Thread.new { (1..500).sum { |i| collatz(i + thread) + ("x" * (i % 50)).length } } }.map(&:value)
GC.start
p sums
fiber = Fiber.new { 3.times { |i| Fiber.yield i * i }; :done }
p 4.times.map { fiber.resume }
p (1..20000).map { |i| i.to_s(7) }.sort.first(3), (1..2000).to_a.join(" ").scan(/\b\d*7\b/).length
begin
  raise "caught"
rescue => error
  puts error.message
end
puts `echo child`
