# Work for Elixir: processes, maps and binaries that are collected, exceptions.
defmodule Work do
  def collatz(1, steps), do: steps
  def collatz(n, steps) when rem(n, 2) == 0, do: collatz(div(n, 2), steps + 1)
  def collatz(n, steps), do: collatz(3 * n + 1, steps + 1)
  def work(start), do: Enum.sum(for i <- 1..50, do: collatz(i + start, 0))
end

IO.inspect(1..8 |> Enum.map(&Task.async(fn -> Work.work(&1) end)) |> Enum.map(&Task.await(&1, :infinity)))
IO.inspect(1..1000 |> Enum.reduce(%{}, fn i, map -> Map.put(map, "k#{rem(i, 97)}", i) end) |> Enum.sort() |> hd())
IO.puts(try do raise "caught" rescue error -> Exception.message(error) end)
