// The LLVM pass of `reuselens cc --llvm`: adds stores between a program's own instructions, by
// which the program records its accesses to memory without calling a hook for each.
//
// The part of a basic block between two calls is a *segment*. It has a *descriptor*, a constant in
// the section `reuselens_notes`, with all that is known when the program is compiled. When the
// segment runs it takes room in its thread's block of the shared memory (one test), and writes a
// *block record* there: the descriptor's address, and the words that are known only then. The
// analysing side makes rows of it (`src/records/`, which must be changed along with this file).
//
//     block record:  word 0 | descriptor's address | word 1 | word 2 …; a multiple of 16 bytes
//     descriptor:    head { i32 place of the first access, from here; u16 words; u16 entries },
//                    then the entries
//     entry:         { u8 kind; u8 size; u16 word; i32 displacement }; the address of an access is
//                    word + displacement
//
// A loop of one basic block without calls, whose addresses all change by constant steps, writes one
// block record for many iterations: the addresses of the last one, the steps, and the number of
// iterations. Such a block record takes more room than its contents, about a byte for each access,
// so that a block of the shared memory does not span much more time than others; for threads take
// turns in the stream block by block.
//
// The place of an access is a byte in a *shadow* of its function in the section `reuselens_sites`:
// an instruction that never runs, with the debug information of the access. So a program counter in
// the stream is an address in the program, by which its line, its function and inlined functions
// are found, wherever code generation moves the access.

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <cstdlib>

using namespace llvm;

namespace {

// The kinds of rows, as in the crate `wire`.
enum Kind : uint8_t { Load = 1, Store = 2, Atomic = 3, Enter = 6, Exit = 7, Operand = 14, Block = 15 };
// An entry after that of a conditional access: `word` has a bit for each lane; `displacement` is
// the number of this access's bit (OneLane), or the number of lanes (Lanes).
enum Condition : uint8_t { OneLane = 0x40, Lanes = 0x41 };
// Times is the first entry: `word` is the number of iterations, the displacement is unused. Step
// comes after an access, whose address changes by word + displacement in each iteration.
enum Repetition : uint8_t { Times = 0x42, Step = 0x43 };

// How a basic block ends, as in the trace crate.
enum Ending : uint8_t { Falls = 0, Conditional = 1, Jump = 2, Indirect = 3, Calls = 4, Returns = 5 };
constexpr uint8_t TAKEN_LOOPS = 8, FALLS_LOOPS = 16;

// In place of a word: the address is the displacement alone, relative to its own place or to 0.
constexpr uint16_t FROM_HERE = 0xffff, FROM_ZERO = 0xfffe;
// The most words of a block record; the run time discards as many where nothing is recorded.
constexpr size_t WORDS_MOST = 62;
// The most entries of a descriptor; the reader makes room for as many rows.
constexpr size_t ENTRIES_MOST = 256;
// The most accesses of a block record for many iterations, and of one iteration of it.
constexpr uint64_t REPEATED_MOST = 256, REPEATED_EACH = 64;
// Loops that are known to have fewer iterations write a block record for each.
constexpr unsigned REPEATED_LEAST = 4;
// The least bytes of such a block record for each of these accesses.
constexpr uint64_t REPEATED_BYTES = 1;
// Words that an address is compared with, to share one.
constexpr size_t COMPARED = 8;
constexpr uint64_t BLOCK_BYTES = 1 << 16;

/// A word of a block record: after which instruction it is known, and its value.
struct Word {
  Instruction *At;
  Value *Known;
};

/// An entry of a descriptor.
struct Entry {
  uint8_t Kind;
  uint8_t Size;
  uint16_t Word;
  int64_t Displacement;
  GlobalValue *Global; // for FROM_HERE
  DebugLoc Place;
  /// Of a basic block: itself, or the call before it; and where it leads, or the call at its end,
  /// whose block is the one to return to.
  Value *Self = nullptr, *Taken = nullptr;
};

/// The accesses of a segment of code.
struct Segment {
  Instruction *First = nullptr;
  Instruction *Last = nullptr;
  SmallVector<Word, 8> Words;
  SmallVector<Entry, 16> Entries;
  /// The address of the function's return address, if it was asked for.
  Value *Frame = nullptr;
  /// The least bytes of its block record.
  uint64_t Least = 0;
};

/// A segment that is the entire body of a loop, with constant steps.
struct Repeated {
  size_t Segment;
  Loop *Of;
  /// For each word the step that it moves by.
  SmallVector<Value *, 8> Steps;
  /// The number of iterations, less one.
  Value *Back;
  /// The most iterations of a block record; a power of two.
  uint64_t Most;
};

/// Copies of a size that is known and small become plain instructions; all others are calls of the
/// C library, where the run time sees them.
constexpr uint64_t INLINE_BYTES = 32;

/// One function: first all is looked at, then all is written.
class Pass {
public:
  Pass(Function &F, ScalarEvolution &SE, LoopInfo &Loops, bool Blocks)
      : F(F), SE(SE), Loops(Loops), Blocks(Blocks), Layout(F.getParent()->getDataLayout()) {}

