/* Recreates lost files of the agent, with the CA of the server on the same machine. */
#include "server/agent_files.h"

#include "base/log.h"
#include "membership/authority.h"
#include "membership/lost_settings.h"
#include "pki/ca.h"
#include "server/cluster_setup.h"

typedef struct AgentRepair {
    Arena arena;
    Directory server, agent;
    ServerSettings settings;
    Credential ca, other; /* the CA that signs, and the other one during a rotation */
    int64_t now_ms;
} AgentRepair;

static bool is_lost(const AgentRepair *repair, const char *name)
{
    if (directory_has(&repair->agent, name)) {
        return false;
    }
    log_warning("restoring a lost file of this node from the files of its server",
                LOG_C("file", name));
    return true;
}

/* The store records which of two CAs signs, and the server's certificate also shows this: the
 * signing CA issued it. */
static bool load_cas(AgentRepair *repair, Error *err)
{
    const Directory *server = &repair->server;
    AUTO_CLEAR(Credential) credential = { 0 };
    Error ignored;
    if (!credential_load(server, SERVER_CA, &repair->arena, &repair->ca, err)) {
        return false;
    }
    if (!directory_has(server, AUTHORITY_CA_NEXT)) {
        return true;
    }
    if (!credential_load(server, AUTHORITY_CA_NEXT, &repair->arena, &repair->other, err)) {
        return false;
    }
    if (credential_load(server, SERVER_NODE, &repair->arena, &credential, &ignored) &&
        certificate_names_issuer(&credential.chain.items[0], &repair->other.chain.items[0].pin)) {
        Credential present = repair->ca;
        repair->ca = repair->other;
        repair->other = present;
    }
    return true;
}

static bool repair_bundle(AgentRepair *repair, Error *err)
{
    Buf bundle = buf_make_in(&repair->arena, BUF_UNLIMITED);
    if (!is_lost(repair, AGENT_BUNDLE)) {
        return true;
    }
    buf_put(&bundle, certificate_pem(&repair->arena, &repair->ca.chain.items[0]));
    if (repair->other.key != NULL) {
        buf_put(&bundle, certificate_pem(&repair->arena, &repair->other.chain.items[0]));
    }
    return directory_write(&repair->agent, AGENT_BUNDLE, buf_str(&bundle), true, err);
}

/* The enrollment is preserved, so for the cluster it is still the same node. */
static bool repair_credential(AgentRepair *repair, Error *err)
{
    Certificate certificate;
    Pin pin;
    NodeIssue issue = { .directory = &repair->agent,
                        .file = AGENT_CREDENTIAL,
                        .ca = &repair->ca,
                        .settings = &repair->settings,
                        .now_ms = repair->now_ms };
    return !is_lost(repair, AGENT_CREDENTIAL) ||
           (directory_read(&repair->agent, &repair->arena, AGENT_ENROLLMENT, ENROLLMENT_TEXT,
                           &issue.enrollment, err) &&
            node_issue(&repair->arena, &issue, &certificate, &pin, err));
}

static bool repair_state(AgentRepair *repair, Error *err)
{
    return !is_lost(repair, AGENT_STATE) ||
           own_node_state_save(&repair->arena, &repair->agent, &repair->settings, err);
}

static bool has_all(const Directory *agent)
{
    return directory_has(agent, AGENT_BUNDLE) && directory_has(agent, AGENT_CREDENTIAL) &&
           directory_has(agent, AGENT_STATE);
}

static bool repair_files(AgentRepair *repair, Error *err)
{
    Str text;
    if (has_all(&repair->agent) || directory_has(&repair->server, CREATE_UNFINISHED) ||
        !directory_has(&repair->server, SERVER_SETTINGS_FILE)) {
        return true;
    }
    return directory_read(&repair->server, &repair->arena, SERVER_SETTINGS_FILE,
                          SERVER_SETTINGS_MAX, &text, err) &&
           server_settings_read(&repair->arena, text, &repair->settings, err) &&
           load_cas(repair, err) && repair_bundle(repair, err) && repair_credential(repair, err) &&
           repair_state(repair, err);
}

bool agent_files_restore(const char *state_dir, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AgentRepair repair = { .server = { .descriptor = -1 },
                           .agent = { .descriptor = -1 },
                           .now_ms = now_ms };
    arena_init(&repair.arena, ARENA_UNLIMITED);
    bool ok = directory_open(state_dir, &state, err) &&
              directory_open_child(&state, SERVER_DIRECTORY, &repair.server, err) &&
              directory_open_child(&state, AGENT_DIRECTORY, &repair.agent, err);
    ok = ok ? repair_files(&repair, err) : err->kind == ERROR_NOT_FOUND;
    credential_clear(&repair.ca);
    credential_clear(&repair.other);
    directory_close(&repair.server);
    directory_close(&repair.agent);
    arena_clear(&repair.arena);
    return ok;
}
