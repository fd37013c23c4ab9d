/* Reads what the program writes to a file descriptor, to compare it with what it should write. */
#pragma once
#include <cstdio>
#include <string>
#include <unistd.h>

class Captured {
  public:
    /* From now on, what goes to `descriptor` (1 or 2) goes to a temporary file. */
    explicit Captured(int descriptor)
        : descriptor(descriptor), before(dup(descriptor)), file(tmpfile())
    {
        fflush(nullptr);
        dup2(fileno(file), descriptor);
    }

    /* What was written so far. The descriptor is again what it was before. */
    std::string end()
    {
        fflush(nullptr);
        dup2(before, descriptor);
        close(before);
        std::string text;
        rewind(file);
        for (int c; (c = fgetc(file)) != EOF;)
            text += (char)c;
        fclose(file);
        return text;
    }

  private:
    int descriptor, before;
    FILE *file;
};
