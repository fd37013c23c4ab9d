;;; Work for Common Lisp: functions that are compiled when they are read, lists that are collected, conditions, and threads where
;;; there are some.
(defun collatz (n)
  (loop until (= n 1)
        do (setf n (if (evenp n) (/ n 2) (1+ (* 3 n))))
        count t))
(defun work (start)
  (let ((table (make-hash-table :test #'equal)) (sum 0))
    (loop for i from 1 to 500
          do (setf (gethash (format nil "k~a" (mod i 97)) table) (make-array 100 :initial-element i))
             (incf sum (collatz (+ i start))))
    (+ sum (hash-table-count table))))
(compile 'collatz)
(compile 'work)
(format t "~a~%" (work 0))
#+sb-thread
(let ((threads (loop for i below 4 collect (let ((i i)) (sb-thread:make-thread (lambda () (work i)))))))
  (format t "~a~%" (mapcar #'sb-thread:join-thread threads)))
#+sbcl (sb-ext:gc :full t)
#+clisp (ext:gc)
(format t "~a~%" (handler-case (error "caught") (error (condition) (princ-to-string condition))))
(format t "~a~%" (length (princ-to-string (let ((product 1)) (loop for i from 1 to 300 do (setf product (* product i))) product))))
