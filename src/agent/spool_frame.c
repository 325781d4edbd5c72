#include "agent/spool_frame.h"

#include <inttypes.h>

#include "base/bug.h"
#include "base/crc32c.h"

typedef enum EntryKind {
    ENTRY_START = 1,
    ENTRY_RECORD,
    ENTRY_DROP,
    ENTRY_TRIM,
} EntryKind;

enum {
    ENTRY_HEAD = 1 + 8, /* entry type, sequence number */
    /* then record kind, lost count, lengths of key and body */
    RECORD_HEAD = ENTRY_HEAD + 1 + 8 + 4 + 4,
};

/* --- Writing --------------------------------------------------------------------------------- */

static void put_number(Buf *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        buf_put_char(out, (char)(number >> (8 * i)));
    }
}

static void put_entry(Buf *content, EntryKind kind, uint64_t sequence)
{
    buf_put_char(content, (char)kind);
    put_number(content, sequence, 8);
}

static void spool_put_start(Buf *content, uint64_t last_sequence)
{
    put_entry(content, ENTRY_START, last_sequence);
}

void spool_put_record(Buf *content, const Record *record)
{
    put_entry(content, ENTRY_RECORD, record->sequence);
    buf_put_char(content, (char)record->kind);
    put_number(content, record->lost, 8);
    put_number(content, record->key.len, 4);
    put_number(content, record->body.len, 4);
    buf_put(content, record->key);
    buf_put(content, record->body);
}

void spool_put_drop(Buf *content, uint64_t sequence)
{
    put_entry(content, ENTRY_DROP, sequence);
}

void spool_put_trim(Buf *content, uint64_t sequence)
{
    put_entry(content, ENTRY_TRIM, sequence);
}

void spool_put_frame(Buf *out, uint64_t epoch, Str content)
{
    BUG_IF(content.len > SPOOL_CONTENT_MAX);
    size_t start = out->len;
    put_number(out, 0, 4);
    put_number(out, epoch, 8);
    put_number(out, content.len, 4);
    buf_put(out, content);
    BUG_IF(out->overflow);
    uint32_t crc = crc32c(str_from_offset(buf_str(out), start + 4));
    for (unsigned i = 0; i < 4; i++) {
        out->data[start + i] = (char)(crc >> (8 * i));
    }
}

/* Size of a record in the file, without the frame header. */
static size_t spool_record_size(const Record *record)
{
    return RECORD_HEAD + record->key.len + record->body.len;
}

/* --- Reading --------------------------------------------------------------------------------- */

static uint64_t number_at(Str text, size_t at, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number |= (uint64_t)(unsigned char)text.data[at + i] << (8 * i);
    }
    return number;
}

/* Whether there is a complete frame at `at`. */
static bool frame_at(Str text, size_t at, uint64_t epoch, Str *content)
{
    if (text.len - at < SPOOL_FRAME_HEAD || number_at(text, at + 4, 8) != epoch) {
        return false;
    }
    uint64_t len = number_at(text, at + 12, 4);
    if (len == 0 || len > SPOOL_CONTENT_MAX || len > text.len - at - SPOOL_FRAME_HEAD) {
        return false;
    }
    size_t end = at + SPOOL_FRAME_HEAD + (size_t)len;
    *content = str_slice(text, at + SPOOL_FRAME_HEAD, end);
    return crc32c(str_slice(text, at + 4, end)) == number_at(text, at, 4);
}

typedef struct Reader {
    Arena *arena;
    SpoolImage *image;
    uint64_t last_record; /* sequence numbers must increase */
    bool started;
} Reader;

static void drop_record(SpoolRecords *records, uint64_t sequence)
{
    for (uint32_t i = records->len; i-- > 0 && records->items[i].sequence >= sequence;) {
        if (records->items[i].sequence == sequence) {
            memmove(&records->items[i], &records->items[i + 1],
                    (records->len - i - 1) * sizeof *records->items);
            records->len--;
            return;
        }
    }
}

static void trim_records(SpoolRecords *records, uint64_t sequence)
{
    uint32_t dropped = 0;
    while (dropped < records->len && records->items[dropped].sequence <= sequence) {
        dropped++;
    }
    if (dropped > 0) {
        records->len -= dropped;
        memmove(records->items, records->items + dropped, records->len * sizeof *records->items);
    }
}

/* Reads a record, starting after its sequence number. */
static bool read_record(Reader *reader, Str content, size_t at, uint64_t sequence, size_t *end)
{
    size_t start = at + RECORD_HEAD;
    if (content.len < start) {
        return false;
    }
    uint64_t kind = number_at(content, at + 9, 1), lost = number_at(content, at + 10, 8);
    uint64_t key_len = number_at(content, at + 18, 4), body_len = number_at(content, at + 22, 4);
    if (key_len > SESSION_RECORD_KEY_MAX || body_len > SESSION_RECORD_MAX ||
        key_len + body_len > content.len - start || sequence <= reader->last_record) {
        return false;
    }
    *end = start + (size_t)(key_len + body_len);
    Record record = { sequence, (RecordKind)kind,
                      str_slice(content, start, start + (size_t)key_len),
                      str_slice(content, start + (size_t)key_len, *end), lost };
    VEC_PUSH(reader->arena, &reader->image->records, record);
    reader->last_record = sequence;
    if (sequence > reader->image->last_sequence) {
        reader->image->last_sequence = sequence;
    }
    return true;
}

