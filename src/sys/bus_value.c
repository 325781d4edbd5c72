/* Conversion between BusValue and D-Bus messages. */
#include <errno.h>

#include "sys/bus_inner.h"

static const BusValue nothing = { 0 };

BusValue bus_strings(Arena *arena, const Str *texts, uint32_t count)
{
    BusValue *items = ARENA_ARRAY(arena, BusValue, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = bus_string(texts[i]);
    }
    return (BusValue){ .type = 'a', .count = count, .items = items, .of = "s" };
}

static bool has_items(const BusValue *value)
{
    return value->type == 'a' || value->type == 'r' || value->type == 'e' || value->type == 'v';
}

const BusValue *bus_item(const BusValue *value, uint32_t at)
{
    return has_items(value) && at < value->count ? &value->items[at] : &nothing;
}

static const BusValue *inside(const BusValue *value)
{
    return value->type == 'v' ? bus_item(value, 0) : value;
}

const BusValue *bus_find(const BusValue *map, const char *key)
{
    map = inside(map);
    for (uint32_t i = 0; map->type == 'a' && i < map->count; i++) {
        if (str_eq_c(bus_text(bus_item(&map->items[i], 0)), key)) {
            return inside(bus_item(&map->items[i], 1));
        }
    }
    return &nothing;
}

Str bus_text(const BusValue *value)
{
    value = inside(value);
    return value->type == 's' || value->type == 'o' || value->type == 'g' ? value->text : STR_EMPTY;
}

int64_t bus_integer(const BusValue *value)
{
    value = inside(value);
    switch (value->type) {
    case 'y':
    case 'n':
    case 'q':
    case 'i':
    case 'u':
    case 'x': return value->integer;
    case 't':
        return value->unsigned_integer > INT64_MAX ? INT64_MAX : (int64_t)value->unsigned_integer;
    default: return 0;
    }
}

bool bus_boolean(const BusValue *value)
{
    value = inside(value);
    return value->type == 'b' && value->boolean;
}

/* --- To messages ----------------------------------------------------------------------------- */

/* A number as libsystemd reads and appends it; the names are the type codes. */
typedef union Basic {
    uint8_t y;
    int b;
    int16_t n;
    uint16_t q;
    int32_t i;
    uint32_t u;
    int64_t x;
    uint64_t t;
    double d;
} Basic;

static int append_number(const BusLibrary *library, sd_bus_message *message, const BusValue *value)
{
    Basic room;
    switch (value->type) {
    case 'y': room.y = (uint8_t)value->integer; break;
    case 'b': room.b = value->boolean; break;
    case 'n': room.n = (int16_t)value->integer; break;
    case 'q': room.q = (uint16_t)value->integer; break;
    case 'i': room.i = (int32_t)value->integer; break;
    case 'u': room.u = (uint32_t)value->integer; break;
    case 'x': room.x = value->integer; break;
    case 't': room.t = value->unsigned_integer; break;
    default: room.d = value->number; break;
    }
    return library->sd_bus_message_append_basic(message, value->type, &room);
}

static int append_one(const BusLibrary *library, sd_bus_message *message, const BusValue *value,
                      Arena *arena, unsigned depth);

static int append_container(const BusLibrary *library, sd_bus_message *message,
                            const BusValue *value, Arena *arena, unsigned depth)
{
    int result = library->sd_bus_message_open_container(message, value->type, value->of);
    for (uint32_t i = 0; result >= 0 && i < value->count; i++) {
        result = append_one(library, message, &value->items[i], arena, depth + 1);
    }
    return result < 0 ? result : library->sd_bus_message_close_container(message);
}

static int append_one(const BusLibrary *library, sd_bus_message *message, const BusValue *value,
                      Arena *arena, unsigned depth)
{
    if (depth > BUS_DEPTH_MAX || value->type == '\0') {
        return -EINVAL;
    }
    if (has_items(value)) {
        return append_container(library, message, value, arena, depth);
    }
    if (value->type == 's' || value->type == 'o' || value->type == 'g') {
        if (value->text.len > 0 && memchr(value->text.data, '\0', value->text.len) != NULL) {
            return -EINVAL;
        }
        return library->sd_bus_message_append_basic(message, value->type,
                                                    arena_copy_c(arena, value->text));
    }
    return append_number(library, message, value);
}