  bool look();
  void write(GlobalVariable *State, FunctionCallee Room, FunctionCallee Order);

private:
  void block(BasicBlock &Block);
  DebugLoc lineOf(Instruction &I, uint8_t How);
  void begun(Instruction &I, Value *Self);
  void instruction(Instruction &I);
  void access(Instruction &I, uint8_t Kind, Value *Pointer, Type *Of);
  void bytes(Instruction &I, uint8_t Kind, Value *Pointer, uint64_t Bytes);
  bool copy(Instruction &I);
  bool masked(IntrinsicInst &I);
  void lanes(IntrinsicInst &I, uint8_t Kind, Value *Pointers, Value *Mask, Type *Of);
  Segment &at(Instruction &I, size_t NewWords = 4, size_t NewEntries = 4);
  void end() {
    Open = false;
    Alone = false;
  }
  /// Another thread may go on because of this instruction.
  void releases(Instruction &I) {
    end();
    Releases.push_back(&I);
  }
  void even(BasicBlock &Block, size_t FirstSegment);
  const SCEV *step(Value *Address, Loop *L);
  void repeat(Repeated &R);
  Value *again(Value *V, Instruction *At, DenseMap<Value *, Value *> &Made);
  void entry(Segment &S, Entry E) { S.Entries.push_back(E); }
  uint16_t word(Segment &S, Instruction &I, Value *V);
  Entry address(Segment &S, Instruction &I, uint8_t Kind, uint8_t Size, Value *Pointer);
  void entered(Instruction &I, bool Again);
  void left(Instruction &I);
  uint16_t frame(Segment &S, Instruction &I);
  Constant *descriptor(Segment &S, size_t FirstSite);
  void shadow();
  void write(Segment &S, Constant *Descriptor, GlobalVariable *State, FunctionCallee Room);
  DebugLoc place(DebugLoc Of, DISubprogram *Shadow);

  Function &F;
  ScalarEvolution &SE;
  LoopInfo &Loops;
  /// Whether basic blocks are recorded, too.
  bool Blocks;
  const DataLayout &Layout;
  SmallVector<Segment, 32> Segments;
  SmallVector<Repeated, 4> Loopings;
  /// Instructions because of which other threads can go on: each gets a call of the run time before
  /// it.
  SmallVector<Instruction *, 8> Releases;
  bool Open = false;
  /// Whether nothing was met in this basic block that another part of the stream may belong to.
  bool Alone = true;
  Function *Shadow = nullptr;
  /// The entry of the basic block that is looked at: its segment, and its number there.
  std::pair<size_t, size_t> Begun;
  DenseMap<Value *, size_t> Sites;
};

bool isSeen(const Function &F) {
  return !F.isDeclaration() && !F.hasAvailableExternallyLinkage() && !F.hasFnAttribute(Attribute::Naked) &&
         !F.hasFnAttribute(Attribute::DisableSanitizerInstrumentation);
}

/// The segment that an access belongs to, with room for what it takes.
Segment &Pass::at(Instruction &I, size_t NewWords, size_t NewEntries) {
  if (Open) {
    Segment &S = Segments.back();
    if (S.Words.size() + NewWords > WORDS_MOST || S.Entries.size() + NewEntries > ENTRIES_MOST)
      Open = false;
  }
  if (!Open) {
    Segments.emplace_back();
    Segments.back().First = &I;
    Open = true;
  }
  Segments.back().Last = &I;
  return Segments.back();
}

uint16_t Pass::word(Segment &S, Instruction &I, Value *V) {
  for (size_t Index = 0; Index < S.Words.size(); Index++)
    if (S.Words[Index].Known == V)
      return Index;
  S.Words.push_back({&I, V});
  return S.Words.size() - 1;
}

/// An entry for an access; its address shares a word with an earlier one if they are a constant
/// apart.
Entry Pass::address(Segment &S, Instruction &I, uint8_t Kind, uint8_t Size, Value *Pointer) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Pointer->getType()), 0);
  Value *Base =
      Pointer->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  int64_t Displacement = Offset.getSExtValue();
  if (!isInt<31>(Displacement)) {
    Base = Pointer;
    Displacement = 0;
  }
  Entry Made{Kind, Size, 0, Displacement, nullptr, I.getDebugLoc()};
  auto *Global = dyn_cast<GlobalVariable>(Base);
  if (Global && Global->isDSOLocal() && !Global->isThreadLocal()) {
    Made.Word = FROM_HERE;
    Made.Global = Global;
    return Made;
  }
  for (size_t Index = 0; Index < S.Words.size(); Index++)
    if (S.Words[Index].Known == Base) {
      Made.Word = Index;
      return Made;
    }
  if (SE.isSCEVable(Base->getType())) {
    const SCEV *This = SE.getSCEV(Base);
    size_t From = S.Words.size() > COMPARED ? S.Words.size() - COMPARED : 0;
    for (size_t Index = From; Index < S.Words.size(); Index++) {
      Value *Other = S.Words[Index].Known;
      if (Other->getType() != Base->getType())
        continue;
      auto *Apart = dyn_cast<SCEVConstant>(SE.getMinusSCEV(This, SE.getSCEV(Other)));
      if (!Apart || Apart->getAPInt().getSignificantBits() > 31)
        continue;
      int64_t Sum = Apart->getAPInt().getSExtValue() + Displacement;
      if (!isInt<32>(Sum))
        continue;
      Made.Word = Index;
      Made.Displacement = Sum;
      return Made;
    }
  }
  Made.Word = word(S, I, Base);
  return Made;
}

