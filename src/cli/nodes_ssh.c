#include "cli/nodes_ssh.h"

#include "cli/host_keys.h"
#include "cli/output.h"
#include "membership/ssh_verifier.h"

enum {
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

/* Returns false after reporting an error. */
static bool read_trust(const Invocation *invocation, const SshTarget *target, Map *ssh)
{
    Arena *arena = invocation->arena;
    bool is_given = invocation_flag(invocation, "host-key");
    const char *file = invocation_text(invocation, "known-hosts");
    bool accepts = invocation_flag(invocation, "accept-new-host-key");
    List *keys = list_new(arena, 4);
    Error err;
    if (is_given + (file != NULL) + accepts != 1) {
        usage_error(invocation, "--ssh requires --host-key, --known-hosts or --accept-new-host-key "
                                "to verify the machine");
        return false;
    }
    if (!host_keys_given(invocation, keys)) {
        return false;
    }
    if (file != NULL && !host_keys_find(invocation, file, str_from_c(target->address.host),
                                        target->address.port, keys, &err)) {
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
