C     FFT: a two-dimensional fast Fourier transform, there and back.
C
C     usage: fft [N]             N a power of two, default 64, at most 256
C
C     D(2,N,N) holds N*N complex numbers, real part first. The program
C     keeps a copy of them in O, transforms the columns and then the
C     rows of D, transforms back, and compares with the copy. W holds
C     the roots of unity and K the bit-reversed numbers (whole numbers,
C     kept as reals so that all elements are of one size).
C
C     Why it is worth looking at: each line is transformed in log2(N)
C     stages, and each stage goes over the whole line once more.
C       - Inside a butterfly, an element is used again at once.
C       - From one stage to the next, it comes back after about 2*N
C         elements, the numbers of one line: a hill that moves with the
C         square root of the grid. Most reuses lie between those two.
C       - From one pass over the grid to the next, it comes back after
C         the whole grid. Those are few, because each pass does much
C         work on a line while it has it.
C
C     The program names its accesses itself, so it needs no special
C     compiler: RecordStatement begins a statement, and before it runs
C     RecordAccess(base, element) comes for each place in which it names
C     an array element, in the order in which they are evaluated, the
C     left-hand side last. In statement mode a butterfly of two points
C     is 10 elements: 2 for each part of the product with the root
C     (which is in scalars by then), 2 for each part of the difference,
C     and 1 for each part of the sum.
C
      PROGRAM FFT
      INTEGER MAXN
      PARAMETER (MAXN=256)
      REAL*8 D(2*MAXN*MAXN), O(2*MAXN*MAXN), W(MAXN), K(MAXN/2)
      COMMON /GRID/ D, O, W, K
      INTEGER N, M, IOS
      REAL*8 CHECK, ERR
      CHARACTER*16 ARG
      N = 64
      IF (IARGC().GT.0) THEN
        CALL GETARG(1, ARG)
        READ (ARG,*,IOSTAT=IOS) N
        IF (IOS.NE.0) N = 0
      ENDIF
      M = 4
 10   IF (M.LT.N .AND. M.LT.MAXN) THEN
        M = 2*M
        GOTO 10
      ENDIF
      IF (M.NE.N) THEN
        WRITE (*,*) 'fft: N must be a power of two from 4 to 256'
        STOP 2
      ENDIF
      CALL RecordNamedData('D', D, 16*N*N, 8)
      CALL RecordNamedData('O', O, 16*N*N, 8)
      CALL RecordNamedData('W', W, 8*N, 8)
      CALL RecordNamedData('K', K, 4*N, 8)
      CALL TABLES(W, K, N)
      CALL FILL(D, O, N)
      CALL GRID2D(D, W, K, N, 1.0D0)
      CHECK = D(3)
      CALL GRID2D(D, W, K, N, -1.0D0)
      CALL DIFFER(D, O, N, ERR)
      IF (ERR.GT.1.0D-10) THEN
        WRITE (*,*) 'fft: wrong by ', ERR
        STOP 1
      ENDIF
      WRITE (*,20) N, CHECK
 20   FORMAT ('fft ', I4, 1X, F12.8, ' and back')
      END

C     Roots of unity exp(-2 pi i k / N) for k < N/2, and the numbers
C     below N/2 with their log2(N)-1 bits in reverse.
      SUBROUTINE TABLES(W, K, N)
      INTEGER N, I, H
      REAL*8 W(2,0:N/2-1), K(0:N/2-1), T
      DO 10 I = 0, N/2-1
        T = -8.0D0*ATAN(1.0D0)*I/N
        CALL RecordStatement()
        CALL RecordAccess(W, W(1,I))
        W(1,I) = COS(T)
        CALL RecordStatement()
        CALL RecordAccess(W, W(2,I))
        W(2,I) = SIN(T)
 10   CONTINUE
      CALL RecordStatement()
      CALL RecordAccess(K, K(0))
      K(0) = 0.0D0
      H = N/4
 20   IF (H.GE.1) THEN
C       The numbers whose lowest bit in use is N/4/H.
        DO 30 I = 0, N/4/H-1
          CALL RecordStatement()
          CALL RecordAccess(K, K(I))
          CALL RecordAccess(K, K(I+N/4/H))
          K(I+N/4/H) = K(I) + H
 30     CONTINUE
        H = H/2
        GOTO 20
      ENDIF
      END

C     The input, and the copy that the result is compared with.
      SUBROUTINE FILL(D, O, N)
      INTEGER N, I, J
      REAL*8 D(2,N,N), O(2,N,N)
      DO 20 J = 1, N
        DO 10 I = 1, N
          CALL RecordStatement()
          CALL RecordAccess(D, D(1,I,J))
          D(1,I,J) = MOD(I*J,17)/16.0D0
          CALL RecordStatement()
          CALL RecordAccess(D, D(2,I,J))
          D(2,I,J) = MOD(I+3*J,13)/12.0D0
          CALL RecordStatement()
          CALL RecordAccess(D, D(1,I,J))
          CALL RecordAccess(O, O(1,I,J))
          O(1,I,J) = D(1,I,J)
          CALL RecordStatement()
          CALL RecordAccess(D, D(2,I,J))
          CALL RecordAccess(O, O(2,I,J))
          O(2,I,J) = D(2,I,J)
 10     CONTINUE
 20   CONTINUE
      END

