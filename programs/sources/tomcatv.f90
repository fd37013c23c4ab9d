! Tomcatv: makes a mesh of N x N points that follows the borders of a region.
!
!     usage: tomcatv [N [STEPS]]     defaults 250 and 5; N at most 400
!
! The points are moved until they solve the elliptic equations of Thompson and others (Numerical
! Grid Generation, 1985). A step calculates how far each equation is from being solved (RX and RY)
! and the coefficients of the systems (AA and DD), solves a tridiagonal system for each line of the
! mesh, all lines side by side, and moves the points. It has five sweeps over the mesh, of which
! the elimination and the substitution go along J, a column of all lines at a time.

module tomcatv_mesh
  implicit none
  integer, parameter :: most = 400
  integer, parameter :: points = most**2
  real(8), dimension(points) :: x, y, rx, ry, aa, dd, d
end module tomcatv_mesh

program tomcatv
  implicit none
  call start()
contains
  ! Variables are on the stack here, where those of a main program are static.
  subroutine start()
    use tomcatv_mesh
    integer :: n, steps, step
    real(8) :: farthest(2)
    n = argument(1, 250)
    steps = argument(2, 5)
    if (n < 4 .or. n > most .or. steps < 1) then
      write (*, '(a)') 'tomcatv: N is a number from 4 to 400, STEPS a number from 1 on'
      stop 2
    end if
    call initial(n, x, y)
    do step = 1, steps
      call residuals(n, x, y, rx, ry, aa, dd)
      call largest(n, rx, ry, farthest)
      call eliminate(n, rx, ry, aa, dd, d)
      call substitute(n, rx, ry, aa, d)
      call move(n, x, y, rx, ry)
    end do
    write (*, '(a, i5, i6, 2es16.6)') 'tomcatv', n, steps, farthest
  end subroutine start

  ! The whole number that is the argument at this place; another one if there is none, 0 if it is
  ! none.
  integer function argument(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(len=16) :: word
    integer :: status
    argument = otherwise
    if (command_argument_count() >= place) then
      call get_command_argument(place, word)
      read (word, *, iostat=status) argument
      if (status /= 0) argument = 0
    end if
  end function argument
end program tomcatv

! A channel with a bump in its lower border; the lines between the borders are straight.
subroutine initial(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: x, y
  real(8) :: along, across, bump
  integer :: i, j
  do j = 1, n
    across = (j - 1d0) / (n - 1)
    do i = 1, n
      along = (i - 1d0) / (n - 1)
      bump = 0.2d0 * exp(-40d0 * (along - 0.5d0)**2)
      x(i, j) = 3d0 * along + 0.1d0 * sin(6.28d0 * along) * sin(3.14d0 * across)
      y(i, j) = bump + (1d0 - bump) * across
    end do
  end do
end subroutine initial

! First sweep: how far the equations are from being solved, and their coefficients.
subroutine residuals(n, x, y, rx, ry, aa, dd)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: x, y, rx, ry, aa, dd
  real(8) :: xx, yx, xy, yy, a, b, c, pxx, qxx, pyy, qyy, pxy, qxy
  integer :: i, j
  do j = 2, n - 1
    do i = 2, n - 1
      xx = x(i + 1, j) - x(i - 1, j)
      yx = y(i + 1, j) - y(i - 1, j)
      xy = x(i, j + 1) - x(i, j - 1)
      yy = y(i, j + 1) - y(i, j - 1)
      a = 0.25d0 * (xy * xy + yy * yy)
      b = 0.25d0 * (xx * xx + yx * yx)
      c = 0.125d0 * (xx * xy + yx * yy)
      aa(i, j) = -b
      dd(i, j) = b + b + a * 2d0 / 0.98d0
      pxx = x(i + 1, j) - 2d0 * x(i, j) + x(i - 1, j)
      qxx = y(i + 1, j) - 2d0 * y(i, j) + y(i - 1, j)
      pyy = x(i, j + 1) - 2d0 * x(i, j) + x(i, j - 1)
      qyy = y(i, j + 1) - 2d0 * y(i, j) + y(i, j - 1)
      pxy = x(i + 1, j + 1) - x(i + 1, j - 1) - x(i - 1, j + 1) + x(i - 1, j - 1)
      qxy = y(i + 1, j + 1) - y(i + 1, j - 1) - y(i - 1, j + 1) + y(i - 1, j - 1)
      rx(i, j) = a * pxx + b * pyy - c * pxy
      ry(i, j) = a * qxx + b * qyy - c * qxy
    end do
  end do
end subroutine residuals

! Second sweep: the largest of them, for each coordinate.
subroutine largest(n, rx, ry, farthest)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: rx, ry
  real(8), intent(out) :: farthest(2)
  real(8) :: of_x, of_y
  integer :: i, j
  of_x = 0d0
  of_y = 0d0
  do j = 2, n - 1
    do i = 2, n - 1
      of_x = max(of_x, abs(rx(i, j)))
      of_y = max(of_y, abs(ry(i, j)))
    end do
  end do
  farthest = [of_x, of_y]
end subroutine largest

! Third sweep: the forward elimination of all systems, column by column.
subroutine eliminate(n, rx, ry, aa, dd, d)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: rx, ry, aa, dd, d
  real(8) :: r
  integer :: i, j
  do i = 2, n - 1
    d(i, 2) = 1d0 / dd(i, 2)
  end do
  do j = 3, n - 1
    do i = 2, n - 1
      r = aa(i, j) * d(i, j - 1)
      d(i, j) = 1d0 / (dd(i, j) - aa(i, j - 1) * r)
      rx(i, j) = rx(i, j) - rx(i, j - 1) * r
      ry(i, j) = ry(i, j) - ry(i, j - 1) * r
    end do
  end do
end subroutine eliminate

! Fourth sweep: the backward substitution.
subroutine substitute(n, rx, ry, aa, d)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: rx, ry, aa, d
  integer :: i, j
  do i = 2, n - 1
    rx(i, n - 1) = rx(i, n - 1) * d(i, n - 1)
    ry(i, n - 1) = ry(i, n - 1) * d(i, n - 1)
  end do
  do j = n - 2, 2, -1
    do i = 2, n - 1
      rx(i, j) = (rx(i, j) - aa(i, j) * rx(i, j + 1)) * d(i, j)
      ry(i, j) = (ry(i, j) - aa(i, j) * ry(i, j + 1)) * d(i, j)
    end do
  end do
end subroutine substitute

! Fifth sweep: the points move.
subroutine move(n, x, y, rx, ry)
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n) :: x, y, rx, ry
  integer :: i, j
  do j = 2, n - 1
    do i = 2, n - 1
      x(i, j) = x(i, j) + rx(i, j)
      y(i, j) = y(i, j) + ry(i, j)
    end do
  end do
end subroutine move
