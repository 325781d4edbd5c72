#include "server/services.h"

void services_open(const ServicesOptions *options, Services *out)
{
    const ClusterStore *cluster_store = &options->cluster_store;
    const ServerSettings *settings = options->settings;
    MethodBinding bindings[STORE_SERVICE_METHODS + 6 + SERVERS_SERVICE_METHODS];
    out->store = store_service_new(cluster_store->store, cluster_store->state);
    out->sessions =
        session_service_new(&(SessionServiceOptions){ .loop = cluster_store->loop,
                                                      .store = cluster_store->store,
                                                      .state = cluster_store->state,
                                                      .prefix = cluster_store->prefix,
                                                      .server = str_from_c(settings->node),
                                                      .store_id = str_from_c(settings->store_id),
                                                      .limits = settings->node_limits });
    out->pki = pki_service_new(options->certify);
    out->nodes = nodes_service_new(cluster_store, options->audit);
    out->runs = runs_service_new(cluster_store, options->runs, options->run_logs,
                                 session_service_budgets(out->sessions));
    out->blobs = blob_service_new(cluster_store, options->versions);
    out->servers = servers_service_new(&(ServersServiceOptions){ .cluster_store = *cluster_store,
                                                                 .sessions = out->sessions,
                                                                 .versions = options->versions,
                                                                 .directory = options->directory,
                                                                 .cas = options->certify->cas,
                                                                 .audit = options->audit,
                                                                 .prepare = options->prepare_files,
                                                                 .context = options->context });
    store_service_bind(out->store, bindings);
    bindings[STORE_SERVICE_METHODS] = session_service_binding(out->sessions);
    bindings[STORE_SERVICE_METHODS + 1] = pki_service_binding(out->pki);
    bindings[STORE_SERVICE_METHODS + 2] = nodes_service_binding(out->nodes);
    bindings[STORE_SERVICE_METHODS + 3] = runs_service_binding(out->runs);
    bindings[STORE_SERVICE_METHODS + 4] = blob_service_binding(out->blobs);
    bindings[STORE_SERVICE_METHODS + 5] = blob_service_list_binding(out->blobs);
    servers_service_bind(out->servers, &bindings[STORE_SERVICE_METHODS + 6]);
    out->dispatch = dispatch_new(bindings, COUNT_OF(bindings), options->describe, options->context);
}

void services_close(Services *services)
{
    dispatch_free(services->dispatch);
    store_service_free(services->store);
    pki_service_free(services->pki);
    nodes_service_free(services->nodes);
    runs_service_free(services->runs);
    blob_service_free(services->blobs);
    servers_service_free(services->servers);
    session_service_free(services->sessions);
    *services = (Services){ 0 };
}
