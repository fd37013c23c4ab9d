% Work for Octave: matrices, cells and strings, a loop, an error that is caught.
a = mod(reshape(1:3600, 60, 60) * 7919, 101);
printf("%.4f %d\n", sum(sum((a' * a + eye(60)) \ a)), rank(a));
steps = 0;
for n = 1:30
  m = n;
  while m != 1
    if mod(m, 2) == 0, m /= 2; else m = 3 * m + 1; end
    steps++;
  end
end
names = cell(1, 97);
for i = 1:500, names{mod(i, 97) + 1} = sprintf("k%d", i); end
printf("%d %s\n", steps, names{7});
try, error("caught"); catch problem, disp(problem.message); end
