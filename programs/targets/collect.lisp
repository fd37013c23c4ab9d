;; Code that SBCL compiles at run time, and collections, whose write barrier is protected pages.
(defun compiled (n) (funcall (compile nil `(lambda (x) (+ (* x ,n) 1))) n))
(defvar *list* nil)
(loop for index below 20 do (push (compiled index) *list*))
(let ((old (make-array 1000)))
  (gc)
  (loop for turn below 3 do
    (loop for index below 1000 do (setf (aref old index) (list turn index)))
    (gc))
  (format t "~a ~a ~a~%" (reduce #'+ *list*) (length old) (aref old 999)))
(handler-case (car (car (list 5))) (type-error () (format t "caught~%")))
(sb-ext:exit :code 7 :abort t)