void Pass::bytes(Instruction &I, uint8_t Kind, Value *Pointer, uint64_t Bytes) {
  // Copies of nothing touch nothing, and a segment without accesses has no descriptor.
  if (Bytes == 0 || Pointer->getType()->getPointerAddressSpace() != 0)
    return;
  Segment &S = at(I, 1, 1 + Bytes / 128);
  // Larger than a row's size can be (whole structures, vectors of many registers): in pieces.
  for (uint64_t Done = 0; Done < Bytes;) {
    uint64_t Piece = std::min<uint64_t>(Bytes - Done, Bytes > 255 ? 128 : 255);
    Entry Made = address(S, I, Kind, Piece, Pointer);
    Made.Displacement += Done;
    entry(S, Made);
    Done += Piece;
  }
}

void Pass::access(Instruction &I, uint8_t Kind, Value *Pointer, Type *Of) {
  TypeSize Bytes = Layout.getTypeStoreSize(Of);
  if (!Bytes.isScalable() && Bytes.getFixedValue() <= 128 * (ENTRIES_MOST / 2))
    bytes(I, Kind, Pointer, Bytes.getFixedValue());
}

/// `memcpy` and its kin; false if it stays or becomes a call.
bool Pass::copy(Instruction &I) {
  auto *Memory = cast<AnyMemIntrinsic>(&I);
  auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
  bool Inline = isa<MemCpyInlineInst, MemSetInlineInst>(I);
  if (Length && (Inline || Length->getZExtValue() <= INLINE_BYTES)) {
    uint64_t Bytes = std::min<uint64_t>(Length->getZExtValue(), 128 * (ENTRIES_MOST / 4));
    if (auto *Transfer = dyn_cast<AnyMemTransferInst>(Memory))
      bytes(I, Load, Transfer->getRawSource(), Bytes);
    bytes(I, Store, Memory->getRawDest(), Bytes);
    return true;
  }
  return false;
}

/// A vector's access with a mask: as one from its first active lane to its last.
bool Pass::masked(IntrinsicInst &I) {
  auto Lane = [](Type *T) { return cast<VectorType>(T); };
  switch (I.getIntrinsicID()) {
  case Intrinsic::masked_load:
    lanes(I, Load, I.getArgOperand(0), I.getArgOperand(2), Lane(I.getType()));
    return true;
  case Intrinsic::masked_store:
    lanes(I, Store, I.getArgOperand(1), I.getArgOperand(3), Lane(I.getArgOperand(0)->getType()));
    return true;
  case Intrinsic::masked_gather:
    lanes(I, Load, I.getArgOperand(0), I.getArgOperand(2), Lane(I.getType()));
    return true;
  case Intrinsic::masked_scatter:
    lanes(I, Store, I.getArgOperand(1), I.getArgOperand(3), Lane(I.getArgOperand(0)->getType()));
    return true;
  default:
    return false;
  }
}

void Pass::lanes(IntrinsicInst &I, uint8_t Kind, Value *Pointers, Value *Mask, Type *Of) {
  auto *Vector = dyn_cast<FixedVectorType>(Of);
  if (!Vector || Vector->getNumElements() > 32)
    return;
  unsigned Count = Vector->getNumElements();
  IRBuilder<> B(&I);
  Value *Bits = B.CreateZExt(B.CreateBitCast(Mask, B.getIntNTy(Count)), B.getInt64Ty());
  uint64_t Bytes = Layout.getTypeStoreSize(Vector->getElementType());
  bool Each = Pointers->getType()->isVectorTy();
  Segment &S = at(I, 1 + (Each ? Count : 1), 2 * Count);
  uint16_t Active = word(S, I, Bits);
  if (!Each) {
    entry(S, address(S, I, Kind, Bytes, Pointers));
    entry(S, {Lanes, 0, Active, Count, nullptr, I.getDebugLoc()});
    return;
  }
  for (unsigned Index = 0; Index < Count; Index++) {
    entry(S, {Kind, uint8_t(Bytes), word(S, I, B.CreateExtractElement(Pointers, Index)), 0, nullptr, I.getDebugLoc()});
    entry(S, {OneLane, 0, Active, Index, nullptr, I.getDebugLoc()});
  }
}

/// The address of the function's return address: the stack pointer at its first instruction.
uint16_t Pass::frame(Segment &S, Instruction &I) {
  IRBuilder<> B(&I);
  if (!S.Frame)
    S.Frame = B.CreateIntrinsic(Intrinsic::addressofreturnaddress, {B.getPtrTy()}, {});
  return word(S, I, S.Frame);
}

/// The function is entered, or entered again past functions that were left without a word
/// (unwinding, `longjmp`).
void Pass::entered(Instruction &I, bool Again) {
  Segment &S = at(I);
  IRBuilder<> B(&I);
  uint16_t Pointer = frame(S, I);
  DebugLoc Place = Again ? I.getDebugLoc() : DebugLoc();
  if (Again)
    entry(S, {Exit, 0, Pointer, 0, nullptr, Place});
  Value *Back = B.CreateIntrinsic(Intrinsic::returnaddress, {}, {B.getInt32(0)});
  entry(S, {Enter, 1, Pointer, 0, nullptr, Place});
  entry(S, {Operand, 0, word(S, I, Back), 0, nullptr, Place});
}

void Pass::left(Instruction &I) {
  Segment &S = at(I);
  entry(S, {Exit, 0, frame(S, I), 0, nullptr, I.getDebugLoc()});
}

