! The program's own names for its data (Ding & Zhong 2001, section 2.3), for Fortran 90 and later:
! add this file to the program and `use reuselens`. Build with `reuselens fortran --rl-names`.
module reuselens
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    ! A data structure comes to be: its size and that of its elements, in bytes.
    subroutine RecordData(base, total_bytes, element_bytes) bind(c, name='recorddata_')
      import :: c_int
      type(*), dimension(*), intent(in) :: base
      integer(c_int), intent(in) :: total_bytes, element_bytes
    end subroutine
    ! Another address from which the structure at `base` is entered.
    subroutine RecordPartialData(base, entry) bind(c, name='recordpartialdata_')
      type(*), dimension(*), intent(in) :: base, entry
    end subroutine
    ! An access to an element of the structure that is entered at `base`.
    subroutine RecordAccess(base, element) bind(c, name='recordaccess_')
      type(*), dimension(*), intent(in) :: base, element
    end subroutine
    ! A statement begins.
    subroutine RecordStatement() bind(c, name='recordstatement_')
    end subroutine
  end interface
contains
  ! The same as RecordData, with a name for the reports.
  subroutine RecordNamedData(name, base, total_bytes, element_bytes)
    character(*), intent(in) :: name
    type(*), dimension(*), intent(in) :: base
    integer(c_int), intent(in) :: total_bytes, element_bytes
    interface
      subroutine named(name, base, total_bytes, element_bytes, length) &
          bind(c, name='recordnameddata_')
        import :: c_int
        character(1), intent(in) :: name(*)
        type(*), dimension(*), intent(in) :: base
        integer(c_int), intent(in) :: total_bytes, element_bytes
        integer(8), value :: length
      end subroutine
    end interface
    call named(name, base, total_bytes, element_bytes, len(name, 8))
  end subroutine
end module
