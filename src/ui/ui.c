/* Finds embedded files and decompresses them in pieces. */
#include "ui/ui.h"

#include <stdlib.h>

#define ZLIB_CONST /* makes next_in a pointer to const */
#include <zlib.h>

#include "base/bug.h"
#include "base/memory.h"

struct UiReader {
    Str left; /* compressed bytes that are not read yet */
    bool inflates;
    bool is_finished;
    z_stream stream;
    char piece[];
};

enum {
    GZIP_WINDOW = 16 + MAX_WBITS
};

const UiFile *ui_find(Str address)
{
    for (uint32_t i = 0; i < ui_file_count; i++) {
        if (str_eq_c(address, ui_files[i].address)) {
            return &ui_files[i];
        }
    }
    return NULL;
}

UiReader *ui_reader_new(const UiFile *file, bool packed)
{
    size_t size = sizeof(UiReader) + (packed ? 0 : UI_PIECE_MAX);
    UiReader *reader = memory_new(size);
    reader->left = ui_packed(file);
    if (!packed) {
        reader->inflates = true;
        if (inflateInit2(&reader->stream, GZIP_WINDOW) != Z_OK) {
            memory_exhausted(1 << MAX_WBITS);
        }
        reader->stream.next_in = (const Bytef *)reader->left.data;
        reader->stream.avail_in = (uInt)reader->left.len;
    }
    return reader;
}

void ui_reader_free(UiReader *reader)
{
    if (reader != NULL && reader->inflates) {
        inflateEnd(&reader->stream);
    }
    free(reader);
}

static bool next_packed(UiReader *reader, Str *piece)
{
    size_t len = reader->left.len < UI_PIECE_MAX ? reader->left.len : UI_PIECE_MAX;
    *piece = str_slice(reader->left, 0, len);
    reader->left = str_from_offset(reader->left, len);
    return len > 0;
}

bool ui_reader_next(UiReader *reader, Str *piece)
{
    if (!reader->inflates) {
        return next_packed(reader, piece);
    }
    if (reader->is_finished) {
        return false;
    }
    reader->stream.next_out = (Bytef *)reader->piece;
    reader->stream.avail_out = UI_PIECE_MAX;
    int result = inflate(&reader->stream, Z_NO_FLUSH);
    BUG_IF(result != Z_OK && result != Z_STREAM_END); /* the data is embedded */
    reader->is_finished = result == Z_STREAM_END;
    *piece = str_from(reader->piece, UI_PIECE_MAX - reader->stream.avail_out);
    return piece->len > 0;
}
