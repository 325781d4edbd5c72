/* The entry point of the one binary: hands argv to cli/. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        printf("eden %s\n", EDEN_VERSION);
        return 0;
    }
    bool asked = argc == 2 && strcmp(argv[1], "help") == 0;
    fprintf(asked ? stdout : stderr, "usage: eden help|version\n");
    return asked ? 0 : 64;
}
