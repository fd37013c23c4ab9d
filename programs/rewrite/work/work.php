<?php
// Work for PHP: arrays and strings, regular expressions, a generator, exceptions, cycles that the collector finds, and a loop
// that runs often enough to be compiled.
function collatz(int $n): int {
    for ($steps = 0; $n != 1; $steps++) $n = $n % 2 == 0 ? intdiv($n, 2) : 3 * $n + 1;
    return $steps;
}
function numbers(int $count) { for ($i = 1; $i <= $count; $i++) yield $i; }
class Node { public $other; public $some; }

$sum = 0;
$map = [];
foreach (numbers(3000) as $i) {
    $sum += collatz($i);
    $map["k" . $i % 97] = str_repeat(chr(97 + $i % 26), $i % 50);
    $one = new Node; $two = new Node;
    $one->other = $two; $two->other = $one; $one->some = range(1, 20);
}
ksort($map);
echo $sum, " ", count($map), " ", md5(json_encode($map)), " ", gc_collect_cycles() > 0 ? "collected" : "", "\n";
try { intdiv(1, 0); } catch (DivisionByZeroError $error) { echo get_class($error), "\n"; }
echo preg_match_all('/\b[b-d]+\b/', implode(" ", $map)), " ", preg_replace('/(a+)/', '<$1>', $map["k0"]), "\n";
