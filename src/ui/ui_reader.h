/* A file of the pages piece by piece: who takes it slowly keeps one piece, not all of it. */
#pragma once

#include "ui/ui.h"

enum {
    UI_PIECE_MAX = 32 << 10
};

typedef struct UiReader UiReader;

/* `packed`: as gzip has it. */
UiReader *ui_reader_new(const UiFile *file, bool packed);
void ui_reader_free(UiReader *reader); /* NULL is fine */
DEFINE_AUTO(UiReader, ui_reader_free)

/* False: that was all. The piece is valid until the next call. */
bool ui_reader_next(UiReader *reader, Str *piece);
