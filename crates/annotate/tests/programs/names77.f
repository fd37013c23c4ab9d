C     Names and accesses of known numbers, in Fortran 77.
      PROGRAM NAMES
      INCLUDE 'reuselens.inc'
      REAL*8 A(10)
      INTEGER*8 K(4,3)
      CHARACTER*3 C(5)
      COMPLEX Z(2)
      INTEGER I
      COMMON /NUMS/ A, K
      COMMON /RAW/ Z
      DO 10 I = 1, 10
        A(I) = 1.0D0
 10   CONTINUE
      CALL RecordNamedData('A', A, 10*8, 8)
      CALL RecordNamedData('matrix of K   ', K, 12*8, 8)
      CALL RecordData(C, 5*3, 3)
      DO 20 I = 1, 10
        CALL RecordStatement()
C       line: read
        CALL RecordAccess(A, A(I))
        CALL RecordAccess(A, A(I))
        A(I) = A(I) * 0.2D0
 20   CONTINUE
C     A column, as Fortran 77 passes it on: by its first element.
      CALL RecordPartialData(K, K(1,3))
      CALL COLUMN(K(1,3), 4)
      CALL RecordAccess(C, C(2))
      C(2) = 'abc'
C     Without a name: raw memory.
      DO 30 I = 1, 2
        CALL RecordAccess(Z, Z(I))
        Z(I) = (1.0, 2.0)
 30   CONTINUE
      WRITE (*,40) A(10), K(4,3), C(2), REAL(Z(2))
 40   FORMAT (F4.1, I2, 1X, A, F4.1)
      END

      SUBROUTINE COLUMN(V, N)
      INCLUDE 'reuselens.inc'
      INTEGER N, I
      INTEGER*8 V(N)
      DO 10 I = 1, N
        CALL RecordAccess(V, V(I))
        V(I) = I
 10   CONTINUE
      END
