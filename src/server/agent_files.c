#include "server/agent_files.h"

#include "base/log.h"
#include "cluster/lost_settings.h"
#include "pki/ca.h"
#include "server/founding_inner.h"

typedef struct Mending {
    Arena arena;
    Directory server, agent;
    ServerSettings settings;
    Credential ca;
    int64_t now_ms;
} Mending;

static bool is_lost(const Mending *mending, const char *name)
{
    if (directory_has(&mending->agent, name)) {
        return false;
    }
    log_warning("a file of this node is lost, and made anew from those of its server",
                LOG_C("file", name));
    return true;
}

static bool mend_bundle(Mending *mending, Error *err)
{
    return !is_lost(mending, AGENT_BUNDLE) ||
           directory_write(&mending->agent, AGENT_BUNDLE,
                           certificate_pem(&mending->arena, &mending->ca.chain.items[0]), true,
                           err);
}

/* By its enrolment: for the cluster it stays the same node. */
static bool mend_credential(Mending *mending, Error *err)
{
    Certificate made;
    Pin pin;
    NodeMaking making = { .directory = &mending->agent,
                          .file = AGENT_CREDENTIAL,
                          .ca = &mending->ca,
                          .settings = &mending->settings,
                          .now_ms = mending->now_ms };
    return !is_lost(mending, AGENT_CREDENTIAL) ||
           (directory_read(&mending->agent, &mending->arena, AGENT_ENROLMENT, ENROLMENT_TEXT,
                           &making.enrolment, err) &&
            node_make(&mending->arena, &making, &made, &pin, err));
}

static bool mend_state(Mending *mending, Error *err)
{
    return !is_lost(mending, AGENT_STATE) ||
           own_node_state_save(&mending->arena, &mending->agent, &mending->settings, err);
}

static bool has_all(const Directory *agent)
{
    return directory_has(agent, AGENT_BUNDLE) && directory_has(agent, AGENT_CREDENTIAL) &&
           directory_has(agent, AGENT_STATE);
}

static bool mend(Mending *mending, Error *err)
{
    Str text;
    if (has_all(&mending->agent) || directory_has(&mending->server, FOUNDING_UNFINISHED) ||
        !directory_has(&mending->server, SERVER_SETTINGS_FILE)) {
        return true;
    }
    return directory_read(&mending->server, &mending->arena, SERVER_SETTINGS_FILE,
                          SERVER_SETTINGS_MAX, &text, err) &&
           server_settings_read(&mending->arena, text, &mending->settings, err) &&
           credential_load(&mending->server, SERVER_CA, &mending->arena, &mending->ca, err) &&
           mend_bundle(mending, err) && mend_credential(mending, err) && mend_state(mending, err);
}

bool agent_files_mend(const char *state_dir, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Mending mending = { .server = { .descriptor = -1 },
                        .agent = { .descriptor = -1 },
                        .now_ms = now_ms };
    arena_init(&mending.arena, ARENA_UNLIMITED);
    bool ok = directory_open(state_dir, &state, err) &&
              directory_open_child(&state, SERVER_DIRECTORY, &mending.server, err) &&
              directory_open_child(&state, AGENT_DIRECTORY, &mending.agent, err);
    ok = ok ? mend(&mending, err) : err->kind == ERROR_NOT_FOUND;
    credential_clear(&mending.ca);
    directory_close(&mending.server);
    directory_close(&mending.agent);
    arena_clear(&mending.arena);
    return ok;
}
