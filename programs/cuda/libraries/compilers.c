/* What NVRTC and nvJitLink are to a program, as far as this tests it: each function says in its
 * result which one it is. nvJitLink takes PTX, and code to be optimised (3; 4 in a fat binary
 * of one image), of which it makes PTX if it is asked to; its machine code is of no use. */
#include <stdlib.h>
#include <string.h>

int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    *bytes = program ? strlen(program) + 1 : 0;
    return 0;
}

int nvrtcGetPTX(void *program, char *text)
{
    strcpy(text, program);
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    *bytes = program ? 13 : 0;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *text)
{
    strcpy(text, program ? "machine code" : "");
    return 0;
}

enum { OPTIONS = 1, INCOMPLETE = 2 };
/* Bytes of the heads of a fat binary and its image. */
enum { HEADS = 16 + 64 };

struct link {
    int makes_ptx, is_complete;
    char text[4096];
};

int nvJitLinkCreate(struct link **link, unsigned count, const char **options)
{
    *link = calloc(1, sizeof **link);
    for (unsigned i = 0; i < count; i++)
        (*link)->makes_ptx |= strcmp(options[i], "-ptx") == 0;
    return count == 0 ? OPTIONS : 0;
}

int nvJitLinkDestroy(struct link **link)
{
    free(*link);
    *link = NULL;
    return 0;
}

int nvJitLinkAddData(struct link *link, int kind, const char *data, size_t bytes, const char *name)
{
    (void)name;
    if (kind == 3)
        strncat(link->text, data, bytes);
    if (kind == 4)
        strcat(link->text, data + HEADS);
    if (kind == 2 && data[bytes - 1] != 0)
        return 12;
    return kind >= 2 && kind <= 4 ? 0 : 8;
}

int nvJitLinkAddFile(struct link *link, int kind, const char *name)
{
    (void)link;
    (void)kind;
    (void)name;
    return 8;
}

int nvJitLinkComplete(struct link *link)
{
    link->is_complete = 1;
    return 0;
}

int nvJitLinkGetLinkedCubinSize(struct link *link, size_t *bytes)
{
    *bytes = 13;
    return link->is_complete ? 0 : INCOMPLETE;
}

int nvJitLinkGetLinkedCubin(struct link *link, char *data)
{
    strcpy(data, "machine code");
    return link->is_complete ? 0 : INCOMPLETE;
}

int nvJitLinkGetLinkedPtxSize(struct link *link, size_t *bytes)
{
    *bytes = strlen(link->text) + 1;
    return link->makes_ptx ? 0 : INCOMPLETE;
}

int nvJitLinkGetLinkedPtx(struct link *link, char *text)
{
    strcpy(text, link->text);
    return link->makes_ptx ? 0 : INCOMPLETE;
}

/* The name that the headers of a version give it. */
int __nvJitLinkCreate_13_0(struct link **link, unsigned count, const char **options)
{
    return nvJitLinkCreate(link, count, options);
}
