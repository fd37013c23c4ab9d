C     ADI: alternating direction implicit integration on an N x N grid.
C
C     usage: adi [N]             default 100, at most 400
C
C     One step of an implicit method solves a tridiagonal system for
C     every column of the grid and then one for every row. X is the
C     right-hand side and becomes the solution; B is the diagonal and A
C     the off-diagonal, both of which the elimination works on in place
C     (the rows take over what the columns left).
C
C     Why it is worth looking at: the two directions do the same work,
C     but not in the same order.
C       - Columns: TRIDI solves one column from end to end and then
C         forgets it. An element and its neighbour meet at once, at a
C         distance of 2 or 3 elements.
C       - Rows: all rows advance together, one column at a time. An
C         element meets its neighbour one whole column later, at a
C         distance that grows with N.
C       - From one direction to the next, everything is used once more:
C         a distance of nearly 3*N*N elements, which grows with the
C         grid.
C     Those are the three hills of the histogram.
C
C     The program names its accesses itself, so it needs no special
C     compiler: RecordStatement begins a statement, and before it runs
C     RecordAccess(base, element) comes once for each place in which it
C     names an array element, in the order in which they are evaluated,
C     the left-hand side last. Per point of the grid that is
C     26 elements in statement mode: 4 to set up, and 11 for each
C     direction (X 4 and B 3 forward, X 4 backward), less at the edges:
C     26*N*N - 18*N in all, 64100 for N = 50 and 258200 for N = 100. The
C     ADI that Ding and Zhong measured in 2001 (Reuse Distance Analysis,
C     table 2) had 64.3 and 258 thousand.
C
      PROGRAM ADI
      INTEGER MAXN
      PARAMETER (MAXN=400)
      REAL*8 X(MAXN*MAXN), A(MAXN*MAXN), B(MAXN*MAXN)
      COMMON /GRID/ X, A, B
      INTEGER N, IOS
      CHARACTER*16 ARG
      N = 100
      IF (IARGC().GT.0) THEN
        CALL GETARG(1, ARG)
        READ (ARG,*,IOSTAT=IOS) N
        IF (IOS.NE.0 .OR. N.LT.2 .OR. N.GT.MAXN) THEN
          WRITE (*,*) 'adi: N must be a number from 2 to 400'
          STOP 2
        ENDIF
      ENDIF
C     Only the first N*N elements are used: the grid is packed, and what
C     is declared to the recorder is what takes part.
      CALL RecordNamedData('X', X, 8*N*N, 8)
      CALL RecordNamedData('A', A, 8*N*N, 8)
      CALL RecordNamedData('B', B, 8*N*N, 8)
      CALL SETUP(X, A, B, N*N)
      CALL COLS(X, A, B, N)
      CALL ROWS(X, A, B, N)
      WRITE (*,10) N, X(1), X(N*N/2), X(N*N)
 10   FORMAT ('adi ', I4, 3(1X, F12.8))
      END

C     A smooth right-hand side, and a matrix whose diagonal is large
C     enough that the elimination needs no pivots.
      SUBROUTINE SETUP(X, A, B, M)
      INTEGER M, K
      REAL*8 X(M), A(M), B(M)
      DO 10 K = 1, M
        CALL RecordStatement()
        CALL RecordAccess(X, X(K))
        X(K) = 1.0D0 + MOD(K,7)*0.125D0
        CALL RecordStatement()
        CALL RecordAccess(A, A(K))
        A(K) = 0.25D0 + MOD(K,5)*0.0625D0
        CALL RecordStatement()
        CALL RecordAccess(A, A(K))
        CALL RecordAccess(B, B(K))
        B(K) = 2.0D0 + 2.0D0*A(K)
 10   CONTINUE
      END

