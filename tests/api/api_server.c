/* The API for third-party clients: api_server SOCKET CERTIFICATE KEY. Prints "port N" when it
 * listens on the Unix socket and with TLS on 127.0.0.1; exits cleanly on SIGTERM. The user who runs
 * it is the operator. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/api.h"
#include "cluster/state.h"
#include "net/watch.h"
#include "store/keys.h"
#include "sys/file.h"

static void die(const Error *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void describe(void *context, const Peer *peer, Caller *out)
{
    *out = (Caller){ .is_local = peer->is_local,
                     .is_operator = peer->is_local && peer->uid == getuid(),
                     .has_identity = peer->tls.has_identity };
}

static void signalled(void *context, bool readable, bool writable)
{
    loop_stop(context);
}

static void ignore(void *context)
{
}

static void ignore_error(void *context, const Error *err)
{
}

static Str read_whole(Arena *arena, const char *path)
{
    Str text;
    Error err;
    if (!file_read(arena, path, 1 << 20, &text, &err)) {
        die(&err);
    }
    return text;
}

static uint16_t listen_on(HttpServer *server, const ListenerOptions *options, const char *text)
{
    Address address;
    const Listener *listener;
    Error err;
    if (!address_parse(str_from_c(text), 0, &address, &err) ||
        !http_server_listen(server, options, &address, &listener, &err)) {
        die(&err);
    }
    return listener_port(listener);
}

static Watch *watch_signals(Loop *loop)
{
    sigset_t signals;
    Watch *watch;
    Error err;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (!watch_new(loop, signalfd(-1, &signals, SFD_CLOEXEC), signalled, loop, &watch, &err)) {
        die(&err);
    }
    watch_set(watch, true, false);
    return watch;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "api_server SOCKET CERTIFICATE KEY\n");
        return 2;
    }
    Arena arena;
    Error err;
    TlsContext *tls;
    arena_init(&arena, ARENA_UNLIMITED);
    Loop *loop = loop_new();
    Store *store = store_open_memory(loop, NULL);
    ClusterStore cluster_store = { loop, store, KEYS_PREFIX };
    State *state = cluster_store.state =
        state_new(&cluster_store,
                  &(StateEvents){ .ready = ignore, .stale = ignore_error, .current = ignore });
    Api *api = api_new(&(ApiSettings){
        .cluster_store = cluster_store, .cluster = STR("blue"), .describe = describe });
    HttpServerOptions options = http_server_defaults();
    options.loop = loop;
    api_serve(api, &options);
    HttpServer *server = http_server_new(&options);
    ListenerOptions listening = listener_defaults();
    listening.loop = loop;
    listen_on(server, &listening, argv[1]);
    TlsMaterial material = { .certificate = read_whole(&arena, argv[2]),
                             .key = read_whole(&arena, argv[3]) };
    TlsOptions wanted = { .role = TLS_SERVER_PUBLIC, .protocol = "http/1.1", .preferred = "h2" };
    if (!tls_context_new(loop, &wanted, &material, &tls, &err)) {
        die(&err);
    }
    listening.tls = tls;
    uint16_t port = listen_on(server, &listening, "127.0.0.1:0");
    Watch *watch = watch_signals(loop);
    printf("port %u\n", port);
    fflush(stdout);
    loop_run(loop);
    watch_free(watch);
    http_server_free(server);
    api_free(api);
    state_stop(state);
    state_free(state);
    store_close(store);
    tls_context_free(tls);
    loop_free(loop);
    arena_clear(&arena);
    return 0;
}
