#include "cli/key_value.h"

#include "base/base64.h"
#include "cli/output.h"
#include "store/keys.h"

bool key_value_bytes(Arena *arena, Value map, const char *name, Str *out)
{
    const Value *text = map.kind == VALUE_MAP ? value_get(map, str_from_c(name)) : NULL;
    if (text != NULL && value_is_string(*text)) {
        *out = value_str(*text);
        return true;
    }
    Str encoded = value_get_text(map, arena_format(arena, "%s_base64", name).data);
    return encoded.len > 0 && base64_decode(arena, encoded, out);
}

bool key_value_may_change(const Invocation *invocation, Str key, bool is_prefix)
{
    Str own = KEYS_PREFIX;
    bool is_below = str_starts(key, own) && (key.len == own.len || key.data[own.len] == '/');
    bool is_above = is_prefix && str_starts(own, key);
    if (invocation_flag(invocation, "force") || !(is_below || is_above)) {
        return true;
    }
    usage_error(invocation,
                "keys under %" STR_FMT " belong to eden; use 'eden nodes', 'eden tokens' or "
                "'eden pki', or --force to change them here",
                STR_ARG(own));
    return false;
}

int key_value_print_done(const Invocation *invocation, Value response, Str text)
{
    if (invocation_wants_json(invocation)) {
        return output_json(invocation, response);
    }
    output_line(invocation->out, "%" STR_FMT "; the store is at revision %lld", STR_ARG(text),
                (long long)value_get_int(response, "revision"));
    return EXIT_OK;
}