bool bus_append(const BusLibrary *library, sd_bus_message *message, const BusValue *values,
                uint32_t count, Arena *arena, Error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        int result = append_one(library, message, &values[i], arena, 0);
        if (result < 0) {
            bus_failure(err, result, "cannot encode a value for the bus");
            return false;
        }
    }
    return true;
}

/* --- From messages --------------------------------------------------------------------------- */

typedef struct Decoder {
    const BusLibrary *library;
    sd_bus_message *message;
    Arena *arena;
    uint32_t values;
    bool too_many;
} Decoder;

static int read_number(Decoder *decoder, BusValue *out)
{
    Basic room = { 0 };
    int result = decoder->library->sd_bus_message_read_basic(decoder->message, out->type, &room);
    switch (out->type) {
    case 'y': out->integer = room.y; break;
    case 'b': out->boolean = room.b != 0; break;
    case 'n': out->integer = room.n; break;
    case 'q': out->integer = room.q; break;
    case 'i': out->integer = room.i; break;
    case 'u': out->integer = room.u; break;
    case 'x': out->integer = room.x; break;
    case 't': out->unsigned_integer = room.t; break;
    default: out->number = room.d; break;
    }
    return result;
}

static int read_text(Decoder *decoder, BusValue *out)
{
    const char *text = NULL;
    int result = decoder->library->sd_bus_message_read_basic(decoder->message, out->type, &text);
    out->text = result < 0 ? STR_EMPTY : arena_copy(decoder->arena, str_from_c(text));
    return result;
}

static int read_items(Decoder *decoder, BusValue *out, unsigned depth);

/* File descriptors are skipped: the caller would have to close them. */
static int read_one(Decoder *decoder, char type, const char *contents, BusValue *out,
                    unsigned depth)
{
    const BusLibrary *library = decoder->library;
    *out = (BusValue){ .type = type };
    switch (type) {
    case 'a':
    case 'r':
    case 'e':
    case 'v': {
        if (depth >= BUS_DEPTH_MAX) {
            return -EBADMSG;
        }
        int result = library->sd_bus_message_enter_container(decoder->message, type, contents);
        result = result < 0 ? result : read_items(decoder, out, depth + 1);
        return result < 0 ? result : library->sd_bus_message_exit_container(decoder->message);
    }
    case 's':
    case 'o':
    case 'g': return read_text(decoder, out);
    case 'h': *out = nothing; return library->sd_bus_message_skip(decoder->message, "h");
    default: return read_number(decoder, out);
    }
}

/* Until the end of the container or message. */
static int read_items(Decoder *decoder, BusValue *out, unsigned depth)
{
    BusValue *items = NULL;
    uint32_t cap = 0;
    for (;;) {
        char type;
        const char *contents;
        int result = decoder->library->sd_bus_message_peek_type(decoder->message, &type, &contents);
        if (result <= 0) {
            return result;
        }
        if (++decoder->values > BUS_VALUES_MAX) {
            decoder->too_many = true;
            return -ENOBUFS;
        }
        if (out->count == cap) {
            uint32_t more = cap == 0 ? 4 : cap * 2;
            items = arena_grow(decoder->arena, items, cap * sizeof *items, more * sizeof *items);
            cap = more;
        }
        result = read_one(decoder, type, contents, &items[out->count], depth);
        if (result < 0) {
            return result;
        }
        out->items = items;
        out->count++;
    }
}

bool bus_decode(const BusLibrary *library, sd_bus_message *message, Arena *arena, BusValue *out,
                Error *err)
{
    Decoder decoder = { .library = library, .message = message, .arena = arena };
    BusValue all = { .type = 'r' };
    int result = read_items(&decoder, &all, 0);
    if (result < 0) {
        return decoder.too_many ? error_set(err, ERROR_LIMIT, "the reply has more than %d values",
                                            BUS_VALUES_MAX)
                                : bus_failure(err, result, "cannot decode the reply");
    }
    *out = all;
    return true;
}
