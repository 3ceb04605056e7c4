! SPDX-License-Identifier: BSD-3-Clause
! Arrays as people allocate them. "name: X|Y" is what a reader would call the blocks of the statement that
! ends on that line, in the order of its calls; "sites": more calls than items, so that no name is certain.
module arrays
  implicit none
  type pair
    real(8), allocatable :: x(:), y(:)
  end type
  type(pair) :: p
contains
  subroutine several(n, out)
    integer, intent(in) :: n
    real(8), allocatable, intent(out) :: out(:)
    real(8), allocatable :: a(:), b(:), c(:), d(:, :)
    real(8), pointer :: q(:), r(:)
    integer :: ierr
    allocate(a(n), b(n)) ! name: a|b
    allocate(p%x(n), p%y(2 * n)) ! name: p%x|p%y
    allocate(c(n), & ! b(n), (
      ! no item: e(n)
      & d(n, merge(2, 3, n > 1)), &
      stat=ierr) ! name: c|d
    allocate(q(n)); allocate(r(n)) ! name: q|r
    allocate(out(n)) ! name: out
    a = 1; b = a; c = b; d = 2; q = 3; r = q; p%x = 4; p%y = 5
    out = a + b + c + d(:, 1) + q + r + p%x
    deallocate(q, r)
  end subroutine
  subroutine copied(f, g)
    type(pair), allocatable, intent(out) :: f, g
    allocate(f, g, source=p) ! sites
  end subroutine
end module

program names
  use arrays
  implicit none
  real(8), allocatable :: out(:), h(:), k(:)
  type(pair), allocatable :: f, g
  call several(100 + command_argument_count(), out)
  call copied(f, g)
  call contained()
  print *, sum(out), sum(f%x), sum(g%y), sum(h), sum(k)
contains
  subroutine contained()
    allocate(h(size(out)), k(2 * size(out))) ! name: h|k
    h = 1
    k = 2
  end subroutine
end program
