/* Input: a store dump. The first byte selects the form: as is, or lines that become records with
 * generated lengths and digests, which random input never matches. Invariants: the result does not
 * depend on the chunk size, and an accepted dump can be loaded into a store and dumped again
 * unchanged. */
#include "base/bug.h"
#include "store/dump.h"
#include "store/dump_format.h"
#include "store/dump_reader.h"
#include "store/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- Generating ------------------------------------------------------------------------------ */

/* One "KEY=VALUE" per line; "@KEY=VALUE" has a lease. */
static void put_line(Buf *out, Str line, int64_t *count)
{
    bool is_leased = str_starts(line, STR("@"));
    line = str_from_offset(line, is_leased);
    size_t mark = str_find(line, STR("="), 0);
    Str key = str_slice(line, 0, mark == STR_NOT_FOUND ? line.len : mark);
    Str value = mark == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(line, mark + 1);
    buf_put_char(out, is_leased ? DUMP_LEASED : DUMP_KEY);
    dump_put_number(out, 4, key.len);
    dump_put_number(out, 4, value.len);
    if (is_leased) {
        dump_put_number(out, 8, value.len + 1);
        dump_put_number(out, 8, key.len + 1);
    }
    buf_put(out, key);
    buf_put(out, value);
    ++*count;
}

static void make(Str text, Buf *out)
{
    AUTO_CLEAR(Buf) sealed = buf_make(BUF_UNLIMITED);
    char digest[SHA256_HEX + 1];
    int64_t count = 0;
    buf_put(out, STORE_DUMP_MAGIC);
    dump_put_number(out, 8, text.len);
    buf_put(out, STR("\x02id"));
    buf_put(&sealed, buf_str(out));
    size_t start = out->len;
    for (Str line; str_split_next(&text, '\n', &line);) {
        put_line(out, line, &count);
    }
    sha256_hex(str_from_offset(buf_str(out), start), digest);
    start = sealed.len;
    dump_put_number(&sealed, 8, (uint64_t)count);
    buf_put_c(&sealed, digest);
    buf_put_char(out, DUMP_END);
    buf_put(out, str_from_offset(buf_str(&sealed), start));
    sha256_hex(buf_str(&sealed), digest);
    buf_put_c(out, digest);
}

/* --- Reading --------------------------------------------------------------------------------- */

typedef struct Seen {
    int64_t records;
    uint32_t heads;
    StoreDumpEnd end;
    size_t left; /* bytes after it */
} Seen;

static bool take_head(void *context, const StoreDumpHead *head, Error *err)
{
    Seen *seen = context;
    BUG_IF(head->revision < 0 || head->revision > STORE_REVISION_MAX || head->store_id[0] == '\0');
    seen->heads++;
    return true;
}

static bool take_record(void *context, const StoreDumpRecord *record, Error *err)
{
    Seen *seen = context;
    BUG_IF(seen->heads != 1);
    BUG_IF(record->key.len == 0 || record->key.len > STORE_KEY_MAX);
    BUG_IF(record->value.len > STORE_VALUE_MAX);
    BUG_IF((record->lease == 0) != (record->ttl_s == 0) || record->ttl_s > STORE_TTL_MAX);
    seen->records++;
    return true;
}

static bool read_in(Str bytes, size_t chunk, Seen *seen, Error *err)
{
    AUTO_CLEAR(StoreDumpReader) reader;
    *seen = (Seen){ 0 };
    store_dump_reader_init(&reader, &(StoreDumpSink){ take_head, take_record, seen });
    while (bytes.len > 0 && !store_dump_reader_is_complete(&reader)) {
        Str part = str_slice(bytes, 0, chunk);
        bytes = str_from_offset(bytes, chunk);
        if (!store_dump_reader_feed(&reader, &part, err)) {
            return false;
        }
        seen->left = part.len + bytes.len;
    }
    seen->end = reader.end;
    BUG_IF(seen->end.count != seen->records);
    return store_dump_reader_finish(&reader, err);
}

/* --- Loading --------------------------------------------------------------------------------- */

typedef struct Way {
    Str rest;
    bool is_loaded, is_dumped;
    StoreDump *dump;
    StoreDumpEnd end;
    Error err;
} Way;

static bool give(void *context, char *buffer, size_t size, size_t *got, Error *err)
{
    Way *way = context;
    *got = way->rest.len < size ? way->rest.len : size;
    memcpy(buffer, way->rest.data, *got);
    way->rest = str_from_offset(way->rest, *got);
    return true;
}

static void loaded(void *context, const StoreLoaded *what, const Error *err)
{
    Way *way = context;
    way->is_loaded = err == NULL;
    way->err = err == NULL ? way->err : *err;
}

static void dumped(void *context, const StoreDumpPiece *chunk, const Error *err)
{
    Way *way = context;
    BUG_IF(err != NULL);
    way->is_dumped = chunk->end != NULL;
    if (chunk->end != NULL) {
        way->end = *chunk->end;
    } else if (!store_dump_next(way->dump, &way->err)) {
        BUG("%s", way->err.text);
    }
}

static void load(Str bytes, bool is_good, const StoreDumpEnd *end)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    AUTO(Store) *store = store_open_memory(loop, NULL);
    Way way = { .rest = bytes };
    Error err;
    BUG_IF(!store_load(&(StoreLoadSpec){ store, give, loaded, &way }, &err));
    loop_run_virtual_until(loop, 0);
    BUG_IF(way.is_loaded && !is_good);
    BUG_IF(!way.is_loaded && is_good);
    if (!way.is_loaded) {
        BUG_IF(way.err.kind != ERROR_INVALID && way.err.kind != ERROR_UNAVAILABLE);
        return;
    }
    way.dump = store_dump_new(
        &(StoreDumpSpec){ .store = store, .store_id = STR("id"), .done = dumped, .context = &way });
    BUG_IF(!store_dump_next(way.dump, &err));
    loop_run_virtual_until(loop, 0);
    BUG_IF(!way.is_dumped || way.end.count != end->count);
    store_dump_free(way.dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    Str bytes = str_from_offset(text, 1);
    AUTO_CLEAR(Buf) made = buf_make(BUF_UNLIMITED);
    Seen whole, parts;
    Error err = { 0 }, err_parts = { 0 };
    if (size > 0 && data[0] % 2 == 1) {
        make(bytes, &made);
        bytes = buf_str(&made);
    }
    bool ok = read_in(bytes, SIZE_MAX, &whole, &err);
    bool ok_parts = read_in(bytes, size > 0 ? data[0] / 2 + 1 : 1, &parts, &err_parts);
    BUG_IF(ok != ok_parts || err.kind != err_parts.kind || whole.records != parts.records);
    BUG_IF(!ok && err.kind != ERROR_INVALID && err.kind != ERROR_UNAVAILABLE);
    load(bytes, ok && whole.left == 0, &whole.end);
    return 0;
}
