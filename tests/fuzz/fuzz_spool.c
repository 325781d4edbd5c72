/* Input: a spool file. Invariants: it is read or rejected, and what was read stays the same when it
 * is written again, and without its torn tail. The input is parsed as it is, and again as the
 * contents of frames, one per line, with valid checksums, which random input would never match. */
#include "agent/spool_frame.h"
#include "base/bug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const SpoolImage *a, const SpoolImage *b)
{
    BUG_IF(a->epoch != b->epoch || a->last_sequence != b->last_sequence);
    BUG_IF(a->records.len != b->records.len);
    for (uint32_t i = 0; i < a->records.len; i++) {
        const Record *one = &a->records.items[i], *two = &b->records.items[i];
        BUG_IF(one->sequence != two->sequence || one->kind != two->kind || one->lost != two->lost);
        BUG_IF(!str_eq(one->key, two->key) || !str_eq(one->body, two->body));
        BUG_IF(one->sequence > a->last_sequence);
        BUG_IF(i > 0 && one->sequence <= a->records.items[i - 1].sequence);
    }
}

static void read_spool(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SpoolImage image, cut, again;
    Error err;
    if (!spool_read(&arena, text, &image, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    BUG_IF(image.complete_bytes > text.len);
    bool ok = spool_read(&arena, str_slice(text, 0, image.complete_bytes), &cut, &err);
    BUG_IF(!ok || cut.complete_bytes != image.complete_bytes);
    check_same(&image, &cut);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    spool_print(&image, &out);
    ok = spool_read(&arena, buf_str(&out), &again, &err);
    BUG_IF(!ok || again.complete_bytes != out.len);
    check_same(&image, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    read_spool(text);
    AUTO_CLEAR(Buf) framed = buf_make(BUF_UNLIMITED);
    buf_put(&framed, SPOOL_MAGIC);
    for (Str line; str_split_next(&text, '\n', &line);) {
        if (line.len > 0) {
            spool_put_frame(&framed, 7, line);
        }
    }
    read_spool(buf_str(&framed));
    return 0;
}
