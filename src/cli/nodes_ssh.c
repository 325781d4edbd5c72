#include "cli/nodes_ssh.h"

#include "cli/output.h"
#include "membership/ssh_verifier.h"
#include "sys/process.h"

enum {
    FOUND_MAX = 64 << 10,      /* limit of ssh-keygen's output, in bytes */
    FIND_LIMIT_MS = 10 * 1000, /* timeout of ssh-keygen */
    ANSWER_MS = SSH_VERIFY_LIMIT_MS + 15 * 1000
};

bool nodes_ssh_is_misused(const Invocation *invocation)
{
    static const char *const names[] = { "host-key", "known-hosts", "accept-new-host-key" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (invocation_flag(invocation, names[i]) && !invocation_flag(invocation, "ssh")) {
            usage_error(invocation, "--%s requires --ssh", names[i]);
            return true;
        }
    }
    return false;
}

/* --- Host keys ------------------------------------------------------------------------------- */

static void push_key(Arena *arena, List *keys, Str line)
{
    list_push(arena, keys, value_string(line));
}

/* Names in the file may be hashed, which ssh-keygen handles. */
static bool find_known(const Invocation *invocation, const char *file, const SshTarget *target,
                       List *keys, Error *err)
{
    Arena *arena = invocation->arena;
    Str host = target->address.port == 22
                   ? str_from_c(target->address.host)
                   : arena_format(arena, "[%s]:%u", target->address.host, target->address.port);
    const char *argv[] = { "ssh-keygen", "-F", arena_copy_c(arena, host), "-f", file, NULL };
    ProcessSpec spec = { .argv = argv, .timeout_ms = FIND_LIMIT_MS, .output_max = FOUND_MAX };
    ProcessResult result;
    if (!process_run(arena, &spec, &result, err)) {
        return false;
    }
    Str rest = result.out, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        SshTrust trust = { 0 };
        if (line.len > 0 && line.data[0] != '#' && ssh_trust_add(arena, &trust, line, err)) {
            push_key(arena, keys,
                     arena_join(arena, trust.keys[0].type, STR(" "), trust.keys[0].blob));
        }
    }
    return keys->len > 0 ||
           error_set(err, ERROR_NOT_FOUND, "%s has no key of %" STR_FMT, file, STR_ARG(host));
}

/* Returns false after reporting an error. */
static bool read_trust(const Invocation *invocation, const SshTarget *target, Map *ssh)
{
    Arena *arena = invocation->arena;
    uint32_t count;
    const char **given = invocation_texts(invocation, "host-key", &count);
    const char *file = invocation_text(invocation, "known-hosts");
    bool accepts = invocation_flag(invocation, "accept-new-host-key");
    List *keys = list_new(arena, 4);
    Error err;
    if ((count > 0) + (file != NULL) + accepts != 1) {
        usage_error(invocation, "--ssh requires --host-key, --known-hosts or --accept-new-host-key "
                                "to verify the machine");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        SshTrust trust = { 0 };
        if (!ssh_trust_add(arena, &trust, str_from_c(given[i]), &err)) {
            usage_error(invocation, "--host-key: %s", err.text);
            return false;
        }
        push_key(arena, keys, str_from_c(given[i]));
    }
    if (file != NULL && !find_known(invocation, file, target, keys, &err)) {
        usage_error(invocation, "--known-hosts: %s", err.text);
        return false;
    }
    if (accepts) {
        map_set_str(arena, ssh, STR("accept_new_host_key"), value_bool(true));
    } else {
        map_set_str(arena, ssh, STR("host_keys"), value_list(keys));
    }
    return true;
}

/* --- Commands -------------------------------------------------------------------------------- */

int nodes_ssh_approve(Invocation *invocation, Str name)
{
    Arena *arena = invocation->arena;
    const char *given = invocation_text(invocation, "ssh");
    Map *ssh = map_new(arena, 2), *body = map_new(arena, 1);
    SshTarget target;
    Value response;
    Error err;
    if (invocation_flag(invocation, "key")) {
        return usage_error(invocation, "--key and --ssh are mutually exclusive");
    }
    if (!ssh_target_parse(str_from_c(given), &target, &err)) {
        return usage_error(invocation, "--ssh: %s", err.text);
    }
    map_set_str(arena, ssh, STR("target"), value_string(str_from_c(given)));
    if (!read_trust(invocation, &target, ssh)) {
        return EXIT_USAGE;
    }
    map_set_str(arena, body, STR("ssh"), value_map(ssh));
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "POST",
                           .target = cluster_target_with(arena, "/v1/nodes/", name, "/approve"),
                           .body = cluster_body(arena, value_map(body)),
                           .timeout_ms = ANSWER_MS },
        &response);
    if (code != EXIT_OK || output_wants_value(invocation)) {
        return code != EXIT_OK ? code : output_response(invocation, response);
    }
    if (invocation_flag(invocation, "accept-new-host-key")) {
        output_line(invocation->err, "accepted the host key of %s without verification: %" STR_FMT,
                    target.address.host, STR_ARG(value_get_text(response, "fingerprint")));
        output_line(invocation->err, "  %" STR_FMT, STR_ARG(value_get_text(response, "host_key")));
    }
    output_line(invocation->out,
                "%" STR_FMT " is approved with key %" STR_FMT
                ", verified over SSH; it joins when it retries",
                STR_ARG(name), STR_ARG(value_get_text(response, "key")));
    return EXIT_OK;
}

int nodes_ssh_key(Invocation *invocation)
{
    Value response;
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/ssh-key") }, &response);
    if (code != EXIT_OK || output_wants_value(invocation)) {
        return code != EXIT_OK ? code : output_response(invocation, response);
    }
    bool by_sudo = invocation_flag(invocation, "sudo");
    output_line(invocation->out, "%" STR_FMT,
                STR_ARG(value_get_text(response, by_sudo ? "sudo_line" : "line")));
    return EXIT_OK;
}
