#include "net/relay.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "net/connection.h"
#include "net/watch.h"
#include "world.h"

enum {
    LARGE = 4 << 20
};

/* A client, and a target that echoes. */
typedef struct Fixture {
    World world;
    Scratch *scratch;
    Relay *relay;
    int listening;
    Connection *client, *server;
    size_t got, wanted;
    bool client_closed, server_closed;
} Fixture;

static void nothing(void *context)
{
}

static void client_ready(void *context)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static void client_received(void *context, Str bytes)
{
    Fixture *f = context;
    f->got += bytes.len;
    if (f->got >= f->wanted) {
        loop_stop(f->world.loop);
    }
}

static void client_closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->client_closed = true;
    loop_stop(f->world.loop);
}

static void server_received(void *context, Str bytes)
{
    connection_write(((Fixture *)context)->server, bytes);
}

static void server_closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->server_closed = true;
    loop_stop(f->world.loop);
}

static const ConnectionEvents client_events = { client_ready, client_received, nothing,
                                                client_closed };
static const ConnectionEvents server_events = { client_ready, server_received, nothing,
                                                server_closed };

static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in place = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof place;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&place, sizeof place), 0);
    assert_int_equal(listen(descriptor, 8), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&place, &len), 0);
    *port = ntohs(place.sin_port);
    return descriptor;
}

static Address loopback(uint16_t port)
{
    Address address;
    Error err;
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    assert_true(address_parse(str_from_c(text), 0, &address, &err));
    return address;
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    uint16_t port;
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->listening = listen_somewhere(&port);
    Address target = loopback(port);
    assert_true(relay_open(f->world.loop, 0, &f->relay, &err));
    assert_true(relay_start(f->relay, &target, &err));
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    connection_free(f->client);
    connection_free(f->server);
    relay_close(f->relay);
    if (f->listening >= 0) {
        close(f->listening);
    }
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void on_connect(void *context, bool can_read, bool can_write)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static void connect_both(Fixture *f)
{
    Watch *watch;
    Error err;
    ConnectionOptions options = {
        .loop = f->world.loop, .open_timeout_ms = 10000, .events = &client_events, .context = f
    };
    Address address = loopback(relay_port(f->relay));
    f->client = connection_connect(&options, &address);
    world_run(&f->world);
    options.events = &server_events;
    assert_true(watch_new(f->world.loop, f->listening, on_connect, f, &watch, &err));
    watch_set(watch, true, false);
    world_run(&f->world);
    watch_free(watch);
    int descriptor = accept4(f->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(descriptor >= 0);
    f->server = connection_adopt(&options, descriptor);
    world_run(&f->world);
}

static void bytes_flow_in_both_directions(void **state)
{
    Fixture *f = *state;
    connect_both(f);
    f->wanted = 5;
    connection_write(f->client, STR("hello"));
    world_run(&f->world);
    assert_int_equal(f->got, 5);
}

static void large_transfers_arrive_completely(void **state)
{
    Fixture *f = *state;
    char *bytes = calloc(1, LARGE);
    connect_both(f);
    f->wanted = LARGE;
    connection_write(f->client, str_from(bytes, LARGE));
    world_run(&f->world);
    assert_int_equal(f->got, LARGE);
    free(bytes);
}

static void closing_one_side_closes_the_other(void **state)
{
    Fixture *f = *state;
    connect_both(f);
    connection_finish(f->client, 1000);
    while (!f->server_closed) {
        world_run(&f->world);
    }
}

static void an_unreachable_target_closes_the_connection(void **state)
{
    Fixture *f = *state;
    close(f->listening);
    f->listening = -1;
    ConnectionOptions options = {
        .loop = f->world.loop, .open_timeout_ms = 10000, .events = &client_events, .context = f
    };
    Address address = loopback(relay_port(f->relay));
    f->client = connection_connect(&options, &address);
    while (!f->client_closed) {
        world_run(&f->world);
    }
}

static void a_port_has_one_owner(void **state)
{
    Fixture *f = *state;
    Relay *other;
    Error err;
    assert_false(relay_open(f->world.loop, relay_port(f->relay), &other, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_flow_in_both_directions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_transfers_arrive_completely, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_one_side_closes_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unreachable_target_closes_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_port_has_one_owner, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
