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
    Credential ca, other; /* the one that signs; the other one, during a rotation */
    int64_t now_ms;
} AgentRepair;

static bool is_lost(const AgentRepair *mending, const char *name)
{
    if (directory_has(&mending->agent, name)) {
        return false;
    }
    log_warning("lost file of this node re-created from those of its server", LOG_C("file", name));
    return true;
}

/* The store records which of two CAs signs, and so does the server's certificate, which is issued
 * by it. */
static bool load_cas(AgentRepair *mending, Error *err)
{
    const Directory *server = &mending->server;
    AUTO_CLEAR(Credential) own = { 0 };
    Error unheard;
    if (!credential_load(server, SERVER_CA, &mending->arena, &mending->ca, err)) {
        return false;
    }
    if (!directory_has(server, AUTHORITY_CA_NEXT)) {
        return true;
    }
    if (!credential_load(server, AUTHORITY_CA_NEXT, &mending->arena, &mending->other, err)) {
        return false;
    }
    if (credential_load(server, SERVER_NODE, &mending->arena, &own, &unheard) &&
        certificate_names_issuer(&own.chain.items[0], &mending->other.chain.items[0].pin)) {
        Credential present = mending->ca;
        mending->ca = mending->other;
        mending->other = present;
    }
    return true;
}

static bool repair_bundle(AgentRepair *mending, Error *err)
{
    Buf bundle = buf_make_in(&mending->arena, BUF_UNLIMITED);
    if (!is_lost(mending, AGENT_BUNDLE)) {
        return true;
    }
    buf_put(&bundle, certificate_pem(&mending->arena, &mending->ca.chain.items[0]));
    if (mending->other.key != NULL) {
        buf_put(&bundle, certificate_pem(&mending->arena, &mending->other.chain.items[0]));
    }
    return directory_write(&mending->agent, AGENT_BUNDLE, buf_str(&bundle), true, err);
}

/* Keeps its enrollment, so it stays the same node for the cluster. */
static bool repair_credential(AgentRepair *mending, Error *err)
{
    Certificate made;
    Pin pin;
    NodeIssue making = { .directory = &mending->agent,
                         .file = AGENT_CREDENTIAL,
                         .ca = &mending->ca,
                         .settings = &mending->settings,
                         .now_ms = mending->now_ms };
    return !is_lost(mending, AGENT_CREDENTIAL) ||
           (directory_read(&mending->agent, &mending->arena, AGENT_ENROLLMENT, ENROLLMENT_TEXT,
                           &making.enrollment, err) &&
            node_issue(&mending->arena, &making, &made, &pin, err));
}

static bool repair_state(AgentRepair *mending, Error *err)
{
    return !is_lost(mending, AGENT_STATE) ||
           own_node_state_save(&mending->arena, &mending->agent, &mending->settings, err);
}

static bool has_all(const Directory *agent)
{
    return directory_has(agent, AGENT_BUNDLE) && directory_has(agent, AGENT_CREDENTIAL) &&
           directory_has(agent, AGENT_STATE);
}

static bool repair(AgentRepair *mending, Error *err)
{
    Str text;
    if (has_all(&mending->agent) || directory_has(&mending->server, CREATE_UNFINISHED) ||
        !directory_has(&mending->server, SERVER_SETTINGS_FILE)) {
        return true;
    }
    return directory_read(&mending->server, &mending->arena, SERVER_SETTINGS_FILE,
                          SERVER_SETTINGS_MAX, &text, err) &&
           server_settings_read(&mending->arena, text, &mending->settings, err) &&
           load_cas(mending, err) && repair_bundle(mending, err) &&
           repair_credential(mending, err) && repair_state(mending, err);
}

bool agent_files_restore(const char *state_dir, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AgentRepair mending = { .server = { .descriptor = -1 },
                            .agent = { .descriptor = -1 },
                            .now_ms = now_ms };
    arena_init(&mending.arena, ARENA_UNLIMITED);
    bool ok = directory_open(state_dir, &state, err) &&
              directory_open_child(&state, SERVER_DIRECTORY, &mending.server, err) &&
              directory_open_child(&state, AGENT_DIRECTORY, &mending.agent, err);
    ok = ok ? repair(&mending, err) : err->kind == ERROR_NOT_FOUND;
    credential_clear(&mending.ca);
    credential_clear(&mending.other);
    directory_close(&mending.server);
    directory_close(&mending.agent);
    arena_clear(&mending.arena);
    return ok;
}
