/* Prints the metrics of a server in the text format of Prometheus. */
#include "server/server_metrics.h"

#include "sys/own_usage.h"

static void put(MetricsText *text, Metric metric, int64_t value)
{
    metrics_text_int(text, metric, NULL, 0, value);
}

static void put_labeled(MetricsText *text, Metric metric, const char *label_name, const char *value,
                        int64_t number)
{
    MetricLabel label = { label_name, str_from_c(value) };
    metrics_text_int(text, metric, &label, 1, number);
}

static void put_nodes(const ServerView *view, MetricsText *text)
{
    SessionServiceCounts sessions = session_service_counts(view->sessions);
    uint32_t alive = roster_alive(view->roster);
    put_labeled(text, METRIC_NODES, "state", "alive", alive);
    put_labeled(text, METRIC_NODES, "state", "silent", (int64_t)roster_count(view->roster) - alive);
    put_labeled(text, METRIC_NODES, "state", "waiting", view->joins.waiting);
    put_labeled(text, METRIC_JOINS, "result", "admitted", (int64_t)view->joins.admitted);
    put_labeled(text, METRIC_JOINS, "result", "pending", (int64_t)view->joins.pending);
    put_labeled(text, METRIC_JOINS, "result", "refused", (int64_t)view->joins.refused);
    put_labeled(text, METRIC_JOINS, "result", "limited", (int64_t)view->joins.limited);
    put(text, METRIC_SESSIONS, sessions.live);
    put_labeled(text, METRIC_SESSION_RECORDS, "result", "taken", (int64_t)sessions.records);
    put_labeled(text, METRIC_SESSION_RECORDS, "result", "refused", (int64_t)sessions.refused);
}

static void put_certificates(const ServerView *view, MetricsText *text)
{
    static const char *const names[OWN_KINDS] = {
        [OWN_KIND_NODE] = "server", [OWN_KIND_SERVING] = "serving"
    };
    put_labeled(text, METRIC_CERT_EXPIRY, "certificate", "ca",
                view->cas->issuer->chain.items[0].not_after_ms / 1000);
    for (uint32_t i = 0; i < OWN_KINDS; i++) {
        const Credential *own = own_certificates_credential(view->own, (OwnCertificateKind)i);
        put_labeled(text, METRIC_CERT_EXPIRY, "certificate", names[i],
                    own->chain.items[0].not_after_ms / 1000);
    }
}

static void put_store(const ServerView *view, MetricsText *text)
{
    StoreStatus store = store_check_status(view->store);
    put(text, METRIC_STORE_WRITABLE, store.writable);
    put(text, METRIC_STORE_DAMAGED, store.condition == STORE_DAMAGED);
    put(text, METRIC_STORE_REVISION, store.revision);
    put(text, METRIC_STORE_COMPACTED, store.compacted);
    put(text, METRIC_STORE_BYTES, store.bytes);
    put(text, METRIC_STORE_LOG_BYTES, store.log_bytes);
    put(text, METRIC_STORE_DISK_BYTES, store.disk_bytes);
    put(text, METRIC_STORE_FULL, store.condition == STORE_FULL);
    put(text, METRIC_STORE_COMMITS, (int64_t)store.commits);
    put(text, METRIC_STORE_WRITES, (int64_t)store.writes);
    put(text, METRIC_STORE_PENDING, store.pending);
    put(text, METRIC_STORE_WATCHES, store.watches);
    put(text, METRIC_STORE_BEHIND, store.watches_behind);
    put(text, METRIC_STORE_LEASES, store.leases);
    put(text, METRIC_STATE_STALE, state_age(view->state).stale_since_ms / 1000);
}

static void put_versions(const ServerView *view, MetricsText *text)
{
    VersionsFreed freed = { 0 };
    if (view->versions != NULL) {
        freed = versions_freed(view->versions);
    }
    put(text, METRIC_VERSIONS_DELETED, (int64_t)freed.versions);
    put(text, METRIC_BLOBS_DELETED, (int64_t)freed.blobs);
    put(text, METRIC_BLOBS_DELETED_BYTES, (int64_t)freed.bytes);
}

static void put_run_logs(const ServerView *view, MetricsText *text)
{
    RunLogUsage usage = runs_service_log_usage(view->runs);
    put(text, METRIC_RUN_LOGS_BYTES, usage.bytes);
    put(text, METRIC_RUN_LOGS_LIMIT, usage.limit);
    put(text, METRIC_RUN_LOGS_REMOVED, (int64_t)usage.removed);
}

static void put_refused(MetricsText *text, const char *listener, const char *reason, uint64_t count)
{
    MetricLabel labels[] = { { "listener", str_from_c(listener) },
                             { "reason", str_from_c(reason) } };
    metrics_text_int(text, METRIC_CONNECTIONS_REFUSED, labels, COUNT_OF(labels), (int64_t)count);
}

/* Loops over metrics first, because the samples of a metric must be adjacent. */
static void put_connections(const ServerView *view, MetricsText *text)
{
    static const Metric metrics[] = { METRIC_CONNECTIONS, METRIC_CONNECTIONS_OPENING,
                                      METRIC_CONNECTIONS_ACCEPTED, METRIC_CONNECTIONS_REFUSED };
    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        for (size_t j = 0; j < SERVER_LISTENERS; j++) {
            const ServerListener *listener = &view->listeners[j];
            if (listener->listener == NULL) {
                continue;
            }
            ListenerCounts counts = listener_counts(listener->listener);
            if (metrics[i] == METRIC_CONNECTIONS) {
                put_labeled(text, metrics[i], "listener", listener->name, counts.established);
            } else if (metrics[i] == METRIC_CONNECTIONS_OPENING) {
                put_labeled(text, metrics[i], "listener", listener->name, counts.opening);
            } else if (metrics[i] == METRIC_CONNECTIONS_ACCEPTED) {
                put_labeled(text, metrics[i], "listener", listener->name, (int64_t)counts.accepted);
            } else {
                put_refused(text, listener->name, "full", counts.refused_full);
                put_refused(text, listener->name, "origin", counts.refused_origin);
                put_refused(text, listener->name, "handshake", counts.failed);
                put_refused(text, listener->name, "slow", counts.evicted);
            }
        }
    }
}

static void put_process(const ServerView *view, MetricsText *text)
{
    OwnUsage usage = own_usage();
    metrics_text_us(text, METRIC_PROCESS_CPU, NULL, 0, usage.cpu_us);
    put(text, METRIC_PROCESS_RESIDENT, usage.resident_bytes);
    put(text, METRIC_PROCESS_VIRTUAL, usage.virtual_bytes);
    put(text, METRIC_PROCESS_FDS, usage.descriptors);
    put(text, METRIC_PROCESS_FDS_MAX, usage.descriptors_max);
    put(text, METRIC_PROCESS_THREADS, usage.threads);
    put(text, METRIC_PROCESS_START, view->started_ms / 1000);
}

void server_metrics_print(const ServerView *view, MetricsText *text)
{
    put(text, METRIC_READY, !view->is_stopping);
    put(text, METRIC_LEADER, view->is_leader);
    put_nodes(view, text);
    put_certificates(view, text);
    put_store(view, text);
    put_versions(view, text);
    put_run_logs(view, text);
    put_connections(view, text);
    put_process(view, text);
}
