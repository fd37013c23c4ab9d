/* The recording calls of the Fortran programs, doing nothing.
 *
 * A program that calls RecordData, RecordAccess and so on needs somebody to answer. Under reuselens
 * that is the recording library. Link this file instead to run the program on its own:
 *
 *     gcc -O2 -c programs/norecord/norecord.c
 *     gfortran -std=legacy -O2 programs/adi/adi.f norecord.o -o adi
 *
 * A Fortran compiler writes external names in lower case with one underscore after them, hands every
 * argument over by address, and adds the length of a character argument at the end. */

#include <stddef.h>

/* RecordData(BASE, NBYTES, NELEM): a structure of *nbytes bytes begins at base; an element of it
 * takes *nelem bytes. */
void recorddata_(const void *base, const int *nbytes, const int *nelem)
{
    (void)base, (void)nbytes, (void)nelem;
}

/* RecordNamedData('NAME', BASE, NBYTES, NELEM): the same, with the name that reports shall show. */
void recordnameddata_(const char *name, const void *base, const int *nbytes, const int *nelem,
                      size_t name_length)
{
    (void)name, (void)base, (void)nbytes, (void)nelem, (void)name_length;
}

/* RecordPartialData(BASE, ENTRY): the structure at base is from now on also entered at entry. */
void recordpartialdata_(const void *base, const void *entry)
{
    (void)base, (void)entry;
}

/* RecordAccess(BASE, ELEMENT): the program reads or writes this element of the structure entered at
 * base. */
void recordaccess_(const void *base, const void *element)
{
    (void)base, (void)element;
}

/* RecordStatement(): the statement is complete. In statement mode, an element that the statement
 * names twice counts once. */
void recordstatement_(void)
{
}