void Pass::instruction(Instruction &I) {
  if (I.hasMetadata(LLVMContext::MD_nosanitize))
    return;
  if (auto *L = dyn_cast<LoadInst>(&I)) {
    // The order of these among other records matters.
    if (L->isAtomic())
      Alone = false;
    access(I, Load, L->getPointerOperand(), L->getType());
  } else if (auto *S = dyn_cast<StoreInst>(&I)) {
    // What was done before is to be seen before what another thread does because of it.
    if (S->isAtomic())
      releases(I);
    access(I, Store, S->getPointerOperand(), S->getValueOperand()->getType());
  } else if (auto *R = dyn_cast<AtomicRMWInst>(&I)) {
    releases(I);
    access(I, Atomic, R->getPointerOperand(), R->getType());
  } else if (auto *X = dyn_cast<AtomicCmpXchgInst>(&I)) {
    releases(I);
    access(I, Atomic, X->getPointerOperand(), X->getCompareOperand()->getType());
  } else if (isa<FenceInst>(I)) {
    releases(I);
  } else if (isa<AnyMemIntrinsic>(I)) {
    if (!copy(I))
      end();
  } else if (auto *N = dyn_cast<IntrinsicInst>(&I)) {
    masked(*N);
  } else if (isa<ReturnInst, ResumeInst>(I)) {
    if (!I.getParent()->getTerminatingMustTailCall())
      left(I);
  } else if (auto *C = dyn_cast<CallBase>(&I)) {
    if (C->isMustTailCall())
      left(I);
    end();
    if (C->isTerminator() || C->isMustTailCall())
      return;
    Instruction &Next = *C->getNextNonDebugInstruction();
    if (Blocks && !C->isInlineAsm() && !isa<UnreachableInst>(Next)) {
      Entry &Before = Segments[Begun.first].Entries[Begun.second];
      Before.Size = Calls;
      Before.Taken = C;
      begun(Next, C);
    }
    if (C->hasFnAttr(Attribute::ReturnsTwice))
      entered(Next, true);
  }
}

/// Where a basic block is in the source: of a loop's first block the line that the loop begins on,
/// and of one that goes back to it the line of the branch, which is that of the loop's condition.
DebugLoc Pass::lineOf(Instruction &I, uint8_t How) {
  BasicBlock &Block = *I.getParent();
  Loop *L = Loops.getLoopFor(&Block);
  DebugLoc Found;
  if (How & (TAKEN_LOOPS | FALLS_LOOPS))
    Found = Block.getTerminator()->getDebugLoc();
  else if (L && L->getHeader() == &Block)
    Found = L->getStartLoc();
  return Found ? Found : I.getDebugLoc();
}

/// A basic block begins, or what is behind a call in it: the call may lead to other blocks, so its
/// block ends there.
void Pass::begun(Instruction &I, Value *Self) {
  if (!Blocks)
    return;
  BasicBlock &Block = *I.getParent();
  Instruction *Last = Block.getTerminator();
  BasicBlock *Taken = nullptr;
  uint8_t How = Falls;
  auto GoesBack = [&](BasicBlock *To) {
    Loop *L = Loops.getLoopFor(To);
    return L && L->getHeader() == To && L->contains(&Block);
  };
  if (auto *B = dyn_cast<BranchInst>(Last)) {
    Taken = B->getSuccessor(0);
    How = B->isConditional() ? Conditional : Jump;
    if (B->isConditional() && GoesBack(B->getSuccessor(1)))
      How |= FALLS_LOOPS;
    if (GoesBack(Taken))
      How |= TAKEN_LOOPS;
  } else if (isa<SwitchInst, IndirectBrInst>(Last)) {
    How = Indirect;
  } else if (auto *Invoke = dyn_cast<InvokeInst>(Last)) {
    How = Calls;
    Taken = Invoke->getNormalDest();
  } else if (auto *Asm = dyn_cast<CallBrInst>(Last)) {
    How = Calls;
    Taken = Asm->getDefaultDest();
  } else if (isa<ReturnInst>(Last)) {
    How = Returns;
  }
  Segment &S = at(I);
  entry(S, {uint8_t(Kind::Block), How, FROM_ZERO, 0, nullptr, lineOf(I, How), Self, Taken});
  Begun = {Segments.size() - 1, S.Entries.size() - 1};
}

void Pass::block(BasicBlock &Block) {
  Open = false;
  Alone = true;
  size_t FirstSegment = Segments.size();
  SmallVector<Instruction *, 64> All;
  for (Instruction &I : Block)
    if (!isa<PHINode, AllocaInst, DbgInfoIntrinsic>(I))
      All.push_back(&I);
  if (Block.isEntryBlock()) {
    Instruction *Start = All.front();
    // Split in front of an alloca, and it would become one that is made at run time.
    SmallVector<AllocaInst *, 8> Late;
    for (auto At = Start->getIterator(); At != Block.end(); ++At)
      if (auto *A = dyn_cast<AllocaInst>(&*At); A && isa<ConstantInt>(A->getArraySize()))
        Late.push_back(A);
    for (AllocaInst *A : Late)
      A->moveBefore(Start);
    entered(*Start, false);
    begun(*Start, &Block);
  } else {
    begun(*Block.getFirstInsertionPt(), &Block);
    if (Block.isLandingPad())
      entered(*Block.getFirstInsertionPt(), true);
  }
  for (Instruction *I : All)
    instruction(*I);
  even(Block, FirstSegment);
}

