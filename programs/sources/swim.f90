! Swim: the shallow-water equations on a doubly periodic grid of N x N cells.
!
!     usage: swim [N [STEPS]]        defaults 256 and 2; N at most 400
!
! The scheme is that of Sadourny (Journal of the Atmospheric Sciences 32, 1975): leapfrog in time,
! with the filter of Robert and Asselin, on a staggered grid. U and V are the velocities, P is the
! pressure, CU and CV are mass fluxes, Z is the potential vorticity, and H the height of the fluid
! with its kinetic energy. PSI is the stream function of the initial flow.
!
! A step has three sweeps over the grid: fluxes from the present state, the next state from the
! fluxes, and the filter, which also moves the three states on by one step. Each sweep goes over
! seven arrays or more, so that nothing is in a cache any more when the next sweep comes.
!
! The arrays are of 4-byte reals, as those of SPEC95: two are one element of 8 bytes.

module swim_fields
  implicit none
  integer, parameter :: most = 400
  integer, parameter :: points = (most + 1)**2
  real(4), dimension(points) :: u, v, p, unew, vnew, pnew, uold, vold, pold
  real(4), dimension(points) :: cu, cv, z, h, psi
end module swim_fields

program swim
  implicit none
  call start()
contains
  ! Variables are on the stack here, where those of a main program are static.
  subroutine start()
    use swim_fields
    integer :: n, steps, step
    real(8) :: sums(3)
    n = argument(1, 256)
    steps = argument(2, 2)
    if (n < 4 .or. n > most .or. steps < 1) then
      write (*, '(a)') 'swim: N is a number from 4 to 400, STEPS a number from 1 on'
      stop 2
    end if
    call initial(n, psi, u, v, p, uold, vold, pold)
    do step = 1, steps
      call fluxes(n, u, v, p, cu, cv, z, h)
      call next_state(n, merge(90.0, 180.0, step == 1), cu, cv, z, h, &
          uold, vold, pold, unew, vnew, pnew)
      call filter(n, u, v, p, unew, vnew, pnew, uold, vold, pold)
    end do
    call check(n, u, v, p, sums)
    write (*, '(a, i5, i6, 3es16.6)') 'swim', n, steps, sums
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
end program swim

! Eddies in balance with a pressure that has a mean of 50,000.
subroutine initial(n, psi, u, v, p, uold, vold, pold)
  implicit none
  integer, intent(in) :: n
  real(4), dimension(n + 1, n + 1) :: psi, u, v, p, uold, vold, pold
  real(4), parameter :: a = 1.0e6, d = 1.0e5
  integer :: i, j
  real(4) :: angle, amplitude
  angle = 8.0 * atan(1.0) / n
  amplitude = (4.0 * atan(1.0) * a / (n * d))**2
  do j = 1, n + 1
    do i = 1, n + 1
      psi(i, j) = a * sin((i - 0.5) * angle) * sin((j - 0.5) * angle)
      p(i, j) = amplitude * (cos(2.0 * (i - 1) * angle) + cos(2.0 * (j - 1) * angle)) + 50000.0
    end do
  end do
  do j = 1, n
    do i = 1, n
      u(i + 1, j) = -(psi(i + 1, j + 1) - psi(i + 1, j)) / d
      v(i, j + 1) = (psi(i + 1, j + 1) - psi(i, j + 1)) / d
    end do
  end do
  call wrap_first(n, u)
  call wrap_second(n, v)
  do j = 1, n + 1
    do i = 1, n + 1
      uold(i, j) = u(i, j)
      vold(i, j) = v(i, j)
      pold(i, j) = p(i, j)
    end do
  end do
end subroutine initial

