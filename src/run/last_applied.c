#include "run/last_applied.h"

#include "base/buf.h"
#include "base/crc32c.h"

/* File format: a line that identifies it, then the entries (two bytes of length, the id, sixteen
 * bytes of digest), then the CRC-32C of everything before. Little endian. */
/* followed by a hash of the site's name or path */
static const char file_prefix[] = "last-applied-";
static const char file_head[] = "eden last-applied 1\n";

enum {
    FILE_MAX = 64 << 20,
    ID_MAX = 4096,
    CHECKSUM = 4,
    NESTED_MAX = 64,
    SITES_MAX = 32,         /* sites whose files are kept */
    STATE_FILES_MAX = 1024, /* a state directory has a handful */
};

/* --- Digests ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void read_u64(Digest *digest, uint64_t word)
{
    digest->low = mix(digest->low ^ word, 0xa0761d6478bd642fu);
    digest->high = mix(digest->high + word, digest->low ^ 0x589965cc75374cc3u);
}

static void read_text(Digest *digest, Str text)
{
    read_u64(digest, text.len);
    for (; text.len >= 8; text = str_from_offset(text, 8)) {
        uint64_t word;
        memcpy(&word, text.data, 8);
        read_u64(digest, word);
    }
    if (text.len > 0) {
        uint64_t word = 0;
        memcpy(&word, text.data, text.len);
        read_u64(digest, word);
    }
}

/* Deeply nested values contribute only their kind to the digest. The order of map entries
 * matters. */
static void take_value(Digest *digest, Value v, unsigned depth)
{
    read_u64(digest, v.kind);
    switch ((ValueKind)v.kind) {
    case VALUE_BOOL: read_u64(digest, v.boolean); return;
    case VALUE_INT:
    case VALUE_FLOAT: read_u64(digest, v.payload); return;
    case VALUE_STRING: read_text(digest, value_str(v)); return;
    case VALUE_LIST:
    case VALUE_TUPLE:
        read_u64(digest, v.list->len);
        for (uint32_t i = 0; depth < NESTED_MAX && i < v.list->len; i++) {
            take_value(digest, v.list->items[i], depth + 1);
        }
        return;
    case VALUE_MAP:
        read_u64(digest, v.map->len);
        for (uint32_t i = 0; depth < NESTED_MAX && i < v.map->len; i++) {
            take_value(digest, v.map->entries[i].key, depth + 1);
            take_value(digest, v.map->entries[i].value, depth + 1);
        }
        return;
    case VALUE_NULL:
    case VALUE_OBJECT:
    case VALUE_UNDEFINED: return;
    }
}

Digest digest_values(const Value *values, uint32_t count)
{
    Digest digest = { 0x243f6a8885a308d3u, 0x13198a2e03707344u };
    read_u64(&digest, count);
    for (uint32_t i = 0; i < count; i++) {
        take_value(&digest, values[i], 0);
    }
    return digest;
}

Digest digest_value(Value v)
{
    return digest_values(&v, 1);
}

/* --- The file ------------------------------------------------------------------------------ */

static LastEntry *put(LastApplied *last, Str step, Digest wanted)
{
    LastEntry *entry = ARENA_NEW(last->arena, LastEntry);
    *entry = (LastEntry){ .step = step, .wanted = wanted };
    str_map_put(&last->steps, step, entry);
    return entry;
}

/* Returns false if it is damaged. */
static bool parse(LastApplied *last, Str text)
{
    Str head = str_from(file_head, sizeof file_head - 1);
    if (text.len < head.len + CHECKSUM || !str_starts(text, head)) {
        return false;
    }
    uint32_t checksum;
    memcpy(&checksum, text.data + text.len - CHECKSUM, CHECKSUM);
    text.len -= CHECKSUM;
    if (checksum != crc32c(text)) {
        return false;
    }
    text = str_from_offset(text, head.len);
    while (text.len > 0) {
        uint16_t len;
        Digest wanted;
        if (text.len < sizeof len) {
            return false;
        }
        memcpy(&len, text.data, sizeof len);
        if (text.len < sizeof len + len + sizeof wanted) {
            return false;
        }
        memcpy(&wanted, text.data + sizeof len + len, sizeof wanted);
        put(last, str_slice(text, sizeof len, sizeof len + len), wanted);
        text = str_from_offset(text, sizeof len + len + sizeof wanted);
    }
    return true;
}

static const char *file_name(Arena *arena, Str of)
{
    Digest digest = digest_value(value_string(of));
    return arena_copy_c(
        arena, arena_format(arena, "%s%016llx", file_prefix, (unsigned long long)digest.low));
}