/// Whether a basic block is a loop of which one block record can stand for many iterations.
void Pass::even(BasicBlock &Block, size_t FirstSegment) {
  Loop *L = Loops.getLoopFor(&Block);
  if (!Alone || Segments.size() != FirstSegment + 1 || !L || L->getNumBlocks() != 1)
    return;
  BasicBlock *Before = L->getLoopPredecessor();
  Segment &S = Segments.back();
  if (!Before || Loops.getLoopFor(Before) != L->getParentLoop() || !isa<BranchInst>(Before->getTerminator()) ||
      !isa<BranchInst>(Block.getTerminator()))
    return;
  // A PHI has a value for each edge, and one is added.
  if (llvm::count(successors(Before), &Block) != 1)
    return;
  if (S.Entries.empty() || S.Entries.size() > REPEATED_EACH || S.Words.size() * 2 + 1 > WORDS_MOST)
    return;
  for (Entry &E : S.Entries)
    if (E.Kind == Atomic || E.Kind == OneLane || E.Kind == Lanes || E.Kind == Enter || E.Kind == Exit)
      return;
  Instruction *Outside = Before->getTerminator();
  SCEVExpander Writer(SE, Layout, "reuselens");
  auto Known = [&](const SCEV *What) {
    return !isa<SCEVCouldNotCompute>(What) && SE.isLoopInvariant(What, L) && SE.getTypeSizeInBits(What->getType()) <= 64 &&
           Writer.isSafeToExpandAt(What, Outside);
  };
  const SCEV *Back = SE.getBackedgeTakenCount(L);
  unsigned Times = SE.getSmallConstantMaxTripCount(L);
  if (!Known(Back) || (Times != 0 && Times < REPEATED_LEAST))
    return;
  SmallVector<const SCEV *, 8> Steps;
  for (Word &W : S.Words) {
    const SCEV *Step = step(W.Known, L);
    if (!Step || !Known(Step))
      return;
    Steps.push_back(Step);
  }
  Repeated R{FirstSegment, L, {}, nullptr, bit_floor(REPEATED_MOST / S.Entries.size())};
  if (Times != 0)
    R.Most = std::min(R.Most, bit_ceil(uint64_t(Times)));
  // Written now, as long as what is known of the function holds.
  auto Written = [&](const SCEV *What) { return Writer.expandCodeFor(What, What->getType(), Outside->getIterator()); };
  R.Back = Written(Back);
  for (const SCEV *Step : Steps) {
    auto *Fixed = dyn_cast<SCEVConstant>(Step);
    bool Small = Fixed && Fixed->getAPInt().getSignificantBits() <= 32;
    R.Steps.push_back(Small ? Fixed->getValue() : Written(Step));
  }
  Loopings.push_back(std::move(R));
}

/// What an address moves by each time round a loop, if that is always the same.
const SCEV *Pass::step(Value *Address, Loop *L) {
  if (!Address->getType()->isPointerTy() || Layout.getIndexTypeSizeInBits(Address->getType()) != 64)
    return nullptr;
  const SCEV *Moves = SE.getSCEV(Address);
  if (SE.isLoopInvariant(Moves, L))
    return SE.getZero(Type::getInt64Ty(F.getContext()));
  auto *Evenly = dyn_cast<SCEVAddRecExpr>(Moves);
  return Evenly && Evenly->getLoop() == L && Evenly->isAffine() ? Evenly->getStepRecurrence(SE) : nullptr;
}

bool Pass::look() {
  bool Works = Blocks;
  for (Instruction &I : instructions(F))
    Works |= I.mayReadOrWriteMemory();
  if (!Works)
    return false;
  SmallVector<BasicBlock *, 32> All;
  for (BasicBlock &Block : F)
    All.push_back(&Block);
  for (BasicBlock *Block : All)
    block(*Block);
  return true;
}

/// Where the shadow says that an access is: in the shadow's own function, where it was in this one.
DebugLoc Pass::place(DebugLoc Of, DISubprogram *Shadow) {
  LLVMContext &Context = F.getContext();
  if (!Of)
    return DILocation::get(Context, F.getSubprogram()->getLine(), 0, Shadow);
  SmallVector<DILocation *, 4> Chain;
  for (DILocation *L = Of; L; L = L->getInlinedAt())
    Chain.push_back(L);
  DILocation *Made = DILocation::get(Context, Chain.back()->getLine(), Chain.back()->getColumn(), Shadow);
  for (DILocation *L : reverse(ArrayRef(Chain).drop_back()))
    Made = DILocation::getDistinct(Context, L->getLine(), L->getColumn(), L->getScope(), Made);
  return Made;
}

/// The function's shadow: a byte for each entry.
void Pass::shadow() {
  Module &M = *F.getParent();
  LLVMContext &Context = F.getContext();
  auto *Type = FunctionType::get(Type::getVoidTy(Context), false);
  Shadow = Function::Create(Type, GlobalValue::InternalLinkage, F.getName() + ".reuselens", M);
  Shadow->setSection("reuselens_sites");
  Shadow->setComdat(F.getComdat());
  Shadow->setAlignment(Align(1));
  for (auto Attribute : {Attribute::Naked, Attribute::NoInline, Attribute::NoUnwind, Attribute::NoCfCheck})
    Shadow->addFnAttr(Attribute);
  IRBuilder<> B(BasicBlock::Create(Context, "", Shadow));
  DISubprogram *Named = nullptr;
  if (DISubprogram *Real = F.getSubprogram()) {
    Named = MDNode::replaceWithDistinct(Real->clone());
    Named->replaceRetainedNodes(MDTuple::get(Context, {}));
    Shadow->setSubprogram(Named);
  }
  InlineAsm *Byte = InlineAsm::get(Type, "nop", "", /*hasSideEffects=*/true);
  // Inlined calls are told apart by their locations, which are made once each.
  DenseMap<DILocation *, DebugLoc> Made;
  size_t Site = 0;
  for (Segment &S : Segments)
    for (Entry &E : S.Entries) {
      Site++;
      // As a program counter is given: the one behind it.
      if (E.Self)
        Sites[E.Self] = Site;
      if (Named) {
        DebugLoc &Known = Made[E.Place.get()];
        if (!Known)
          Known = place(E.Place, Named);
        B.SetCurrentDebugLocation(Known);
      }
      B.CreateCall(Byte);
    }
  B.CreateUnreachable();
}

