%% Work for Erlang: processes and messages, binaries and lists that are collected, a table, exceptions.
-module(work).
-export([main/1]).

collatz(1, Steps) -> Steps;
collatz(N, Steps) when N rem 2 =:= 0 -> collatz(N div 2, Steps + 1);
collatz(N, Steps) -> collatz(3 * N + 1, Steps + 1).

work(Start) -> lists:sum([collatz(I + Start, 0) + length(lists:seq(1, I rem 50)) || I <- lists:seq(1, 100)]).

main(_) ->
    Self = self(),
    [spawn(fun() -> Self ! {Number, work(Number)} end) || Number <- lists:seq(1, 8)],
    io:format("~p~n", [[receive {Number, Sum} -> Sum end || Number <- lists:seq(1, 8)]]),
    Table = ets:new(table, [ordered_set]),
    [ets:insert(Table, {I rem 97, integer_to_binary(I)}) || I <- lists:seq(1, 1000)],
    erlang:garbage_collect(),
    io:format("~p ~p~n", [ets:info(Table, size), ets:lookup(Table, 7)]),
    io:format("~p~n", [catch hd([])  =:= 1]),
    io:format("~s~n", [try error(caught) catch error:Reason -> atom_to_list(Reason) end]).
