#lang racket/base
;; Work for Racket: vectors that are collected, threads, exceptions, futures on threads of the system, large numbers.
(require racket/future racket/list)
(define (collatz n)
  (let loop ([n n] [steps 0])
    (cond [(= n 1) steps]
          [(even? n) (loop (quotient n 2) (add1 steps))]
          [else (loop (add1 (* 3 n)) (add1 steps))])))
(define (work start)
  (for/sum ([i (in-range 1 800)]) (+ (vector-length (make-vector (modulo i 100) i)) (collatz (+ i start)))))
(define channel (make-channel))
(for ([i 4]) (thread (lambda () (channel-put channel (work i)))))
(displayln (sort (for/list ([i 4]) (channel-get channel)) <))
(displayln (map touch (for/list ([i 4]) (future (lambda () (collatz (+ 27 i)))))))
(collect-garbage)
(displayln (with-handlers ([exn:fail? exn-message]) (vector-ref (vector 1 2) 5)))
(displayln (modulo (apply * (range 1 200)) 1000003))
