// Works in one thread while another writes over the memory that the program shares with reuselens. `scribble SEED [BLOWS]`:
// the seed says what is written, where, how often, when, and how the program ends. It prints nothing if it ends by itself.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As `crates/wire/src/layout.rs` has it. Where that changes, blows fall beside what they are meant for, which is no error.
enum {
  SLOT = 128,
  STAGE = 2048,
  THREADS = 8,  // Slots that this program can use are among these.
  SLOTS_AT = 8192,
  STAGES_AT = SLOTS_AT + 1024 * SLOT,
  BLOCK = 1 << 16,
  BLOCKS_AT = 35 * BLOCK,
  BLOCKS = 2176,
  DICTIONARY_AT = BLOCKS_AT + BLOCKS * BLOCK,
};

// What this file does with the segment is its own matter: hooks in it would be hit by what it writes.
#define UNSEEN __attribute__((no_sanitize("thread"), noinline))

static uint64_t state;
static volatile int done;
static volatile uint64_t sum;

// splitmix64
UNSEEN static uint64_t chance(void) {
  uint64_t word = state += 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

UNSEEN static uint64_t below(uint64_t end) { return chance() % end; }

// Where the segment is, and how many bytes of it there are.
UNSEEN static volatile uint64_t *find(uint64_t *bytes) {
  static char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  volatile uint64_t *found = NULL;
  while (maps && !found && fgets(line, sizeof line, maps)) {
    unsigned long low, high, offset;
    if (strstr(line, "memfd:reuselens") && sscanf(line, "%lx-%lx %*s %lx", &low, &high, &offset) == 3 && offset == 0) {
      found = (volatile uint64_t *)low;
      *bytes = high - low;
    }
  }
  if (maps) fclose(maps);
  return found;
}

UNSEEN static uint64_t place(unsigned kind) {
  switch (kind) {
    case 0: return below(SLOTS_AT);                                  // the header, its control and its queue
    case 1: return 768 + below(2048);                                // most of the control and the queue
    case 2: return SLOTS_AT + below(THREADS * SLOT);                 // slots
    case 3: return STAGES_AT + below(THREADS * STAGE);               // what waits to be sorted
    case 4: return BLOCKS_AT + below(80) * BLOCK + below(576);       // headers of blocks
    case 5: return BLOCKS_AT + below(80 * (uint64_t)BLOCK);          // records
    case 6: return DICTIONARY_AT + below(1 << 16);                   // descriptions of notes
    default: return below(DICTIONARY_AT);
  }
}

UNSEEN static uint64_t value(unsigned kind) {
  switch (kind) {
    case 0: return chance();
    case 1: return ~0ull;
    case 2: return 0;
    case 3: return below(8);
    case 4: return below(8) | below(8) << 32;
    default: return ~0ull - below(8);
  }
}

// One blow: up to so many words from one place on.
UNSEEN static void strike(volatile uint64_t *segment, uint64_t bytes, unsigned where, unsigned what) {
  uint64_t at = place(where) / 8, words = 1 + below(1 << below(8));
  for (uint64_t word = 0; word < words && (at + word) * 8 < bytes; word++) segment[at + word] = value(what);
}

static void work(unsigned rounds) {
  for (unsigned round = 0; round < rounds; round++) {
    uint64_t *list = malloc(4096 * sizeof *list);
    for (int index = 0; index < 4096; index++) list[index] = index + round;
    for (int index = 0; index < 4096; index++) sum += list[4095 - index];
    free(list);
  }
}

static void *worker(void *rounds) {
  work((unsigned)(uintptr_t)rounds);
  done++;
  return NULL;
}

UNSEEN int main(int count, char **words) {
  if (count < 2) return fprintf(stderr, "usage: scribble SEED [BLOWS]\n"), 2;
  state = strtoull(words[1], NULL, 10);
  uint64_t blows = count > 2 ? strtoull(words[2], NULL, 10) : 1 + below(1 << below(12)), bytes = 0;
  unsigned where = below(8), what = below(6), last = below(2), ending = below(3), rounds = 60 + below(60);
  volatile uint64_t *segment = find(&bytes);
  if (!segment) return fprintf(stderr, "no segment\n"), 3;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, (void *)(uintptr_t)rounds);
  for (uint64_t blow = 0; !last && blow < blows && !done; blow++) {
    strike(segment, bytes, where, what);
    usleep(below(200));
  }
  if (ending != 0) pthread_join(thread, NULL);
  // What nobody puts right any more.
  for (uint64_t blow = 0; last && blow < blows; blow++) strike(segment, bytes, where, what);
  if (ending != 2) _exit(0);
  return 0;
}