Constant *Pass::descriptor(Segment &S, size_t FirstSite) {
  Module &M = *F.getParent();
  LLVMContext &Context = F.getContext();
  Type *I8 = Type::getInt8Ty(Context), *I16 = Type::getInt16Ty(Context), *I32 = Type::getInt32Ty(Context);
  Type *I64 = Type::getInt64Ty(Context);
  auto *Each = StructType::get(Context, {I8, I8, I16, I32}, true);
  auto *All = ArrayType::get(Each, S.Entries.size());
  auto *Whole = StructType::get(Context, {I32, I16, I16, All}, true);
  auto *Made = new GlobalVariable(M, Whole, true, GlobalValue::PrivateLinkage, nullptr, "reuselens.note");
  Made->setSection("reuselens_notes");
  Made->setAlignment(Align(8));
  Made->setComdat(F.getComdat());
  // The distance from byte `Here` of the descriptor.
  auto From = [&](GlobalValue *To, int64_t Plus, uint64_t Here) {
    Constant *End = ConstantExpr::getAdd(ConstantExpr::getPtrToInt(To, I64), ConstantInt::get(I64, Plus - int64_t(Here)));
    return ConstantExpr::getTrunc(ConstantExpr::getSub(End, ConstantExpr::getPtrToInt(Made, I64)), I32);
  };
  SmallVector<Constant *, 16> Entries;
  for (Entry &E : S.Entries) {
    uint64_t Here = 8 + 8 * Entries.size();
    if (E.Taken) {
      E.Word = FROM_HERE;
      E.Global = Shadow;
      E.Displacement = Sites[E.Taken];
    }
    Constant *Displacement = E.Global ? From(E.Global, E.Displacement, Here + 4)
                                      : ConstantInt::get(I32, uint32_t(E.Displacement));
    Entries.push_back(ConstantStruct::get(Each, {ConstantInt::get(I8, E.Kind), ConstantInt::get(I8, E.Size),
                                                 ConstantInt::get(I16, E.Word), Displacement}));
  }
  Made->setInitializer(ConstantStruct::get(
      Whole, {From(Shadow, FirstSite, 0), ConstantInt::get(I16, std::max<uint64_t>(S.Words.size(), S.Least / 8 - (S.Least != 0))),
              ConstantInt::get(I16, S.Entries.size()), ConstantArray::get(All, Entries)}));
  return Made;
}

/// Writes the stores of a segment: takes room for the block record before the segment, stores each
/// word where it is known, and moves the cursor after the last access.
void Pass::write(Segment &S, Constant *Descriptor, GlobalVariable *State, FunctionCallee Room) {
  uint64_t Bytes = alignTo(std::max<uint64_t>(8 + 8 * std::max<size_t>(S.Words.size(), 1), S.Least), 16);
  IRBuilder<> B(S.First);
  Type *Pointer = B.getPtrTy();
  Value *Slot = B.CreateLoad(Pointer, B.CreateThreadLocalAddress(State));
  Value *End = B.CreateLoad(B.getInt64Ty(), Slot);
  Value *Low = B.CreateTrunc(End, B.getInt16Ty());
  // A block ends where the low bits are zero.
  Value *Full = Bytes == 16 ? B.CreateICmpEQ(Low, B.getInt16(0))
                            : B.CreateICmpUGT(B.CreateSub(Low, B.getInt16(1)), B.getInt16(BLOCK_BYTES - 1 - Bytes));
  BasicBlock *Head = S.First->getParent();
  MDNode *Rarely = MDBuilder(F.getContext()).createBranchWeights(1, 1 << 20);
  Instruction *Then = SplitBlockAndInsertIfThen(Full, S.First, false, Rarely);
  IRBuilder<> Slow(Then);
  Slow.SetCurrentDebugLocation(S.First->getDebugLoc());
  CallInst *Call = Slow.CreateCall(Room, {Slow.getInt64(Bytes)});
  Call->setCallingConv(CallingConv::PreserveMost);
  Value *NewEnd = Slow.CreateExtractValue(Call, 0);
  Value *NewSlot = Slow.CreateExtractValue(Call, 1);
  BasicBlock *Tail = S.First->getParent();
  IRBuilder<> T(Tail, Tail->begin());
  T.SetCurrentDebugLocation(S.First->getDebugLoc());
  PHINode *At = T.CreatePHI(B.getInt64Ty(), 2), *Through = T.CreatePHI(Pointer, 2);
  At->addIncoming(End, Head);
  At->addIncoming(NewEnd, Then->getParent());
  Through->addIncoming(Slot, Head);
  Through->addIncoming(NewSlot, Then->getParent());
  Value *Note = T.CreateIntToPtr(At, Pointer);
  auto Put = [&](IRBuilder<> &Before, Value *What, uint64_t Offset) {
    if (!What->getType()->isPointerTy())
      What = Before.CreateZExtOrTrunc(What, Before.getInt64Ty());
    Before.CreateAlignedStore(What, Before.CreateConstGEP1_64(Before.getInt8Ty(), Note, Offset), Align(8));
  };
  Put(T, Descriptor, 8);
  for (size_t Index = 0; Index < S.Words.size(); Index++) {
    IRBuilder<> W(S.Words[Index].At);
    Put(W, S.Words[Index].Known, Index == 0 ? 0 : 8 + 8 * Index);
  }
  IRBuilder<> L(S.Last);
  StoreInst *Done = L.CreateAlignedStore(L.CreateAdd(At, L.getInt64(Bytes)), Through, Align(8));
  // After the words, so that the reader sees complete block records only.
  Done->setAtomic(AtomicOrdering::Release);
}

