! SP: a flow of a compressible gas in a cube of N x N x N points, by scalar pentadiagonal solvers.
!
!     usage: sp [N [plain|fused]]    defaults 28 and plain; N from 7 to 40
!
! One step of an implicit method in approximate factors, with the factors made diagonal as Pulliam
! and Chaussee did (Journal of Computational Physics 39, 1981); the gas, its constants and the
! differences are those of the NAS benchmark SP (Bailey and others, NAS-TR RNR-94-007, 1994). Along
! each direction five independent systems with five diagonals are solved: three with the same
! matrix, and one each for the waves that go with the flow and against it.
!
! U has the density, the momentum and the energy; VELOCITY, SQUARE (kinetic energy), QS (the same
! per mass), RHO_I (1 / density) and SPEED (of sound) are calculated from it. RHS is the right-hand
! side and becomes the change of U. LHS has the five diagonals of the three matrices. FORCING holds
! a known state in balance; the step starts from another state, which is nearer afterwards.
!
! plain: each pass (fluxes, differences, a part of a solver) goes over the cube before the next.
! fused: reuse-based loop fusion. All differences of a point follow each other, planes are fused
! from there to the solver along the second direction, lines within the first, and the planes of
! the third with the update of U. Both do the same operations on the same numbers.
!
! Item: a point is a number P, and arrays have P as their first index. RecordStatement begins a
! statement, for reordering; statements share no variables but elements of arrays.

module sp_state
  implicit none
  integer, parameter :: most = 40
  integer, parameter :: points = most**3
  real(8) :: u(points, 5), rhs(points, 5), forcing(points, 5), lhs(points, 15)
  real(8) :: velocity(points, 3)
  real(8), dimension(points) :: qs, square, rho_i, speed
end module sp_state

module sp_steps
  use sp_state
  implicit none
  external RecordStatement
  real(8), parameter :: c1 = 1.4d0, c2 = 0.4d0, c3 = 0.1d0, c5 = 1.4d0
  real(8), parameter :: con43 = 4d0 / 3d0, con16 = 1d0 / 6d0
  real(8), parameter :: diffusion = 0.75d0, dissipation = 0.25d0 * diffusion
  real(8), parameter :: dt = 0.0015d0, bt = 0.70710678118654752d0

  abstract interface
    ! What a pass does at the point P, along a direction.
    subroutine pass(p, n, direction)
      integer, intent(in) :: p, n, direction
    end subroutine pass
  end interface

