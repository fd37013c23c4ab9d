\ A word that gforth compiles as it is defined, and runs.
: squares ( n -- sum ) 0 swap 0 ?do i dup * + loop ;
5000 squares . cr
6 (bye)
