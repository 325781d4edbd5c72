#include "modules/digest.h"

#include "sys/sha256.h"

#define PREFIX STR("sha256:")

Str digest_from_hex(Arena *arena, const char *hex)
{
    return arena_join(arena, PREFIX, str_from_c(hex), STR_EMPTY);
}

bool digest_parse(Arena *arena, Str given, Str *out, Error *err)
{
    char hex[SHA256_HEX + 1] = "";
    Str digits = str_starts(given, PREFIX) ? str_from_offset(given, PREFIX.len) : STR_EMPTY;
    bool ok = digits.len == SHA256_HEX;
    for (size_t i = 0; ok && i < digits.len; i++) {
        hex[i] = ascii_lower(digits.data[i]);
        ok = ascii_hex_value(hex[i]) >= 0;
    }
    if (!ok) {
        return error_set(err, ERROR_INVALID,
                         "'digest' must be 'sha256:' and 64 hexadecimal digits, not '%" STR_FMT "'",
                         STR_ARG(str_slice(given, 0, 80)));
    }
    *out = digest_from_hex(arena, hex);
    return true;
}