/// What a value of a loop's body is, calculated once more at another place: so it need not be kept
/// until there.
Value *Pass::again(Value *V, Instruction *At, DenseMap<Value *, Value *> &Made) {
  auto *I = dyn_cast<Instruction>(V);
  bool Plain = I && I->getParent() == At->getParent()->getSinglePredecessor() &&
               isa<GetElementPtrInst, BinaryOperator, CastInst>(I) && !I->isIntDivRem();
  if (!Plain)
    return V;
  if (Value *Known = Made.lookup(V))
    return Known;
  Instruction *Copy = I->clone();
  for (Use &Operand : Copy->operands())
    Operand.set(again(Operand, At, Made));
  Copy->insertBefore(At);
  return Made[V] = Copy;
}

/// Changes a loop so that its segment writes a block record once in `Most` iterations, and after
/// the last one.
void Pass::repeat(Repeated &R) {
  Segment &S = Segments[R.Segment];
  BasicBlock *Body = R.Of->getHeader(), *Before = R.Of->getLoopPredecessor();
  Type *I64 = Type::getInt64Ty(F.getContext());
  // The first block record stands for the remainder of the iterations divided by `Most`, each later
  // one for `Most` iterations.
  IRBuilder<> B(Before->getTerminator());
  ConstantInt *Most = B.getInt64(R.Most);
  Value *Back = B.CreateZExtOrTrunc(R.Back, I64);
  Value *First = B.CreateAdd(B.CreateAnd(Back, B.getInt64(R.Most - 1)), B.getInt64(1));

  IRBuilder<> Top(Body, Body->begin());
  PHINode *Left = Top.CreatePHI(I64, 2), *Times = Top.CreatePHI(I64, 2);
  Instruction *Last = Body->getTerminator();
  IRBuilder<> End(Last);
  End.SetCurrentDebugLocation(S.Last->getDebugLoc());
  Value *Less = End.CreateSub(Left, End.getInt64(1));
  Value *Is = End.CreateICmpEQ(Less, End.getInt64(0));
  MDNode *Often = MDBuilder(F.getContext()).createBranchWeights(1, R.Most);
  Instruction *Then = SplitBlockAndInsertIfThen(Is, Last, false, Often);
  Then->setDebugLoc(S.Last->getDebugLoc());
  BasicBlock *Tail = Last->getParent();
  IRBuilder<> Rest(Tail, Tail->begin());
  PHINode *LeftNow = Rest.CreatePHI(I64, 2), *TimesNow = Rest.CreatePHI(I64, 2);
  LeftNow->addIncoming(Less, Body);
  LeftNow->addIncoming(Most, Then->getParent());
  TimesNow->addIncoming(Times, Body);
  TimesNow->addIncoming(Most, Then->getParent());
  for (auto [Phi, Start, Next] : {std::tuple(Left, First, LeftNow), std::tuple(Times, First, TimesNow)}) {
    Phi->addIncoming(Start, Before);
    Phi->addIncoming(Next, Tail);
  }

  DenseMap<Value *, Value *> Made;
  S.First = S.Last = Then;
  for (Word &W : S.Words)
    W = {Then, again(W.Known, Then, Made)};
  SmallVector<Entry, 16> Entries;
  Entries.push_back({Repetition::Times, 0, uint16_t(S.Words.size()), 0, nullptr, Then->getDebugLoc()});
  S.Words.push_back({Then, Times});
  size_t Each = S.Entries.size();
  for (Entry &E : S.Entries) {
    Entries.push_back(E);
    if (E.Word >= R.Steps.size())
      continue;
    Entry Moves{Step, 0, FROM_ZERO, 0, nullptr, E.Place};
    if (auto *Fixed = dyn_cast<ConstantInt>(R.Steps[E.Word]); Fixed && isInt<32>(Fixed->getSExtValue())) {
      Moves.Displacement = Fixed->getSExtValue();
      if (Moves.Displacement == 0)
        continue;
    } else {
      Moves.Word = word(S, *Then, R.Steps[E.Word]);
    }
    Entries.push_back(Moves);
  }
  S.Entries = std::move(Entries);
  S.Least = alignTo(R.Most * Each * REPEATED_BYTES, 16);
}

void Pass::write(GlobalVariable *State, FunctionCallee Room, FunctionCallee Order) {
  // Before the code of the block records: it must not come between taking a block record's room and
  // storing its words.
  for (Instruction *I : Releases)
    IRBuilder<>(I).CreateCall(Order);
  for (Repeated &R : Loopings)
    repeat(R);
  shadow();
  size_t Sites = 0;
  for (Segment &S : Segments) {
    Constant *Made = descriptor(S, Sites);
    Sites += S.Entries.size();
    write(S, Made, State, Room);
  }
  // It does more now than was known of it, and what it is called by is read from its frame.
  F.removeFnAttr(Attribute::Memory);
  F.removeFnAttr(Attribute::Speculatable);
  F.removeFnAttr(Attribute::AlwaysInline);
  F.addFnAttr(Attribute::NoInline);
  for (User *U : F.users())
    if (auto *C = dyn_cast<CallBase>(U))
      C->removeFnAttr(Attribute::Memory);
}

