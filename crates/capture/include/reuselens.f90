! The program's own names for its data, as a module. Put this before the first program unit of a file:
!
!     include 'reuselens.f90'
!
! and `use reuselens` where the calls are. The module has only interfaces in it, so several files may
! include it, each for itself, and none has to be compiled first. `reuselens fortran` finds it;
! elsewhere give its folder with -I. The calls are explained in reuselens.inc.
module reuselens
  implicit none
  include 'reuselens.inc'
end module reuselens
