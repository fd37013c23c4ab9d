! Local arrays of a contained procedure: one that is streamed through, and a small one that is hot.
!
! Each of `ROUNDS` calls stores and loads all elements of `stream` once and loads an element of `hot`
! for each; `hot` has two dimensions, of which one does not begin at 1.
program locals
  implicit none
  integer, parameter :: rounds = 3
  integer :: round
  integer(8) :: total

  total = 0
  do round = 1, rounds
    total = total + work(round)
  end do
  if (total == 0) stop 1
contains
  integer(8) function work(n)
    integer, intent(in) :: n
    integer(8), volatile :: stream(512), hot(2:9, 2)
    integer :: i

    do i = 1, 8
      hot(i + 1, 1) = n
      hot(i + 1, 2) = i
    end do
    do i = 1, 512
      stream(i) = hot(2 + mod(i, 8), 1)
    end do
    work = 0
    do i = 1, 512
      work = work + stream(i)
    end do
  end function
end program
