! Sweep3D: particles in a cube of N x N x N cells, by sweeps of wavefronts.
!
!     usage: sweep3d [N [STEPS]]     defaults 20 and 1; N at most 40
!
! A step solves the transport equation of one group of particles for the source that scattering
! made in the step before, in three dimensions by discrete ordinates (Lewis and Miller,
! Computational Methods of Neutron Transport, 1984): 48 directions, 6 in each octant, with
! differences on the diamond. What streams into a cell must be known before the cell is, so that
! each octant is swept from one corner of the cube to the other. As in the program of the same name
! (Koch, Baker and Alcouffe, Transactions of the American Nuclear Society 65, 1992) the lines of
! cells along I whose J, K and direction are on one diagonal are independent, and go together.
!
! FLUX and SRC have four moments, SIGT the total cross section; PHIIB, PHIJB and PHIKB are what
! streams through the faces of cells along each direction. PHI is the present line; the directions
! (MU, ETA, TSI), their weights (W), the moments at them (PN) and the cells (HI, HJ, HK) are small.
!
! RecordStatement begins a statement, for reordering; statements share no variables but elements of
! arrays.

module sweep_cells
  implicit none
  integer, parameter :: most = 40
  integer, parameter :: angles = 6, moments = 4
  real(8) :: flux(most**3, moments), src(most**3, moments), sigt(most**3)
  real(8), dimension(most**2 * angles) :: phiib, phijb, phikb
  real(8), dimension(most) :: phi, hi, hj, hk
  real(8), dimension(angles) :: mu, eta, tsi, w
  real(8) :: pn(angles, moments, 8)
end module sweep_cells

program sweep3d
  implicit none
  external RecordStatement
  call start()
contains
  ! Variables are on the stack here, where those of a main program are static.
  subroutine start()
    use sweep_cells
    integer :: n, steps, step, octant
    real(8) :: leakage(3), absorbed
    n = argument(1, 20)
    steps = argument(2, 1)
    if (n < 2 .or. n > most .or. steps < 1) then
      write (*, '(a)') 'sweep3d: N is a number from 2 to 40, STEPS a number from 1 on'
      stop 2
    end if
    call initial(n, flux, sigt, mu, eta, tsi, w, pn, hi, hj, hk)
    do step = 1, steps
      call source(n, flux, src)
      leakage = 0d0
      do octant = 1, 8
        call sweep(n, octant, flux, src, sigt, phiib, phijb, phikb, phi, mu, eta, tsi, w, pn, &
            hi, hj, hk)
        call leak(n, mu, w, phiib, leakage(1))
        call leak(n, eta, w, phijb, leakage(2))
        call leak(n, tsi, w, phikb, leakage(3))
      end do
    end do
    call absorb(n, flux, absorbed)
    write (*, '(a, i4, i4, 4f14.9)') 'sweep3d', n, steps, leakage, absorbed
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
end program sweep3d

! Cells, directions and moments; no particles.
subroutine initial(n, flux, sigt, mu, eta, tsi, w, pn, hi, hj, hk)
  use sweep_cells, only: angles, moments
  implicit none
  integer, intent(in) :: n
  real(8) :: flux(n, n, n, moments), sigt(n, n, n)
  real(8), dimension(angles) :: mu, eta, tsi, w
  real(8) :: pn(angles, moments, 8)
  real(8), dimension(n) :: hi, hj, hk
  real(8) :: cosines(3)
  integer :: i, j, k, m, octant, places(3, angles)
  ! Fully symmetric directions of order 6, by the places of their cosines.
  cosines = [0.2666355d0, 0.6815076d0, 0.9261808d0]
  places = reshape([1, 1, 3, 1, 2, 2, 1, 3, 1, 2, 1, 2, 2, 2, 1, 3, 1, 1], [3, angles])
  do m = 1, angles
    call RecordStatement()
    mu(m) = cosines(places(1, m))
    call RecordStatement()
    eta(m) = cosines(places(2, m))
    call RecordStatement()
    tsi(m) = cosines(places(3, m))
    call RecordStatement()
    w(m) = merge(0.1761263d0, 0.1572071d0, maxval(places(:, m)) == 3) / 8d0
  end do
  do octant = 1, 8
    do m = 1, angles
      call RecordStatement()
      pn(m, 1, octant) = 1d0
      call RecordStatement()
      pn(m, 2, octant) = merge(mu(m), -mu(m), mod(octant, 2) == 1)
      call RecordStatement()
      pn(m, 3, octant) = merge(eta(m), -eta(m), mod((octant - 1) / 2, 2) == 0)
      call RecordStatement()
      pn(m, 4, octant) = merge(tsi(m), -tsi(m), octant <= 4)
    end do
  end do
  do i = 1, n
    call RecordStatement()
    hi(i) = 2d0 * n
    call RecordStatement()
    hj(i) = 2d0 * n
    call RecordStatement()
    hk(i) = 2d0 * n
  end do
  do k = 1, n
    do j = 1, n
      do i = 1, n
        call RecordStatement()
        sigt(i, j, k) = 1d0 + 0.5d0 * mod(i + j + k, 2)
        do m = 1, moments
          call RecordStatement()
          flux(i, j, k, m) = 0d0
        end do
      end do
    end do
  end do
