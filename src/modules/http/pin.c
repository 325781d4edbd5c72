#include "modules/http/pin.h"

#include "modules/digest.h"

enum {
    PIN_MAX = 4096,
    PIN_MODE = 0600,
    SHOWN_DIGITS = 16,
};

Str pin_path(Arena *arena, Str file)
{
    char hex[SHA256_HEX + 1];
    size_t slash = str_find_last(file, STR("/"));
    sha256_hex(str_from_offset(file, slash + 1), hex);
    return arena_format(arena, "%" STR_FMT "/.eden-pin-%.*s", STR_ARG(str_slice(file, 0, slash)),
                        SHOWN_DIGITS, hex);
}

/* The address may hold a secret, so its digest stands for it. */
static Str digest_of_url(Arena *arena, Str url)
{
    return digest_of_text(arena, DIGEST_SHA256, url);
}

bool pin_read(Call *call, Str path, Str url, Pin *out, Error *err)
{
    FileInfo info;
    Str text, digest, address;
    *out = (Pin){ .digest = STR_EMPTY };
    if (!host_look(call->host, call->arena, path, PIN_MAX, &info, &text, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        return true;
    }
    Str rest = str_trim(text);
    Error ignored;
    if (info.kind != FILE_REGULAR || !str_split_next(&rest, ' ', &digest) ||
        !digest_parse(call->arena, digest, &digest, &ignored) ||
        !digest_parse(call->arena, rest, &address, &ignored)) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " does not hold the digest of a download; without that file, "
                         "the next one is trusted",
                         STR_ARG(path));
    }
    out->found = str_eq(address, digest_of_url(call->arena, url));
    out->digest = out->found ? digest : STR_EMPTY;
    return true;
}

bool pin_write(Call *call, Str path, Str url, Str digest, Error *err)
{
    Str address = digest_of_url(call->arena, url);
    FileWrite write = { .content = arena_format(call->arena, "%" STR_FMT " %" STR_FMT "\n",
                                                STR_ARG(digest), STR_ARG(address)),
                        .mode = PIN_MODE,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    return call_keep(call, path, err) && host_write(call->host, path, &write, err);
}
