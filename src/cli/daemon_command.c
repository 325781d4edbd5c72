#include "cli/daemon_command.h"

#include <string.h>

#include "base/log.h"
#include "cli/cluster_client.h"
#include "cli/inputs.h"
#include "pki/p256_private.h"
#include "sys/clock.h"
#include "sys/machine.h"
#include "sys/privilege.h"

static int64_t now_ms(void *context)
{
    return clock_now_ms();
}

void daemon_command_log(const Invocation *invocation)
{
    LogSink sink = { .now_ms = now_ms };
    (void)log_level_from_name(str_from_c(invocation_text(invocation, "log-level")), &sink.level);
    (void)log_format_from_name(str_from_c(invocation_text(invocation, "log-format")), &sink.format);
    log_set_sink(sink);
}

void daemon_command_protect(uint32_t connections)
{
    privileges_forbid_dumps();
    p256_private_protect(connections);
}

Str own_host_name(Arena *arena)
{
    Str host = machine_host_name(arena);
    char *name = arena_copy_c(arena, host);
    for (size_t i = 0; i < host.len; i++) {
        name[i] = ascii_lower(name[i]);
    }
    return str_from(name, host.len);
}

Str own_node_name(Arena *arena)
{
    Str host = own_host_name(arena);
    return str_slice(host, 0, str_find(host, STR("."), 0));
}

Str daemon_command_start(const Invocation *invocation)
{
    const char *state_dir = invocation_text(invocation, "state-dir");
    return strcmp(state_dir, STATE_DIR_DEFAULT) == 0
               ? STR("'systemctl enable --now eden' (or 'eden agent')")
               : arena_format(invocation->arena, "'eden agent --state-dir %s'", state_dir);
}

int daemon_command_fail(Invocation *invocation, const char *code, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Problem *problem = problems_add(&inputs.problems, code, NULL, 0, 0, "%s", err->text);
    if (err->kind == ERROR_DENIED && !running_as_root()) {
        problem->hint = STR("run it as root, or use directories that you own");
    }
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}
