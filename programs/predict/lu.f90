! LU factorisation of a dense matrix in place, without pivots, and the solution of one system.
!
! usage: lu [N]             default 200, at most 2000
!
! The matrix is diagonally dominant, so no pivots are needed. Each step updates what is left of the matrix, column by
! column, with one column of L: the update reads the whole rest again, which shrinks from N*N elements to none.
program lu
  implicit none
  integer, parameter :: real8 = selected_real_kind(15)
  integer, parameter :: largest = 2000
  real(real8), allocatable :: a(:,:), x(:)
  integer :: n, status
  character(16) :: argument

  n = 200
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *, iostat=status) n
    if (status /= 0 .or. n < 2 .or. n > largest) then
      write (*, *) 'lu: N must be a number from 2 to 2000'
      stop 2
    end if
  end if
  allocate (a(n, n), x(n))
  call fill(a, x, n)
  call factorise(a, n)
  call solve(a, x, n)
  write (*, '(a, i5, 3(1x, f14.10))') 'lu', n, x(1), x(n / 2), x(n)

contains

  subroutine fill(a, x, n)
    integer, intent(in) :: n
    real(real8), intent(out) :: a(n, n), x(n)
    integer :: i, j
    do j = 1, n
      do i = 1, n
        a(i, j) = mod(i * 7 + j * 13, 11) * 0.125_real8
      end do
      a(j, j) = 2.0_real8 * n
      x(j) = mod(j, 5)
    end do
  end subroutine fill

  ! L below the diagonal, with ones on it that are not kept, U on it and above.
  subroutine factorise(a, n)
    integer, intent(in) :: n
    real(real8), intent(inout) :: a(n, n)
    integer :: i, j, k
    do k = 1, n - 1
      do i = k + 1, n
        a(i, k) = a(i, k) / a(k, k)
      end do
      do j = k + 1, n
        do i = k + 1, n
          a(i, j) = a(i, j) - a(i, k) * a(k, j)
        end do
      end do
    end do
  end subroutine factorise

  subroutine solve(a, x, n)
    integer, intent(in) :: n
    real(real8), intent(in) :: a(n, n)
    real(real8), intent(inout) :: x(n)
    integer :: i, j
    do j = 1, n
      do i = j + 1, n
        x(i) = x(i) - a(i, j) * x(j)
      end do
    end do
    do j = n, 1, -1
      x(j) = x(j) / a(j, j)
      do i = 1, j - 1
        x(i) = x(i) - a(i, j) * x(j)
      end do
    end do
  end subroutine solve

end program lu
