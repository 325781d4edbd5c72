/* Metrics that a server can compute at any time. Loop thread only. */
#pragma once

#include "api/metrics_text.h"
#include "membership/admission.h"
#include "membership/own_certificates.h"
#include "membership/roster.h"
#include "net/listener.h"
#include "service/runs_service.h"
#include "service/session_service.h"
#include "source/versions.h"
#include "store/store.h"

enum {
    SERVER_LISTENERS = 4
};

typedef struct ServerListener {
    const char *name;
    const Listener *listener; /* NULL: no longer listening */
} ServerListener;

typedef struct ServerView {
    bool is_stopping, is_leader;
    int64_t started_ms;
    const Store *store;
    const State *state;
    const Roster *roster;
    AdmissionCounts joins;
    const SessionService *sessions;
    const RunsService *runs;
    const OwnCertificates *own;
    const CaSet *cas;
    const Versions *versions; /* NULL: not available yet */
    ServerListener listeners[SERVER_LISTENERS];
} ServerView;

void server_metrics_print(const ServerView *view, MetricsText *text);
