#include "agent/joining.h"

#include "lang/record.h"
#include "pki/join_answer.h"

#define KEY_FILE     "key.pem"
#define RECORD_FILE  "joining.json"
#define TRUSTED_FILE "trusted.pem"

enum {
    RECORD_MAX = 4096, /* maximum size in bytes */
    TRUSTED_MAX = JOIN_QUESTION_MAX,
};

void joining_clear(Joining *joining)
{
    p256_private_free(TAKE(joining->key));
}

/* Unknown fields are dropped: the file is rewritten only by the join that resumes it, and deleted
 * when that is done. */
static const RecordField record_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(Joining, name), .is_required = true,
      .check_text = node_name_check, .help = "requested name of this machine" },
    { "server", RECORD_TEXT, RECORD_CHARS_AT(Joining, server), .is_required = true,
      .help = "address of the server's API" },
    { "ca", RECORD_TEXT, RECORD_CODED_AT(Joining, ca, Pin, pin_codec), .is_required = true,
      .help = "pin of the CA to trust" },
    { "claim", RECORD_BOOL, RECORD_BOOL_AT(Joining, is_claim),
      .help = "the CA is known only from the server itself" },
    { 0 },
};

static const RecordFormat record_format = {
    .format = "eden.node-joining/1",
    .what = RECORD_FILE,
    .fields = record_fields,
    .size = sizeof(Joining),
    .text_max = RECORD_MAX,
};

/* The key must be written first: parameters never exist without one. */
bool joining_save(const Directory *directory, const Joining *joining, Error *err)
{
    AUTO_CLEAR(KeyText) key = { 0 };
    AUTO_CLEAR(Buf) text = buf_make(RECORD_MAX);
    record_print_file(&record_format, joining, &text);
    return p256_private_text(joining->key, &key, err) &&
           directory_write(directory, KEY_FILE, str_from(key.text, key.len), true, err) &&
           directory_write(directory, RECORD_FILE, buf_str(&text), true, err);
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
    Joining joining;
    Str text;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_read(directory, &arena, RECORD_FILE, RECORD_MAX, &text, err)) {
        return false;
    }
    if (!record_read(&record_format, &arena, text, RECORD_STORED, &joining, err)) {
        return error_wrap(err, "%s", directory->path);
    }
    if (!read_key(directory, &joining.key, err)) {
        return error_wrap(err, "%s/" KEY_FILE, directory->path);
    }
    *out = joining;
    return true;
}

void joining_drop(const Directory *directory)
{
    Error ignored;
    (void)!directory_remove(directory, RECORD_FILE, &ignored);
    (void)!directory_remove(directory, KEY_FILE, &ignored);
    (void)!directory_remove(directory, TRUSTED_FILE, &ignored);
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
