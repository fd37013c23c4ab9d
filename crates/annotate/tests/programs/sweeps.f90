! Another file that has the interfaces for itself.
include 'reuselens.f90'

module sweeps
  use reuselens, only: RecordAccess
  implicit none
contains
  subroutine sweep(v)
    real(8), intent(inout) :: v(:)
    integer :: i
    do i = 1, size(v)
      call RecordAccess(v, v(i))
      v(i) = v(i) * 0.5d0
    end do
  end subroutine
end module