end subroutine initial

! The source of a step: one that is even, and scattering of the present flux, which starts anew.
subroutine source(n, flux, src)
  use sweep_cells, only: moments
  implicit none
  integer, intent(in) :: n
  real(8), dimension(n, n, n, moments) :: flux, src
  integer :: i, j, k, m
  do k = 1, n
    do j = 1, n
      do i = 1, n
        call RecordStatement()
        src(i, j, k, 1) = 1d0 + 0.5d0 * flux(i, j, k, 1)
        do m = 2, moments
          call RecordStatement()
          src(i, j, k, m) = 0.3d0 * flux(i, j, k, m)
        end do
        do m = 1, moments
          call RecordStatement()
          flux(i, j, k, m) = 0d0
        end do
      end do
    end do
  end do
end subroutine source

! One octant, from the corner where its particles come from to the other one; nothing streams into
! the cube.
subroutine sweep(n, octant, flux, src, sigt, phiib, phijb, phikb, phi, mu, eta, tsi, w, pn, &
    hi, hj, hk)
  use sweep_cells, only: angles, moments
  implicit none
  integer, intent(in) :: n, octant
  real(8), dimension(n, n, n, moments) :: flux, src
  real(8) :: sigt(n, n, n)
  real(8), dimension(n, n, angles) :: phiib, phijb, phikb
  real(8), dimension(angles) :: mu, eta, tsi, w
  real(8) :: pn(angles, moments, 8)
  real(8), dimension(n) :: phi, hi, hj, hk
  integer :: a, b, m, diagonal, j, k
  logical :: up(3)
  up = [mod(octant, 2) == 1, mod((octant - 1) / 2, 2) == 0, octant <= 4]
  do m = 1, angles
    do b = 1, n
      do a = 1, n
        call RecordStatement()
        phiib(a, b, m) = 0d0
        call RecordStatement()
        phijb(a, b, m) = 0d0
        call RecordStatement()
        phikb(a, b, m) = 0d0
      end do
    end do
  end do
  do diagonal = 3, 2 * n + angles
    do m = 1, angles
      do b = max(1, diagonal - m - n), min(n, diagonal - m - 1)
        j = merge(diagonal - m - b, n + 1 - (diagonal - m - b), up(2))
        k = merge(b, n + 1 - b, up(3))
        call line(j, k, m)
      end do
    end do
  end do
contains
  ! The cells of a line, for one direction.
  subroutine line(j, k, m)
    integer, intent(in) :: j, k, m
    integer :: i, at, moment
    real(8) :: ci, cj, ck
    do at = 1, n
      i = merge(at, n + 1 - at, up(1))
      call RecordStatement()
      phi(i) = src(i, j, k, 1)
      do moment = 2, moments
        call RecordStatement()
        phi(i) = phi(i) + pn(m, moment, octant) * src(i, j, k, moment)
      end do
      call RecordStatement()
      ci = mu(m) * hi(i)
      cj = eta(m) * hj(j)
      ck = tsi(m) * hk(k)
      phi(i) = (phi(i) + ci * phiib(j, k, m) + cj * phijb(i, k, m) + ck * phikb(i, j, m)) &
          / (sigt(i, j, k) + ci + cj + ck)
      call RecordStatement()
      phiib(j, k, m) = 2d0 * phi(i) - phiib(j, k, m)
      call RecordStatement()
      phijb(i, k, m) = 2d0 * phi(i) - phijb(i, k, m)
      call RecordStatement()
      phikb(i, j, m) = 2d0 * phi(i) - phikb(i, j, m)
      call RecordStatement()
      flux(i, j, k, 1) = flux(i, j, k, 1) + w(m) * phi(i)
      do moment = 2, moments
        call RecordStatement()
        flux(i, j, k, moment) = flux(i, j, k, moment) + pn(m, moment, octant) * w(m) * phi(i)
      end do
    end do
  end subroutine line
end subroutine sweep

! What left the cube through the faces along one direction, in cells of the size of one.
subroutine leak(n, cosine, w, through, leakage)
  use sweep_cells, only: angles
  implicit none
  integer, intent(in) :: n
  real(8), dimension(angles) :: cosine, w
  real(8) :: through(n, n, angles)
  real(8), intent(inout) :: leakage
  integer :: a, b, m
  do m = 1, angles
    do b = 1, n
      do a = 1, n
        call RecordStatement()
        leakage = leakage + cosine(m) * w(m) * through(a, b, m) / n**2
      end do
    end do
  end do
end subroutine leak

! The mean flux.
subroutine absorb(n, flux, absorbed)
  use sweep_cells, only: moments
  implicit none
  integer, intent(in) :: n
  real(8) :: flux(n, n, n, moments)
  real(8), intent(out) :: absorbed
  real(8) :: total
  integer :: i, j, k
  total = 0d0
  do k = 1, n
    do j = 1, n
      do i = 1, n
        call RecordStatement()
        total = total + flux(i, j, k, 1)
      end do
    end do
  end do
  absorbed = total / n**3
end subroutine absorb