/// Copies that may become calls are calls: the linker sends those through the run time.
void callCopies(Function &F) {
  SmallVector<MemIntrinsic *, 8> All;
  for (Instruction &I : instructions(F))
    if (auto *M = dyn_cast<MemIntrinsic>(&I); M && !isa<MemCpyInlineInst, MemSetInlineInst>(M)) {
      auto *Length = dyn_cast<ConstantInt>(M->getLength());
      bool Plain = M->getDestAddressSpace() == 0 &&
                   (!isa<MemTransferInst>(M) || cast<MemTransferInst>(M)->getSourceAddressSpace() == 0);
      if (Plain && !(Length && Length->getZExtValue() <= INLINE_BYTES))
        All.push_back(M);
    }
  for (MemIntrinsic *M : All) {
    IRBuilder<> B(M);
    Type *P = B.getPtrTy(), *N = B.getInt64Ty();
    auto *Set = dyn_cast<MemSetInst>(M);
    const char *Name = Set ? "memset" : isa<MemMoveInst>(M) ? "memmove" : "memcpy";
    FunctionCallee To = F.getParent()->getOrInsertFunction(Name, P, P, Set ? B.getInt32Ty() : P, N);
    Value *Second = Set ? B.CreateZExt(Set->getValue(), B.getInt32Ty()) : cast<MemTransferInst>(M)->getRawSource();
    CallInst *Call = B.CreateCall(To, {M->getRawDest(), Second, B.CreateZExtOrTrunc(M->getLength(), N)});
    Call->addFnAttr(Attribute::NoBuiltin);
    M->eraseFromParent();
  }
}

struct Notes : PassInfoMixin<Notes> {
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Analyses) {
    LLVMContext &Context = M.getContext();
    Type *Pointer = PointerType::getUnqual(Context);
    if (M.getNamedValue("__reuselens_tls"))
      return PreservedAnalyses::all(); // seen before (compiled again at the link)
    auto *State = new GlobalVariable(M, Pointer, false, GlobalValue::ExternalLinkage, nullptr, "__reuselens_tls", nullptr,
                                     GlobalValue::InitialExecTLSModel);
    auto *Two = StructType::get(Context, {Type::getInt64Ty(Context), Pointer});
    FunctionCallee Room = M.getOrInsertFunction("__reuselens_room", Two, Type::getInt64Ty(Context));
    cast<Function>(Room.getCallee())->setCallingConv(CallingConv::PreserveMost);
    FunctionCallee Order = M.getOrInsertFunction("__reuselens_order", Type::getVoidTy(Context));
    cast<Function>(Order.getCallee())->setDoesNotThrow();
    bool Blocks = std::getenv("REUSELENS_BASIC_BLOCKS");
    if (Blocks)
      mark(M);
    auto &Functions = Analyses.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    SmallVector<Function *, 64> All;
    for (Function &F : M)
      if (isSeen(F))
        All.push_back(&F);
    for (Function *F : All) {
      callCopies(*F);
      Functions.invalidate(*F, PreservedAnalyses::none());
      Pass Seen(*F, Functions.getResult<ScalarEvolutionAnalysis>(*F), Functions.getResult<LoopAnalysis>(*F), Blocks);
      if (Seen.look())
        Seen.write(State, Room, Order);
      Functions.invalidate(*F, PreservedAnalyses::none());
    }
    constructor(M);
    return PreservedAnalyses::none();
  }

  /// Says in the program's file that its basic blocks can be seen.
  void mark(Module &M) {
    Constant *Text = ConstantDataArray::getString(M.getContext(), "REUSELENS_BASIC_BLOCKS");
    auto *Mark = new GlobalVariable(M, Text->getType(), true, GlobalValue::PrivateLinkage, Text, "reuselens.mark");
    Mark->setSection("reuselens_marks");
    appendToUsed(M, {Mark});
  }

  /// Tells the run time that the program, or a library, is there; once for all that is linked
  /// together.
  void constructor(Module &M) {
    LLVMContext &Context = M.getContext();
    auto *Type = FunctionType::get(Type::getVoidTy(Context), false);
    FunctionCallee Begin = M.getOrInsertFunction("__tsan_init", Type);
    auto *Made = Function::Create(Type, GlobalValue::LinkOnceODRLinkage, "reuselens.begin", M);
    Made->setVisibility(GlobalValue::HiddenVisibility);
    Made->setComdat(M.getOrInsertComdat("reuselens.begin"));
    Made->addFnAttr(Attribute::NoUnwind);
    IRBuilder<> B(BasicBlock::Create(Context, "", Made));
    B.CreateCall(Begin);
    B.CreateRetVoid();
    appendToGlobalCtors(M, Made, 0, Made);
  }
};

} // namespace

// flang has no assembler for the bytes of the shadows ready, unless it is told to.
extern "C" LLVM_ATTRIBUTE_WEAK void LLVMInitializeX86AsmParser();

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  if (LLVMInitializeX86AsmParser)
    LLVMInitializeX86AsmParser();
  return {LLVM_PLUGIN_API_VERSION, "reuselens", LLVM_VERSION_STRING, [](PassBuilder &Builder) {
            Builder.registerOptimizerLastEPCallback(
                [](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(Notes()); });
          }};
}
