;; A procedure that Guile compiles to native code once it is hot.
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 18))
(newline)
(exit 8)
