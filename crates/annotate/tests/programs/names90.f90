! Names and accesses of known numbers, in Fortran 90 and later.
include 'reuselens.f90'

program names
  use sweeps
  use reuselens
  implicit none
  integer, parameter :: n = 6
  type point
    real :: x, y
    integer(4) :: id
  end type
  real(8), allocatable :: a(:, :), b(:)
  real(8), allocatable, target :: t(:)
  real(8), pointer :: p(:)
  integer(8), save :: k(2, 3, 4)
  type(point), save :: points(5)
  character(3), save :: words(4)
  integer :: i

  allocate(a(n, n), t(n))
  a = 1
  call RecordNamedData('a', a, 8 * size(a), 8)
  call RecordNamedData('k', k, 8 * size(k), storage_size(k) / 8)
  call RecordNamedData('points', points, size(points) * 12, 12)
  call RecordNamedData('t', t, 8 * n, 8)
  call RecordData(words, size(words) * 3, 3)

  ! Sections: a column by itself, the rest of the columns by its first element.
  call RecordPartialData(a, a(:, 2))
  call RecordPartialData(a(:, 2), a(1, 3))
  call sweep(a(:, 2))
  call sweep(a(1:2, 3))

  call RecordAccess(k, k(2, 3, 4))
  call RecordAccess(points, points(2))
  call RecordAccess(points, points(3)%y)
  call RecordAccess(words, words(4))
  k(2, 3, 4) = 7
  points(3)%y = 1
  words(4) = 'end'

  p => t(3:)
  call RecordPartialData(t, p)
  call RecordAccess(p, p(1))
  p(1) = 2

  do i = 1, 3
    call RecordStatement()
    call RecordAccess(t, t(n)) ! line: read
    call RecordAccess(t, t(n)) ! line: write
    t(n) = i
    t(n) = t(n) * 0.2d0
  end do

  ! Most likely the same memory again, without its name.
  deallocate(a)
  allocate(b(n * n))
  b = 0
  call RecordAccess(b, b(1)) ! line: unnamed
  print '(f4.1, i2, f4.1, 1x, a, 3f4.1)', b(1), k(2, 3, 4), points(3)%y, words(4), t(3), t(6)
end program