void last_applied_init(LastApplied *last, Arena *arena, Str site, Str home)
{
    *last = (LastApplied){ .arena = arena };
    last->file = file_name(arena, site.len > 0 ? site : home);
    last->former = site.len > 0 ? file_name(arena, home) : NULL;
    str_map_init(&last->steps, arena);
}

bool last_applied_load(LastApplied *last, const Directory *state, Problems *problems, Error *err)
{
    Str text;
    Error why;
    bool found = directory_read(state, last->arena, last->file, FILE_MAX, &text, &why);
    if (!found && why.kind == ERROR_NOT_FOUND && last->former != NULL) {
        found = directory_read(state, last->arena, last->former, FILE_MAX, &text, &why);
        last->changed = found; /* so that it is saved under the site's name */
    }
    if (!found) {
        if (why.kind == ERROR_NOT_FOUND) {
            return true;
        }
        *err = why;
        return false;
    }
    if (!parse(last, text)) {
        str_map_init(&last->steps, last->arena);
        last->changed = true;
        problems_add_severity(problems, SEVERITY_WARNING, "E0705", NULL, 0, 0,
                              "%s/%s is damaged; all changes are reported as new", state->path,
                              last->file);
    }
    return true;
}

/* Removes the oldest files if there are too many. Best effort, to save space. */
static void drop_old_files(const LastApplied *last, const Directory *state)
{
    DirectoryEntry *entries;
    uint32_t count, found = 0;
    const DirectoryEntry *oldest = NULL;
    Error err;
    if (!directory_list(state, last->arena, STATE_FILES_MAX, &entries, &count, &err)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (str_starts(entries[i].name, str_from_c(file_prefix))) {
            found++;
            if (oldest == NULL || entries[i].mtime_ns < oldest->mtime_ns) {
                oldest = &entries[i];
            }
        }
    }
    bool gone = found < SITES_MAX || directory_remove(state, oldest->name.data, &err);
    (void)gone;
}

bool last_applied_save(LastApplied *last, const Directory *state, Error *err)
{
    if (!last->changed) {
        return true;
    }
    AUTO_CLEAR(Buf) text = buf_make(FILE_MAX);
    buf_put_c(&text, file_head);
    uint32_t at = 0;
    for (const StrMapEntry *item; (item = str_map_next(&last->steps, &at)) != NULL;) {
        const LastEntry *entry = item->value;
        uint16_t len = (uint16_t)entry->step.len;
        buf_put(&text, str_from((const char *)&len, sizeof len));
        buf_put(&text, entry->step);
        buf_put(&text, str_from((const char *)&entry->wanted, sizeof entry->wanted));
    }
    if (text.overflow) {
        return error_set(err, ERROR_LIMIT, "%s/%s: more than %d MiB", state->path, last->file,
                         FILE_MAX >> 20);
    }
    uint32_t checksum = crc32c(buf_str(&text));
    buf_put(&text, str_from((const char *)&checksum, sizeof checksum));
    /* Not synced: losing it affects only how a change is described, not what is owed. */
    if (!directory_has(state, last->file)) {
        drop_old_files(last, state);
    }
    if (!directory_write(state, last->file, buf_str(&text), false, err)) {
        return false;
    }
    last->changed = false;
    Error ignored; /* only space is lost */
    if (last->former != NULL && directory_has(state, last->former)) {
        (void)!directory_remove(state, last->former, &ignored);
    }
    return true;
}

/* --- Steps --------------------------------------------------------------------------------- */

/* The file has two bytes for a length; longer ids do not occur and would never be found. */
static Str id_of(Str step)
{
    return str_slice(step, 0, ID_MAX);
}

Cause last_applied_cause(LastApplied *last, Str step, Digest wanted)
{
    LastEntry *entry = str_map_find(&last->steps, id_of(step));
    if (entry == NULL) {
        return CAUSE_NEW;
    }
    entry->seen = true;
    return digest_equal(entry->wanted, wanted) ? CAUSE_DRIFT : CAUSE_INTENT;
}

void last_applied_set(LastApplied *last, Str step, Digest wanted)
{
    LastEntry *entry = str_map_find(&last->steps, id_of(step));
    if (entry == NULL) {
        entry = put(last, arena_copy(last->arena, id_of(step)), wanted);
        last->changed = true;
    } else if (!digest_equal(entry->wanted, wanted)) {
        entry->wanted = wanted;
        last->changed = true;
    }
    entry->seen = true;
}

void last_applied_drop(LastApplied *last, bool (*is_gone)(void *context, Str step), void *context)
{
    uint32_t at = 0;
    for (const StrMapEntry *item; (item = str_map_next(&last->steps, &at)) != NULL;) {
        const LastEntry *entry = item->value;
        if (!entry->seen && is_gone(context, entry->step)) {
            str_map_remove(&last->steps, item->key);
            last->changed = true;
        }
    }
}