static bool read_entry(Reader *reader, Str content, size_t *at)
{
    if (content.len - *at < 9) {
        return false;
    }
    SpoolImage *image = reader->image;
    unsigned kind = (unsigned char)content.data[*at];
    uint64_t sequence = number_at(content, *at + 1, 8);
    if (kind == ENTRY_RECORD && reader->started) {
        return read_record(reader, content, *at, sequence, at);
    }
    *at += 9;
    if (kind == ENTRY_START && !reader->started) {
        reader->started = true; /* this frame's records are older: see read_frame() */
        return true;
    }
    if (!reader->started || (sequence > image->last_sequence && image->damaged.len == 0)) {
        return false;
    }
    if (sequence > image->last_sequence) { /* the record is in the damaged part */
        image->last_sequence = sequence;
    }
    if (kind == ENTRY_DROP) {
        drop_record(&image->records, sequence);
    } else if (kind == ENTRY_TRIM) {
        trim_records(&image->records, sequence);
    }
    return kind == ENTRY_DROP || kind == ENTRY_TRIM;
}

static bool read_frame(Reader *reader, Str content, size_t offset, Error *err)
{
    bool is_first = !reader->started;
    uint64_t highest = is_first && content.len >= 9 ? number_at(content, 1, 8) : 0;
    size_t at = 0;
    while (at < content.len) {
        if (!read_entry(reader, content, &at)) {
            return error_set(err, ERROR_INVALID, "invalid entry at byte %zu",
                             offset + SPOOL_FRAME_HEAD + at);
        }
    }
    if (is_first) {
        if (reader->image->last_sequence > highest) {
            return error_set(err, ERROR_INVALID, "invalid frame at byte %zu", offset);
        }
        reader->image->last_sequence = highest;
    }
    return true;
}

/* Whether there is a frame anywhere after `from`: then the damage is not a torn tail. */
static bool has_frame_after(Str text, size_t from, uint64_t epoch, size_t *offset)
{
    Str content;
    for (size_t at = from + 1; at + SPOOL_FRAME_HEAD <= text.len; at++) {
        if (frame_at(text, at, epoch, &content)) {
            *offset = at;
            return true;
        }
    }
    return false;
}

static void record_damage(Reader *reader, size_t from, size_t to)
{
    SpoolSpan span = { from, to };
    VEC_PUSH(reader->arena, &reader->image->damaged, span);
}

/* The first frame has only the start entry; the second is at a fixed offset and has the epoch
 * too. */
static uint64_t epoch_of(Str text)
{
    const size_t offsets[] = { SPOOL_MAGIC.len, SPOOL_MAGIC.len + SPOOL_FRAME_HEAD + ENTRY_HEAD };
    Str content;
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        uint64_t epoch =
            text.len >= offsets[i] + SPOOL_FRAME_HEAD ? number_at(text, offsets[i] + 4, 8) : 0;
        if (epoch != 0 && frame_at(text, offsets[i], epoch, &content)) {
            return epoch;
        }
    }
    return text.len >= offsets[0] + SPOOL_FRAME_HEAD ? number_at(text, offsets[0] + 4, 8) : 0;
}

/* Finds the first frame and its epoch. */
static bool find_start(Reader *reader, Str text, size_t *at, Error *err)
{
    SpoolImage *image = reader->image;
    Str content;
    *at = SPOOL_MAGIC.len;
    image->epoch = epoch_of(text);
    bool is_whole = image->epoch != 0 && frame_at(text, *at, image->epoch, &content);
    if (!str_starts(text, SPOOL_MAGIC)) {
        if (!is_whole) {
            return error_set(err, ERROR_INVALID,
                             "not a spool, or a spool of a different eden version");
        }
        record_damage(reader, 0, *at);
    }
    if (is_whole) {
        return true;
    }
    size_t later;
    if (image->epoch == 0 || !has_frame_after(text, *at, image->epoch, &later)) {
        return error_set(err, ERROR_INVALID, "the beginning is damaged");
    }
    record_damage(reader, *at, later);
    reader->started = true;
    *at = later;
    return true;
}

static bool read_frames(Reader *reader, Str text, size_t *at, Error *err)
{
    for (Str content; *at < text.len;) {
        size_t later;
        if (frame_at(text, *at, reader->image->epoch, &content)) {
            if (!read_frame(reader, content, *at, err)) {
                return false;
            }
            *at += SPOOL_FRAME_HEAD + content.len;
        } else if (has_frame_after(text, *at, reader->image->epoch, &later)) {
            record_damage(reader, *at, later);
            *at = later;
        } else {
            break;
        }
    }
    return true;
}

bool spool_read(Arena *arena, Str text, SpoolImage *out, Error *err)
{
    *out = (SpoolImage){ 0 };
    Reader reader = { .arena = arena, .image = out };
    size_t at, live = 0;
    if (!find_start(&reader, text, &at, err) || !read_frames(&reader, text, &at, err)) {
        return false;
    }
    for (uint32_t i = 0; i < out->records.len; i++) {
        live += spool_record_size(&out->records.items[i]);
    }
    if (live > SPOOL_LIVE_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d bytes are pending", SPOOL_LIVE_MAX);
    }
    out->complete_bytes = at;
    return true;
}

void spool_print(const SpoolImage *image, Buf *out)
{
    AUTO_CLEAR(Buf) content = buf_make(SPOOL_CONTENT_MAX);
    spool_put_start(&content, image->last_sequence);
    buf_put(out, SPOOL_MAGIC);
    spool_put_frame(out, image->epoch, buf_str(&content));
    for (uint32_t i = 0; i < image->records.len; i++) {
        buf_reset(&content);
        spool_put_record(&content, &image->records.items[i]);
        BUG_IF(content.overflow);
        spool_put_frame(out, image->epoch, buf_str(&content));
    }
}