! First sweep: the mass fluxes, the potential vorticity and the height.
subroutine fluxes(n, u, v, p, cu, cv, z, h)
  implicit none
  integer, intent(in) :: n
  real(4), dimension(n + 1, n + 1) :: u, v, p, cu, cv, z, h
  real(4), parameter :: d = 1.0e5
  integer :: i, j
  do j = 1, n
    do i = 1, n
      cu(i + 1, j) = 0.5 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
      cv(i, j + 1) = 0.5 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
      z(i + 1, j + 1) = 4.0 / d * (v(i + 1, j + 1) - v(i, j + 1) - u(i + 1, j + 1) + u(i + 1, j)) &
          / (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
      h(i, j) = p(i, j) + 0.25 * (u(i + 1, j) * u(i + 1, j) + u(i, j) * u(i, j) &
          + v(i, j + 1) * v(i, j + 1) + v(i, j) * v(i, j))
    end do
  end do
  call wrap_first(n, cu)
  call wrap_second(n, cv)
  call wrap_both(n, z)
  call wrap_last(n, h)
end subroutine fluxes

! Second sweep: the next state, TIME seconds after the old one.
subroutine next_state(n, time, cu, cv, z, h, uold, vold, pold, unew, vnew, pnew)
  implicit none
  integer, intent(in) :: n
  real(4), intent(in) :: time
  real(4), dimension(n + 1, n + 1) :: cu, cv, z, h, uold, vold, pold, unew, vnew, pnew
  real(4), parameter :: d = 1.0e5
  integer :: i, j
  do j = 1, n
    do i = 1, n
      unew(i + 1, j) = uold(i + 1, j) + time / 8.0 * (z(i + 1, j + 1) + z(i + 1, j)) &
          * (cv(i + 1, j + 1) + cv(i, j + 1) + cv(i, j) + cv(i + 1, j)) &
          - time / d * (h(i + 1, j) - h(i, j))
      vnew(i, j + 1) = vold(i, j + 1) - time / 8.0 * (z(i + 1, j + 1) + z(i, j + 1)) &
          * (cu(i + 1, j + 1) + cu(i, j + 1) + cu(i, j) + cu(i + 1, j)) &
          - time / d * (h(i, j + 1) - h(i, j))
      pnew(i, j) = pold(i, j) - time / d * (cu(i + 1, j) - cu(i, j)) &
          - time / d * (cv(i, j + 1) - cv(i, j))
    end do
  end do
  call wrap_first(n, unew)
  call wrap_second(n, vnew)
  call wrap_last(n, pnew)
end subroutine next_state

! Third sweep: the old state is the filtered present one, and the present state the next one.
subroutine filter(n, u, v, p, unew, vnew, pnew, uold, vold, pold)
  implicit none
  integer, intent(in) :: n
  real(4), dimension(n + 1, n + 1) :: u, v, p, unew, vnew, pnew, uold, vold, pold
  real(4), parameter :: alpha = 0.001
  integer :: i, j
  do j = 1, n + 1
    do i = 1, n + 1
      uold(i, j) = u(i, j) + alpha * (unew(i, j) - 2.0 * u(i, j) + uold(i, j))
      vold(i, j) = v(i, j) + alpha * (vnew(i, j) - 2.0 * v(i, j) + vold(i, j))
      pold(i, j) = p(i, j) + alpha * (pnew(i, j) - 2.0 * p(i, j) + pold(i, j))
      u(i, j) = unew(i, j)
      v(i, j) = vnew(i, j)
      p(i, j) = pnew(i, j)
    end do
  end do
end subroutine filter

! Mean absolute values of the state.
subroutine check(n, u, v, p, sums)
  implicit none
  integer, intent(in) :: n
  real(4), dimension(n + 1, n + 1) :: u, v, p
  real(8), intent(out) :: sums(3)
  real(8) :: of_u, of_v, of_p
  integer :: i, j
  of_u = 0
  of_v = 0
  of_p = 0
  do j = 1, n
    do i = 1, n
      of_u = of_u + abs(u(i, j))
      of_v = of_v + abs(v(i, j))
      of_p = of_p + abs(p(i, j))
    end do
  end do
  sums = [of_u, of_v, of_p] / n / n
end subroutine check

! Periodic borders of a field that lacks its first column of I, and its last of J.
subroutine wrap_first(n, a)
  implicit none
  integer, intent(in) :: n
  real(4) :: a(n + 1, n + 1)
  integer :: k
  do k = 1, n
    a(1, k) = a(n + 1, k)
  end do
  do k = 1, n + 1
    a(k, n + 1) = a(k, 1)
  end do
end subroutine wrap_first

! The same of one that lacks its first column of J, and its last of I.
subroutine wrap_second(n, a)
  implicit none
  integer, intent(in) :: n
  real(4) :: a(n + 1, n + 1)
  integer :: k
  do k = 1, n
    a(k, 1) = a(k, n + 1)
  end do
  do k = 1, n + 1
    a(n + 1, k) = a(1, k)
  end do
end subroutine wrap_second

! The same of one that lacks both first columns.
subroutine wrap_both(n, a)
  implicit none
  integer, intent(in) :: n
  real(4) :: a(n + 1, n + 1)
  integer :: k
  do k = 2, n + 1
    a(1, k) = a(n + 1, k)
  end do
  do k = 1, n + 1
    a(k, 1) = a(k, n + 1)
  end do
end subroutine wrap_both

! The same of one that lacks both last columns.
subroutine wrap_last(n, a)
  implicit none
  integer, intent(in) :: n
  real(4) :: a(n + 1, n + 1)
  integer :: k
  do k = 1, n
    a(n + 1, k) = a(1, k)
  end do
  do k = 1, n + 1
    a(k, n + 1) = a(k, 1)
  end do
end subroutine wrap_last