C     All columns, then all rows. A line is handed on by its first
C     element and the distance between its elements, so the recorder
C     must learn that the line belongs to D: RecordPartialData.
      SUBROUTINE GRID2D(D, W, K, N, DIR)
      INTEGER N, I, J
      REAL*8 D(2,N,N), W(2,0:N/2-1), K(0:N/2-1), DIR
      DO 10 J = 1, N
        CALL RecordPartialData(D, D(1,1,J))
        CALL LINE(D(1,1,J), 1, W, K, N, DIR)
 10   CONTINUE
      DO 20 I = 1, N
        CALL RecordPartialData(D, D(1,I,1))
        CALL LINE(D(1,I,1), N, W, K, N, DIR)
 20   CONTINUE
      END

C     One line of N points, L points apart, in place; DIR is 1 for the
C     transform and -1 for its inverse. Divided by sqrt(N) both ways.
      SUBROUTINE LINE(X, L, W, K, N, DIR)
      INTEGER L, N
      REAL*8 X(2,0:L*(N-1)), W(2,0:N/2-1), K(0:N/2-1), DIR
      INTEGER I, J, H, G
      REAL*8 WR, WI, TR, TI, S
C     Put the points into bit-reversed order.
      DO 10 I = 0, N-1
        CALL RecordStatement()
        CALL RecordAccess(K, K(I/2))
        J = INT(K(I/2)) + MOD(I,2)*(N/2)
        IF (I.LT.J) THEN
          CALL RecordStatement()
          CALL RecordAccess(X, X(1,L*I))
          TR = X(1,L*I)
          CALL RecordStatement()
          CALL RecordAccess(X, X(2,L*I))
          TI = X(2,L*I)
          CALL RecordStatement()
          CALL RecordAccess(X, X(1,L*J))
          CALL RecordAccess(X, X(1,L*I))
          X(1,L*I) = X(1,L*J)
          CALL RecordStatement()
          CALL RecordAccess(X, X(2,L*J))
          CALL RecordAccess(X, X(2,L*I))
          X(2,L*I) = X(2,L*J)
          CALL RecordStatement()
          CALL RecordAccess(X, X(1,L*J))
          X(1,L*J) = TR
          CALL RecordStatement()
          CALL RecordAccess(X, X(2,L*J))
          X(2,L*J) = TI
        ENDIF
 10   CONTINUE
C     The stages: pairs of points that are H apart, then 2H, then 4H.
      H = 1
 20   IF (H.LT.N) THEN
        DO 40 G = 0, H-1
          CALL RecordStatement()
          CALL RecordAccess(W, W(1,G*(N/2/H)))
          WR = W(1,G*(N/2/H))
          CALL RecordStatement()
          CALL RecordAccess(W, W(2,G*(N/2/H)))
          WI = W(2,G*(N/2/H))*DIR
          DO 30 I = G, N-1, 2*H
            J = I + H
            CALL RecordStatement()
            CALL RecordAccess(X, X(1,L*J))
            CALL RecordAccess(X, X(2,L*J))
            TR = WR*X(1,L*J) - WI*X(2,L*J)
            CALL RecordStatement()
            CALL RecordAccess(X, X(2,L*J))
            CALL RecordAccess(X, X(1,L*J))
            TI = WR*X(2,L*J) + WI*X(1,L*J)
            CALL RecordStatement()
            CALL RecordAccess(X, X(1,L*I))
            CALL RecordAccess(X, X(1,L*J))
            X(1,L*J) = X(1,L*I) - TR
            CALL RecordStatement()
            CALL RecordAccess(X, X(2,L*I))
            CALL RecordAccess(X, X(2,L*J))
            X(2,L*J) = X(2,L*I) - TI
            CALL RecordStatement()
            CALL RecordAccess(X, X(1,L*I))
            CALL RecordAccess(X, X(1,L*I))
            X(1,L*I) = X(1,L*I) + TR
            CALL RecordStatement()
            CALL RecordAccess(X, X(2,L*I))
            CALL RecordAccess(X, X(2,L*I))
            X(2,L*I) = X(2,L*I) + TI
 30       CONTINUE
 40     CONTINUE
        H = 2*H
        GOTO 20
      ENDIF
      S = 1.0D0/SQRT(DBLE(N))
      DO 50 I = 0, N-1
        CALL RecordStatement()
        CALL RecordAccess(X, X(1,L*I))
        CALL RecordAccess(X, X(1,L*I))
        X(1,L*I) = X(1,L*I)*S
        CALL RecordStatement()
        CALL RecordAccess(X, X(2,L*I))
        CALL RecordAccess(X, X(2,L*I))
        X(2,L*I) = X(2,L*I)*S
 50   CONTINUE
      END

C     The largest difference between the result and the copy.
      SUBROUTINE DIFFER(D, O, N, ERR)
      INTEGER N, I, J
      REAL*8 D(2,N,N), O(2,N,N), ERR
      ERR = 0.0D0
      DO 20 J = 1, N
        DO 10 I = 1, N
          CALL RecordStatement()
          CALL RecordAccess(D, D(1,I,J))
          CALL RecordAccess(O, O(1,I,J))
          ERR = MAX(ERR, ABS(D(1,I,J) - O(1,I,J)))
          CALL RecordStatement()
          CALL RecordAccess(D, D(2,I,J))
          CALL RecordAccess(O, O(2,I,J))
          ERR = MAX(ERR, ABS(D(2,I,J) - O(2,I,J)))
 10     CONTINUE
 20   CONTINUE
      END