contains

  ! How far the neighbour of a point is along a direction.
  integer function stride(n, direction)
    integer, intent(in) :: n, direction
    stride = n**(direction - 1)
  end function stride

  ! Where a point is along a direction, from 0 on.
  integer function position(p, n, direction)
    integer, intent(in) :: p, n, direction
    position = mod((p - 1) / stride(n, direction), n)
  end function position

  ! Does a pass from the point FIRST to the point LAST of lines along a direction: those of the
  ! planes (of J for the third direction, else of K) and of the lines in them that are named. Lines
  ! along the first direction follow each other, those along the others are side by side.
  subroutine each(n, direction, first, last, planes, lines, body)
    integer, value :: n, direction, first, last
    integer, intent(in) :: planes(2), lines(2)
    procedure(pass) :: body
    integer :: along, outer, inner, plane, line, at, step
    step = merge(1, -1, first <= last)
    along = stride(n, direction)
    outer = merge(n, n * n, direction == 3)
    inner = merge(n, 1, direction == 1)
    do plane = planes(1), planes(2)
      if (direction == 1) then
        do line = lines(1), lines(2)
          do at = first, last, step
            call body(1 + plane * outer + line * inner + at * along, n, direction)
          end do
        end do
      else
        do at = first, last, step
          do line = lines(1), lines(2)
            call body(1 + plane * outer + line * inner + at * along, n, direction)
          end do
        end do
      end if
    end do
  end subroutine each

  ! What follows from U.
  subroutine primitives(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    call RecordStatement()
    rho_i(p) = 1d0 / u(p, 1)
    do m = 1, 3
      call RecordStatement()
      velocity(p, m) = u(p, m + 1) * rho_i(p)
    end do
    call RecordStatement()
    square(p) = 0.5d0 * (u(p, 2) * u(p, 2) + u(p, 3) * u(p, 3) + u(p, 4) * u(p, 4)) * rho_i(p)
    call RecordStatement()
    qs(p) = square(p) * rho_i(p)
    call RecordStatement()
    speed(p) = sqrt(c1 * c2 * rho_i(p) * (u(p, 5) - square(p)))
  end subroutine primitives

  ! The right-hand side begins with the forcing.
  subroutine begin(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 5
      call RecordStatement()
      rhs(p, m) = forcing(p, m)
    end do
  end subroutine begin

  ! Fluxes along a direction, by central differences.
  subroutine fluxes(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: up, down, m, a
    real(8) :: second, first, viscous
    a = direction
    up = p + stride(n, a)
    down = p - stride(n, a)
    second = diffusion * (n - 1)**2
    first = 0.5d0 * (n - 1)
    viscous = c3 * (n - 1)**2
    call RecordStatement()
    rhs(p, 1) = rhs(p, 1) + second * (u(up, 1) - 2d0 * u(p, 1) + u(down, 1)) &
        - first * (u(up, a + 1) - u(down, a + 1))
    do m = 2, 4
      call RecordStatement()
      if (m == a + 1) then
        rhs(p, m) = rhs(p, m) + second * (u(up, m) - 2d0 * u(p, m) + u(down, m)) &
            + viscous * con43 * (velocity(up, a) - 2d0 * velocity(p, a) + velocity(down, a)) &
            - first * (u(up, m) * velocity(up, a) - u(down, m) * velocity(down, a) &
            + c2 * (u(up, 5) - square(up) - u(down, 5) + square(down)))
      else
        rhs(p, m) = rhs(p, m) + second * (u(up, m) - 2d0 * u(p, m) + u(down, m)) &
            + viscous * (velocity(up, m - 1) - 2d0 * velocity(p, m - 1) + velocity(down, m - 1)) &
            - first * (u(up, m) * velocity(up, a) - u(down, m) * velocity(down, a))
      end if
    end do
    call RecordStatement()
    rhs(p, 5) = rhs(p, 5) + second * (u(up, 5) - 2d0 * u(p, 5) + u(down, 5)) &
        + viscous * (1d0 - c1 * c5) * (qs(up) - 2d0 * qs(p) + qs(down)) &
        + viscous * con16 * (velocity(up, a)**2 - 2d0 * velocity(p, a)**2 + velocity(down, a)**2) &
        + viscous * c1 * c5 * (u(up, 5) * rho_i(up) - 2d0 * u(p, 5) * rho_i(p) &
        + u(down, 5) * rho_i(down)) &
        - first * ((c1 * u(up, 5) - c2 * square(up)) * velocity(up, a) &
        - (c1 * u(down, 5) - c2 * square(down)) * velocity(down, a))
  end subroutine fluxes

  ! Fourth differences along a direction, which damp what the grid cannot hold.
  subroutine dissipate(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: s, at, m
    s = stride(n, direction)
    at = position(p, n, direction)
    do m = 1, 5
      call RecordStatement()
      if (at == 1) then
        rhs(p, m) = rhs(p, m) - dissipation * (5d0 * u(p, m) - 4d0 * u(p + s, m) + u(p + 2 * s, m))
      else if (at == 2) then
        rhs(p, m) = rhs(p, m) - dissipation * (-4d0 * u(p - s, m) + 6d0 * u(p, m) &
            - 4d0 * u(p + s, m) + u(p + 2 * s, m))
      else if (at == n - 3) then
        rhs(p, m) = rhs(p, m) - dissipation * (u(p - 2 * s, m) - 4d0 * u(p - s, m) &
            + 6d0 * u(p, m) - 4d0 * u(p + s, m))
      else if (at == n - 2) then
        rhs(p, m) = rhs(p, m) - dissipation * (u(p - 2 * s, m) - 4d0 * u(p - s, m) + 5d0 * u(p, m))
      else
        rhs(p, m) = rhs(p, m) - dissipation * (u(p - 2 * s, m) - 4d0 * u(p - s, m) &
            + 6d0 * u(p, m) - 4d0 * u(p + s, m) + u(p + 2 * s, m))
      end if
    end do
  end subroutine dissipate

  ! The right-hand side is that of a step of time.
  subroutine scale(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 5
      call RecordStatement()
      rhs(p, m) = dt * rhs(p, m)
    end do
  end subroutine scale

  ! From changes of U to the waves along the first direction.
  subroutine to_first(p, n, direction)
    integer, intent(in) :: p, n, direction
    real(8) :: r(5), v(3), ru, ac, t1, t2, t3
    call RecordStatement()
    ru = rho_i(p)
    v = [velocity(p, 1), velocity(p, 2), velocity(p, 3)]
    ac = speed(p)
    r = [rhs(p, 1), rhs(p, 2), rhs(p, 3), rhs(p, 4), rhs(p, 5)]
    t1 = c2 / (ac * ac) * (qs(p) * r(1) - v(1) * r(2) - v(2) * r(3) - v(3) * r(4) + r(5))
    t2 = bt * ru * (v(1) * r(1) - r(2))
    t3 = bt * ru * ac * t1
    rhs(p, 1) = r(1) - t1
    rhs(p, 2) = -ru * (v(3) * r(1) - r(4))
    rhs(p, 3) = ru * (v(2) * r(1) - r(3))
    rhs(p, 4) = -t2 + t3
    rhs(p, 5) = t2 + t3
  end subroutine to_first

  ! From the waves along a direction to those along the next; after the third, to changes of U.
  subroutine to_next(p, n, direction)
    integer, intent(in) :: p, n, direction
    real(8) :: r(5), v(3), ac, density, t1, t2, t3
    call RecordStatement()
    r = [rhs(p, 1), rhs(p, 2), rhs(p, 3), rhs(p, 4), rhs(p, 5)]
    select case (direction)
    case (1)
      rhs(p, 1) = -r(2)
      rhs(p, 2) = r(1)
      rhs(p, 3) = bt * (r(4) - r(5))
      rhs(p, 4) = -bt * r(3) + 0.5d0 * (r(4) + r(5))
      rhs(p, 5) = bt * r(3) + 0.5d0 * (r(4) + r(5))
    case (2)
      rhs(p, 1) = bt * (r(4) - r(5))
      rhs(p, 2) = -r(3)
      rhs(p, 3) = r(2)
      rhs(p, 4) = -bt * r(1) + 0.5d0 * (r(4) + r(5))
      rhs(p, 5) = bt * r(1) + 0.5d0 * (r(4) + r(5))
    case (3)
      v = [velocity(p, 1), velocity(p, 2), velocity(p, 3)]
      ac = speed(p)
      density = u(p, 1)
      t1 = bt * density / ac * (r(4) + r(5))
      t2 = r(3) + t1
      t3 = bt * density * (r(4) - r(5))
      rhs(p, 1) = t2
      rhs(p, 2) = -density * r(2) + v(1) * t2
      rhs(p, 3) = density * r(1) + v(2) * t2
      rhs(p, 4) = v(3) * t2 + t3
      rhs(p, 5) = density * (-v(1) * r(2) + v(2) * r(1)) + qs(p) * t2 + ac * ac / c2 * t1 &
          + v(3) * t3
    end select
  end subroutine to_next

  ! The largest diffusion of the five equations, from 1 / density.
  real(8) function viscosity(reciprocal)
    real(8), value :: reciprocal
    viscosity = max(diffusion + con43 * c3 * reciprocal, diffusion + c1 * c5 * c3 * reciprocal)
  end function viscosity

  ! The borders of the matrices: what is there does not change.
  subroutine border_row(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 15
      call RecordStatement()
      lhs(p, m) = merge(1d0, 0d0, mod(m, 5) == 3)
    end do
  end subroutine border_row

  ! A row of the first matrix.
  subroutine row(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: s, a
    real(8) :: first, second
    a = direction
    s = stride(n, a)
    first = 0.5d0 * dt * (n - 1)
    second = dt * (n - 1)**2
    call RecordStatement()
    lhs(p, 1) = 0d0
    call RecordStatement()
    lhs(p, 2) = -first * velocity(p - s, a) - second * viscosity(rho_i(p - s))
    call RecordStatement()
    lhs(p, 3) = 1d0 + 2d0 * second * viscosity(rho_i(p))
    call RecordStatement()
    lhs(p, 4) = first * velocity(p + s, a) - second * viscosity(rho_i(p + s))
    call RecordStatement()
    lhs(p, 5) = 0d0
  end subroutine row

  ! The fourth differences in that row.
  subroutine dissipate_row(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: at
    at = position(p, n, direction)
    if (at > 2) call add(p, 1, 1d0)
    if (at > 1) call add(p, 2, -4d0)
    call add(p, 3, merge(5d0, 6d0, at == 1 .or. at == n - 2))
    if (at < n - 2) call add(p, 4, -4d0)
    if (at < n - 3) call add(p, 5, 1d0)
  end subroutine dissipate_row

  subroutine add(p, m, times)
    integer, value :: p, m
    real(8), value :: times
    call RecordStatement()
    lhs(p, m) = lhs(p, m) + times * dt * dissipation
  end subroutine add

  ! The rows of the other two matrices, which differ by the speed of sound.
  subroutine other_rows(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: s, m
    real(8) :: first
    s = stride(n, direction)
    first = 0.5d0 * dt * (n - 1)
    do m = 5, 10, 5
      call RecordStatement()
      lhs(p, m + 1) = lhs(p, 1)
      call RecordStatement()
      lhs(p, m + 2) = lhs(p, 2) - merge(first, -first, m == 5) * speed(p - s)
      call RecordStatement()
      lhs(p, m + 3) = lhs(p, 3)
      call RecordStatement()
      lhs(p, m + 4) = lhs(p, 4) + merge(first, -first, m == 5) * speed(p + s)
      call RecordStatement()
      lhs(p, m + 5) = lhs(p, 5)
    end do
  end subroutine other_rows

  ! Forward elimination of the three systems of the first matrix, with the row at P.
  subroutine eliminate(p, n, direction)
    integer, intent(in) :: p, n, direction
    call eliminate_row(p, n, direction, 0, 1, 3)
  end subroutine eliminate

  ! The same of the systems of the other two.
  subroutine eliminate_others(p, n, direction)
    integer, intent(in) :: p, n, direction
    call eliminate_row(p, n, direction, 5, 4, 4)
    call eliminate_row(p, n, direction, 10, 5, 5)
  end subroutine eliminate_others

  ! The row at P is divided by its diagonal, whose reciprocal stays there, and taken from the next
  ! two rows. D is where the diagonals of the matrix begin, M and LAST name its systems.
  subroutine eliminate_row(p, n, direction, d, m, last)
    integer, intent(in) :: p, n, direction
    integer, value :: d, m, last
    integer :: s, at, next, c
    s = stride(n, direction)
    at = position(p, n, direction)
    call RecordStatement()
    lhs(p, d + 3) = 1d0 / lhs(p, d + 3)
    call RecordStatement()
    lhs(p, d + 4) = lhs(p, d + 3) * lhs(p, d + 4)
    call RecordStatement()
    lhs(p, d + 5) = lhs(p, d + 3) * lhs(p, d + 5)
    do c = m, last
      call RecordStatement()
      rhs(p, c) = lhs(p, d + 3) * rhs(p, c)
    end do
    next = p + s
    if (at + 1 > n - 1) return
    call RecordStatement()
    lhs(next, d + 3) = lhs(next, d + 3) - lhs(next, d + 2) * lhs(p, d + 4)
    call RecordStatement()
    lhs(next, d + 4) = lhs(next, d + 4) - lhs(next, d + 2) * lhs(p, d + 5)
    do c = m, last
      call RecordStatement()
      rhs(next, c) = rhs(next, c) - lhs(next, d + 2) * rhs(p, c)
    end do
    next = p + 2 * s
    if (at + 2 > n - 1) return
    call RecordStatement()
    lhs(next, d + 2) = lhs(next, d + 2) - lhs(next, d + 1) * lhs(p, d + 4)
    call RecordStatement()
    lhs(next, d + 3) = lhs(next, d + 3) - lhs(next, d + 1) * lhs(p, d + 5)
    do c = m, last
      call RecordStatement()
      rhs(next, c) = rhs(next, c) - lhs(next, d + 1) * rhs(p, c)
    end do
  end subroutine eliminate_row

  ! Backward substitution of the five systems, at P.
  subroutine substitute(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: s, m, d
    s = stride(n, direction)
    do m = 1, 5
      d = 5 * max(0, m - 3)
      call RecordStatement()
      if (position(p, n, direction) == n - 2) then
        rhs(p, m) = rhs(p, m) - lhs(p, d + 4) * rhs(p + s, m)
      else
        rhs(p, m) = rhs(p, m) - lhs(p, d + 4) * rhs(p + s, m) - lhs(p, d + 5) * rhs(p + 2 * s, m)
      end if
    end do
  end subroutine substitute

  ! U changes.
  subroutine update(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 5
      call RecordStatement()
      u(p, m) = u(p, m) + rhs(p, m)
    end do
  end subroutine update

  ! The systems along a direction, of some planes and lines: pass after pass.
  subroutine solve(n, direction, planes, lines)
    integer, value :: n, direction
    integer, intent(in) :: planes(2), lines(2)
    call each(n, direction, 0, 0, planes, lines, border_row)
    call each(n, direction, n - 1, n - 1, planes, lines, border_row)
    call each(n, direction, 1, n - 2, planes, lines, row)
    call each(n, direction, 1, n - 2, planes, lines, dissipate_row)
    call each(n, direction, 1, n - 2, planes, lines, other_rows)
    call each(n, direction, 0, n - 1, planes, lines, eliminate)
    call each(n, direction, 0, n - 1, planes, lines, eliminate_others)
    call each(n, direction, n - 2, 0, planes, lines, substitute)
  end subroutine solve

  ! The right-hand side of the points inside, pass after pass.
  subroutine differences_plain(n)
    integer, intent(in) :: n
    integer :: inside(2), all(2), a
    inside = [1, n - 2]
    all = [0, n - 1]
    call each(n, 1, 0, n - 1, all, all, primitives)
    call each(n, 1, 0, n - 1, all, all, begin)
    do a = 1, 3
      call each(n, a, 1, n - 2, inside, inside, fluxes)
      call each(n, a, 1, n - 2, inside, inside, dissipate)
    end do
  end subroutine differences_plain

  ! One step, pass after pass.
  subroutine step_plain(n)
    integer, intent(in) :: n
    integer :: inside(2), a
    inside = [1, n - 2]
    call differences_plain(n)
    call each(n, 1, 1, n - 2, inside, inside, scale)
    call each(n, 1, 1, n - 2, inside, inside, to_first)
    do a = 1, 3
      call solve(n, a, inside, inside)
      call each(n, a, 1, n - 2, inside, inside, to_next)
    end do
    call each(n, 1, 1, n - 2, inside, inside, update)
  end subroutine step_plain

  ! One step, fused. The primitives are a plane ahead of the differences, which need those of the
  ! next plane.
  subroutine step_fused(n)
    integer, intent(in) :: n
    integer :: inside(2), all(2), plane, line
    inside = [1, n - 2]
    all = [0, n - 1]
    call each(n, 1, 0, n - 1, [0, 1], all, primitives_and_begin)
    do plane = 1, n - 2
      call each(n, 1, 0, n - 1, [plane + 1, plane + 1], all, primitives_and_begin)
      do line = 1, n - 2
        call each(n, 1, 1, n - 2, [plane, plane], [line, line], to_waves)
        call solve(n, 1, [plane, plane], [line, line])
        call each(n, 1, 1, n - 2, [plane, plane], [line, line], to_next)
      end do
      call solve(n, 2, [plane, plane], inside)
      call each(n, 2, 1, n - 2, [plane, plane], inside, to_next)
    end do
    do plane = 1, n - 2
      call solve(n, 3, [plane, plane], inside)
      call each(n, 3, 1, n - 2, [plane, plane], inside, to_next_and_update)
    end do
  end subroutine step_fused

  ! The passes of a point that are fused.
  subroutine primitives_and_begin(p, n, direction)
    integer, intent(in) :: p, n, direction
    call primitives(p, n, direction)
    call begin(p, n, direction)
  end subroutine primitives_and_begin

  subroutine to_waves(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: a
    do a = 1, 3
      call fluxes(p, n, a)
      call dissipate(p, n, a)
    end do
    call scale(p, n, direction)
    call to_first(p, n, direction)
  end subroutine to_waves

  subroutine to_next_and_update(p, n, direction)
    integer, intent(in) :: p, n, direction
    call to_next(p, n, direction)
    call update(p, n, direction)
  end subroutine to_next_and_update

  ! The state that the forcing holds in balance, of a component at a point.
  real(8) function balanced(p, n, m)
    integer, intent(in) :: p, n, m
    real(8) :: at(3)
    integer :: a
    do a = 1, 3
      at(a) = position(p, n, a) / (n - 1d0)
    end do
    select case (m)
    case (1)
      balanced = 2d0 + 0.3d0 * at(1) * at(2) + 0.1d0 * at(3)**2
    case (5)
      balanced = 8d0 + at(1)**2 + 0.5d0 * at(2) * at(3)
    case default
      balanced = 0.4d0 * at(m - 1) * (1d0 - at(1 + mod(m - 1, 3)))
    end select
  end function balanced

  subroutine set_balanced(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 5
      call RecordStatement()
      u(p, m) = balanced(p, n, m)
    end do
  end subroutine set_balanced

  ! What keeps the balance.
  subroutine set_forcing(p, n, direction)
    integer, intent(in) :: p, n, direction
    integer :: m
    do m = 1, 5
      call RecordStatement()
      forcing(p, m) = -rhs(p, m)
    end do
  end subroutine set_forcing

  ! Puts a point out of balance, those in the middle most.
  subroutine disturb(p, n, direction)
    integer, intent(in) :: p, n, direction
    real(8) :: bump
    integer :: m, a
    bump = 1d0
    do a = 1, 3
      bump = bump * 4d0 * position(p, n, a) * (n - 1 - position(p, n, a)) / (n - 1d0)**2
    end do
    do m = 1, 5
      call RecordStatement()
      u(p, m) = u(p, m) * (1d0 + 0.1d0 * bump)
    end do
  end subroutine disturb

  ! How far the state is from balance: the root of the mean square.
  real(8) function distance(n)
    integer, intent(in) :: n
    integer :: p, m
    distance = 0d0
    do m = 1, 5
      do p = 1, n**3
        call RecordStatement()
        distance = distance + (u(p, m) - balanced(p, n, m))**2
      end do
    end do
    distance = sqrt(distance / (5d0 * n**3))
  end function distance

  ! Sets all up, and takes one step.
  subroutine run(n, fused)
    integer, intent(in) :: n
    logical, intent(in) :: fused
    integer :: inside(2), all(2)
    real(8) :: before
    inside = [1, n - 2]
    all = [0, n - 1]
    call each(n, 1, 0, n - 1, all, all, set_balanced)
    call differences_plain(n)
    call each(n, 1, 1, n - 2, inside, inside, set_forcing)
    call each(n, 1, 1, n - 2, inside, inside, disturb)
    before = distance(n)
    if (fused) then
      call step_fused(n)
    else
      call step_plain(n)
    end if
    write (*, '(a, i4, 2es24.16)') 'sp', n, before, distance(n)
  end subroutine run
end module sp_steps

program sp
  use sp_steps
  implicit none
  call start()
contains
  ! Variables are on the stack here, where those of a main program are static.
  subroutine start()
    character(len=16) :: word
    integer :: n, status
    n = 28
    status = 0
    if (command_argument_count() >= 1) then
      call get_command_argument(1, word)
      read (word, *, iostat=status) n
    end if
    word = 'plain'
    if (command_argument_count() >= 2) call get_command_argument(2, word)
    if (status /= 0 .or. n < 7 .or. n > most .or. all(word /= ['plain', 'fused'])) then
      write (*, '(a)') 'sp: N is a number from 7 to 40, and what follows is plain or fused'
      stop 2
    end if
    call run(n, word == 'fused')
  end subroutine start
end program sp
