# Work for R: vectors, matrices and lists that are collected, functions that are compiled, conditions.
collatz <- function(n) {
  steps <- 0
  while (n != 1) {
    n <- if (n %% 2 == 0) n / 2 else 3 * n + 1
    steps <- steps + 1
  }
  steps
}
print(sum(sapply(1:60, collatz)))
a <- matrix((1:900 * 7919) %% 101, 30)
print(sum(round(solve(crossprod(a) + diag(30)) %*% a, 6)), digits = 6)
names <- list()
for (i in 1:1000) names[[paste0("k", i %% 97)]] <- rep(i, 50)
invisible(gc())
print(length(names))
print(tryCatch(stop("caught"), error = conditionMessage))
print(coef(lm(dist ~ speed, data = cars)))
