% Work for Prolog: clauses, backtracking, terms that are collected, exceptions, threads.
collatz(1, S, S) :- !.
collatz(N, S0, S) :- S1 is S0 + 1, ( 0 is N mod 2 -> M is N // 2 ; M is 3 * N + 1 ), collatz(M, S1, S).
work(Start, Sum) :- findall(S, (between(1, 100, I), N is I + Start, collatz(N, 0, S)), L), sum_list(L, Sum).
queens(N, Qs) :- numlist(1, N, Ns), permutation(Ns, Qs), safe(Qs), !.
safe([]).
safe([Q|Qs]) :- free(Q, Qs, 1), safe(Qs).
free(_, [], _).
free(Q, [R|Rs], D) :- Q =\= R + D, Q =\= R - D, D1 is D + 1, free(Q, Rs, D1).
main :-
    concurrent_maplist(work, [0, 1, 2, 3], Sums), writeln(Sums),
    queens(6, Qs), writeln(Qs), garbage_collect,
    catch(atom_length(_, _), error(E, _), (print(E), nl)).
:- initialization((main, halt)).
