/* The program's own names for its data (Ding & Zhong 2001, section 2.3).
 *
 * Compile with `reuselens cc --rl-names` (nothing but these calls is recorded) or with `reuselens
 * cc` (the compiler's hooks record the accesses, and these calls only give names).
 *
 * Without reuselens, define REUSELENS_OFF and every call disappears; its arguments are not
 * evaluated.
 * With a compiler that knows nothing of reuselens, link reuselens.o, which lies beside this folder.
 */
#ifndef REUSELENS_H
#define REUSELENS_H

#include <stddef.h>

#ifdef REUSELENS_OFF
/* Arguments are not evaluated, but looked at: what only the calls use is no unused variable. */
#define REUSELENS_SKIP(arguments) (0 ? (void)(arguments) : (void)0)
#define RecordData(base, total_bytes, element_bytes) \
    REUSELENS_SKIP(((void)(base), (void)(total_bytes), (void)(element_bytes)))
#define RecordNamedData(name, base, total_bytes, element_bytes) \
    REUSELENS_SKIP(((void)(name), (void)(base), (void)(total_bytes), (void)(element_bytes)))
#define RecordPartialData(base, entry) REUSELENS_SKIP(((void)(base), (void)(entry)))
#define RecordAccess(base, element) REUSELENS_SKIP(((void)(base), (void)(element)))
#define RecordStatement() ((void)0)
#define RecordArray(array) REUSELENS_SKIP((array))
#define reuselens_region_begin(name) REUSELENS_SKIP((name))
#define reuselens_region_end() ((void)0)
#else

#ifdef __cplusplus
extern "C" {
#endif

/* A data structure is made: its first byte, its size, and the size of its elements, in bytes. */
void RecordData(const volatile void *base, size_t total_bytes, size_t element_bytes);

/* The same, with a name for the reports. */
void RecordNamedData(const char *name, const volatile void *base, size_t total_bytes,
                     size_t element_bytes);

/* Another address by which the structure that begins at `base` is entered: a slice, an argument.
 */
void RecordPartialData(const volatile void *base, const volatile void *entry);

/* An access to the element at `element` of the structure that is entered at `base`. */
void RecordAccess(const volatile void *base, const volatile void *element);

/* A statement begins: in statement mode its accesses to one element count once. */
void RecordStatement(void);

/* RecordNamedData for an array variable, by its own name. */
#define RecordArray(array) RecordNamedData(#array, (array), sizeof(array), sizeof((array)[0]))

/* A region begins, and the one begun last ends, on the calling thread: with --regions (or
 * --region NAME) only accesses inside regions are recorded; otherwise nothing happens. Regions
 * may be nested. These two need nothing to be linked: in a program without reuselens they are
 * an instruction that does nothing, by which a program that is rewritten while it runs is
 * understood. The name must stay where it is (a literal does). */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
void reuselens_mark_region_begin(const char *name, size_t length) __attribute__((weak));
void reuselens_mark_region_end(void) __attribute__((weak));

static __inline__ void reuselens_region_begin(const char *name) {
    if (reuselens_mark_region_begin)
        reuselens_mark_region_begin(name, 0);
    else
        __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'r', 'l', 'r', 'B'" : : "D"(name), "S"((size_t)0) : "memory");
}

static __inline__ void reuselens_region_end(void) {
    if (reuselens_mark_region_end)
        reuselens_mark_region_end();
    else
        __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'r', 'l', 'r', 'E'" : : : "memory");
}
#else
static void reuselens_region_begin(const char *name) { (void)name; }
static void reuselens_region_end(void) {}
#endif

#ifdef __cplusplus
}
#endif
#endif /* REUSELENS_OFF */
#endif /* REUSELENS_H */