C     First direction: every column on its own. TRIDI is handed a piece
C     of each array, so the recorder must learn that the piece belongs
C     to the array: RecordPartialData.
      SUBROUTINE COLS(X, A, B, N)
      INTEGER N, J
      REAL*8 X(N,N), A(N,N), B(N,N)
      DO 10 J = 1, N
        CALL RecordPartialData(X, X(1,J))
        CALL RecordPartialData(A, A(1,J))
        CALL RecordPartialData(B, B(1,J))
        CALL TRIDI(X(1,J), A(1,J), B(1,J), N)
 10   CONTINUE
      END

C     One tridiagonal system: eliminate forward, substitute backward.
      SUBROUTINE TRIDI(X, A, B, N)
      INTEGER N, I
      REAL*8 X(N), A(N), B(N)
      DO 10 I = 2, N
        CALL RecordStatement()
        CALL RecordAccess(X, X(I-1))
        CALL RecordAccess(A, A(I))
        CALL RecordAccess(B, B(I-1))
        CALL RecordAccess(X, X(I))
        CALL RecordAccess(X, X(I))
        X(I) = X(I) - X(I-1)*A(I)/B(I-1)
        CALL RecordStatement()
        CALL RecordAccess(A, A(I))
        CALL RecordAccess(A, A(I))
        CALL RecordAccess(B, B(I-1))
        CALL RecordAccess(B, B(I))
        CALL RecordAccess(B, B(I))
        B(I) = B(I) - A(I)*A(I)/B(I-1)
 10   CONTINUE
      CALL RecordStatement()
      CALL RecordAccess(X, X(N))
      CALL RecordAccess(B, B(N))
      CALL RecordAccess(X, X(N))
      X(N) = X(N)/B(N)
      DO 20 I = N-1, 1, -1
        CALL RecordStatement()
        CALL RecordAccess(A, A(I+1))
        CALL RecordAccess(X, X(I+1))
        CALL RecordAccess(X, X(I))
        CALL RecordAccess(B, B(I))
        CALL RecordAccess(X, X(I))
        X(I) = (X(I) - A(I+1)*X(I+1))/B(I)
 20   CONTINUE
      END

C     Second direction: all rows at once, column by column, because that
C     is how a vector machine liked it and how the memory lies.
      SUBROUTINE ROWS(X, A, B, N)
      INTEGER N, I, J
      REAL*8 X(N,N), A(N,N), B(N,N)
      DO 20 J = 2, N
        DO 10 I = 1, N
          CALL RecordStatement()
          CALL RecordAccess(X, X(I,J-1))
          CALL RecordAccess(A, A(I,J))
          CALL RecordAccess(B, B(I,J-1))
          CALL RecordAccess(X, X(I,J))
          CALL RecordAccess(X, X(I,J))
          X(I,J) = X(I,J) - X(I,J-1)*A(I,J)/B(I,J-1)
          CALL RecordStatement()
          CALL RecordAccess(A, A(I,J))
          CALL RecordAccess(A, A(I,J))
          CALL RecordAccess(B, B(I,J-1))
          CALL RecordAccess(B, B(I,J))
          CALL RecordAccess(B, B(I,J))
          B(I,J) = B(I,J) - A(I,J)*A(I,J)/B(I,J-1)
 10     CONTINUE
 20   CONTINUE
      DO 30 I = 1, N
        CALL RecordStatement()
        CALL RecordAccess(X, X(I,N))
        CALL RecordAccess(B, B(I,N))
        CALL RecordAccess(X, X(I,N))
        X(I,N) = X(I,N)/B(I,N)
 30   CONTINUE
      DO 50 J = N-1, 1, -1
        DO 40 I = 1, N
          CALL RecordStatement()
          CALL RecordAccess(A, A(I,J+1))
          CALL RecordAccess(X, X(I,J+1))
          CALL RecordAccess(X, X(I,J))
          CALL RecordAccess(B, B(I,J))
          CALL RecordAccess(X, X(I,J))
          X(I,J) = (X(I,J) - A(I,J+1)*X(I,J+1))/B(I,J)
 40     CONTINUE
 50   CONTINUE
      END
