/* Keeps the unread part of the file in a buffer. An incomplete last line is read again later,
 * because the writer may replace it. */
#include "fleet/log_lines.h"

enum {
    READ_BYTES = 256 << 10,
};

void log_lines_clear(LogLines *lines)
{
    file_reader_close(lines->file);
    buf_clear(&lines->chunk);
}

bool log_lines_seek(LogLines *lines, int64_t offset, Error *err)
{
    buf_reset(&lines->chunk);
    lines->used = 0;
    lines->offset = offset;
    return file_reader_seek(lines->file, offset, err);
}

bool log_lines_next(LogLines *lines, int64_t until, Str *line, Error *err)
{
    size_t searched = lines->used, end, received;
    *line = (Str){ 0 };
    while ((end = str_find(buf_str(&lines->chunk), STR("\n"), searched)) == STR_NOT_FOUND) {
        if (lines->used > 0) {
            memmove(lines->chunk.data, lines->chunk.data + lines->used,
                    lines->chunk.len - lines->used);
            lines->chunk.len -= lines->used;
            lines->used = 0;
        }
        searched = lines->chunk.len;
        (void)buf_reserve(&lines->chunk, READ_BYTES);
        if (!file_reader_next(lines->file, lines->chunk.data + searched, READ_BYTES, &received,
                              err)) {
            return false;
        }
        if (received == 0) {
            /* the bytes after the last line may be replaced */
            return searched == 0 || log_lines_seek(lines, lines->offset, err);
        }
        lines->chunk.len += received;
    }
    if (lines->offset + (int64_t)(end + 1 - lines->used) > until) {
        return log_lines_seek(lines, lines->offset, err);
    }
    *line = str_slice(buf_str(&lines->chunk), lines->used, end);
    lines->offset += (int64_t)(end + 1 - lines->used);
    lines->used = end + 1;
    return true;
}

bool log_line_is_torn(Str line)
{
    return line.len > 0 && memchr(line.data, '\0', line.len) != NULL;
}
