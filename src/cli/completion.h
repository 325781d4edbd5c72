/* Completion scripts for shells, from the rows. What depends on more than commands and options
 * (the names that `explain` knows) the script asks the program for. */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "cli/command.h"

typedef struct Shell {
    const char *name;           /* NULL ends the table */
    void (*write)(Buf *script); /* appends the script */
} Shell;

extern const Shell shells[];

void completion_write_bash(Buf *out);
void completion_write_zsh(Buf *out);
void completion_write_fish(Buf *out);

/* "a|b|c" as "a b c". */
void completion_put_choices(const char *choices, Buf *out);
/* The commands' names, with spaces between them. */
void completion_put_commands(Buf *out);
/* What `eden complete` calls live names of this kind; NULL for a kind that has none. */
const char *completion_live(WordKind word);
/* All words of a kind that the program itself knows, with spaces between them; false: it has none. */
bool completion_put_words(WordKind word, Buf *out);
