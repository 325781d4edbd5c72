#include "agent/joining.h"

#include "base/json_text.h"
#include "pki/join_answer.h"
#include "pki/json_fields.h"

#define KEY_FILE     "key.pem"
#define WISH_FILE    "wish.json"
#define TRUSTED_FILE "trusted.pem"
#define FORMAT       "eden.join-wish/1"

enum {
    WISH_MAX = 4096, /* bytes */
    WISH_NODES = 16,
    TRUSTED_MAX = JOIN_QUESTION_MAX,
};

void joining_clear(Joining *joining)
{
    p256_private_free(TAKE(joining->key));
}

static void put_text(Buf *out, const char *name, const char *text)
{
    buf_put_format(out, ",\n  \"%s\": ", name);
    json_text_put(out, str_from_c(text));
}

/* The key first: a wish is never without one. */
bool joining_save(const Directory *directory, const Joining *joining, Error *err)
{
    AUTO_CLEAR(KeyText) key = { 0 };
    AUTO_CLEAR(Buf) wish = buf_make(WISH_MAX);
    char ca[PIN_TEXT + 1];
    pin_text(&joining->ca, ca);
    buf_put_c(&wish, "{\n  \"format\": \"" FORMAT "\"");
    put_text(&wish, "name", joining->name);
    put_text(&wish, "server", joining->server);
    put_text(&wish, "ca", ca);
    buf_put_c(&wish, joining->is_claim ? ",\n  \"claim\": true" : "");
    buf_put_c(&wish, "\n}\n");
    return p256_private_text(joining->key, &key, err) &&
           directory_write(directory, KEY_FILE, str_from(key.text, key.len), true, err) &&
           directory_write(directory, WISH_FILE, buf_str(&wish), true, err);
}

static bool read_wish(Arena *arena, Str text, Joining *out, Error *err)
{
    Value object, said, name, server, ca, claim = value_bool(false);
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },   { "name", VALUE_STRING, false, &name },
        { "server", VALUE_STRING, false, &server }, { "ca", VALUE_STRING, false, &ca },
        { "claim", VALUE_BOOL, true, &claim },
    };
    if (!json_object_read(arena, text, WISH_MAX, WISH_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !node_name_check(value_str(name), err) || !pin_parse(value_str(ca), &out->ca, err)) {
        return false;
    }
    out->is_claim = claim.boolean;
    return (json_copy(name, out->name, sizeof out->name) &&
            json_copy(server, out->server, sizeof out->server)) ||
           error_set(err, ERROR_INVALID, "a text is too long");
}

static bool read_key(const Directory *directory, P256Private **out, Error *err)
{
    KeyText key = { 0 };
    bool ok =
        directory_read_private(directory, KEY_FILE, key.text, sizeof key.text, &key.len, err) &&
        p256_private_from_pem(str_from(key.text, key.len), out, err);
    key_text_clear(&key);
    return ok;
}

bool joining_load(const Directory *directory, Joining *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Joining joining = { 0 };
    Str text;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_read(directory, &arena, WISH_FILE, WISH_MAX, &text, err)) {
        return false;
    }
    if (!read_wish(&arena, text, &joining, err)) {
        return error_wrap(err, "%s/" WISH_FILE, directory->path);
    }
    if (!read_key(directory, &joining.key, err)) {
        return error_wrap(err, "%s/" KEY_FILE, directory->path);
    }
    *out = joining;
    return true;
}

void joining_drop(const Directory *directory)
{
    Error gone;
    (void)!directory_remove(directory, WISH_FILE, &gone);
    (void)!directory_remove(directory, KEY_FILE, &gone);
    (void)!directory_remove(directory, TRUSTED_FILE, &gone);
}

bool joining_trust(const Directory *directory, Str bundle, Error *err)
{
    return directory_write(directory, TRUSTED_FILE, bundle, true, err);
}

bool joining_is_trusted(const Directory *directory, const Pin *ca)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Certificate *cas;
    uint32_t count;
    Error err;
    return directory_read(directory, &arena, TRUSTED_FILE, TRUSTED_MAX, &text, &err) &&
           certificates_from_pem(&arena, text, &cas, &count, &err) &&
           certificate_find_pin(cas, count, ca) != NULL;
}
