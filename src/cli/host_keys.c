#include "cli/host_keys.h"

#include "membership/ssh_target.h"
#include "sys/process.h"

enum {
    FOUND_MAX = 64 << 10,      /* limit on ssh-keygen's output, in bytes */
    FIND_LIMIT_MS = 10 * 1000, /* timeout of ssh-keygen */
    PORT_SSH = 22,
};

bool host_keys_find(const Invocation *invocation, const char *file, Str host, uint16_t port,
                    List *keys, Error *err)
{
    Arena *arena = invocation->arena;
    Str name =
        port == PORT_SSH ? host : arena_format(arena, "[%" STR_FMT "]:%u", STR_ARG(host), port);
    const char *argv[] = { "ssh-keygen", "-F", arena_copy_c(arena, name), "-f", file, NULL };
    ProcessSpec spec = { .argv = argv, .timeout_ms = FIND_LIMIT_MS, .output_max = FOUND_MAX };
    ProcessResult result;
    if (!process_run(arena, &spec, &result, err)) {
        return false;
    }
    Str rest = result.out, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        SshTrust trust = { 0 };
        if (line.len > 0 && line.data[0] != '#' && ssh_trust_add(arena, &trust, line, err)) {
            list_push(
                arena, keys,
                value_string(arena_join(arena, trust.keys[0].type, STR(" "), trust.keys[0].blob)));
        }
    }
    return keys->len > 0 ||
           error_set(err, ERROR_NOT_FOUND, "%s contains no key for %" STR_FMT, file, STR_ARG(name));
}

bool host_keys_given(const Invocation *invocation, List *keys)
{
    uint32_t count;
    const char **given = invocation_texts(invocation, "host-key", &count);
    for (uint32_t i = 0; i < count; i++) {
        SshTrust trust = { 0 };
        Error err;
        if (!ssh_trust_add(invocation->arena, &trust, str_from_c(given[i]), &err)) {
            usage_error(invocation, "--host-key: %s", err.text);
            return false;
        }
        list_push(invocation->arena, keys, value_string(str_from_c(given[i])));
    }
    return true;
}
