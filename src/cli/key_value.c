#include "cli/key_value.h"

#include "base/base64.h"
#include "cli/output.h"

bool key_value_bytes(Arena *arena, Value map, const char *name, Str *out)
{
    const Value *text = map.kind == VALUE_MAP ? value_get(map, str_from_c(name)) : NULL;
    if (text != NULL && value_is_string(*text)) {
        *out = value_str(*text);
        return true;
    }
    Str encoded = cluster_text(map, arena_format(arena, "%s_base64", name).data);
    return encoded.len > 0 && base64_decode(arena, encoded, out);
}

int key_value_print_done(const Invocation *invocation, Value answer, Str text)
{
    if (invocation_wants_json(invocation)) {
        return output_json(invocation, answer);
    }
    stream_put_format(invocation->out, "%" STR_FMT "; the store is at revision %lld\n",
                      STR_ARG(text), (long long)cluster_int(answer, "revision"));
    return EXIT_OK;
}
