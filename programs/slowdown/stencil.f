C     Four neighbours' mean, to and fro between two grids.
C     usage: stencil [TIMES]      default: 40
      PROGRAM STENCL
      INTEGER N,NT
      PARAMETER (N=400)
      REAL*8 A(N,N),B(N,N)
      COMMON /GRID/ A,B
      INTEGER I,J,T
      CHARACTER*16 ARG
      NT=40
      IF (IARGC().GT.0) THEN
        CALL GETARG(1,ARG)
        READ(ARG,*) NT
      ENDIF
      DO 10 J=1,N
        DO 5 I=1,N
          A(I,J)=MOD(I*J,17)
          B(I,J)=0D0
  5     CONTINUE
 10   CONTINUE
      DO 20 T=1,NT
        CALL SWEEP(A,B,N)
        CALL SWEEP(B,A,N)
 20   CONTINUE
      WRITE(*,*) A(N/2,N/2)
      END
      SUBROUTINE SWEEP(X,Y,N)
      INTEGER N,I,J
      REAL*8 X(N,N),Y(N,N)
      DO 30 J=2,N-1
        DO 25 I=2,N-1
          Y(I,J)=0.25D0*(X(I-1,J)+X(I+1,J)+X(I,J-1)+X(I,J+1))
 25     CONTINUE
 30   CONTINUE
      END
