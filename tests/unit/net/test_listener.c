#include "net/listener.h"

#include <sys/un.h>

#include "world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Listener *listener;
    Address address;
    Connection *accepted[16];
    uint32_t count;
} Fixture;

static void nothing(void *context)
{
}

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

static const ConnectionEvents events = { nothing, received, nothing, closed };

static void accepted(void *context, Connection *connection)
{
    Fixture *f = context;
    connection_set_events(connection, &events, f);
    f->accepted[f->count++] = connection;
}

static ListenerOptions options_of(Fixture *f)
{
    ListenerOptions options = listener_defaults();
    options.loop = f->world.loop;
    options.accepted = accepted;
    options.context = f;
    options.connections_max = 3;
    return options;
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &f->address, &err));
    ListenerOptions options = options_of(f);
    assert_true(listener_open(&options, &f->address, &f->listener, &err));
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    for (uint32_t i = 0; i < f->count; i++) {
        connection_free(f->accepted[i]);
    }
    listener_close(f->listener);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static int connect_one(Fixture *f)
{
    SocketAddress to = address_to_socket(&f->address);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to.storage, to.len), 0);
    world_pass(&f->world, 5);
    return descriptor;
}

static void connections_are_limited(void **state)
{
    Fixture *f = *state;
    int descriptors[4];
    for (int i = 0; i < 4; i++) {
        descriptors[i] = connect_one(f);
    }
    ListenerCounts counts = listener_counts(f->listener);
    assert_int_equal(counts.established, 3);
    assert_int_equal(counts.refused_full, 1);
    char byte;
    assert_int_equal(read(descriptors[3], &byte, 1), 0); /* closed at once */
    connection_free(TAKE(f->accepted[0]));
    assert_int_equal(listener_counts(f->listener).established, 2);
    int again = connect_one(f);
    assert_int_equal(listener_counts(f->listener).established, 3);
    for (int i = 0; i < 4; i++) {
        close(descriptors[i]);
    }
    close(again);
}

static void a_stale_socket_is_replaced(void **state)
{
    Fixture *f = *state;
    ListenerOptions options = options_of(f);
    Listener *second;
    Error err;
    assert_false(listener_open(&options, &f->address, &second, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    listener_close(TAKE(f->listener));
    assert_int_equal(access(f->address.host, F_OK), -1);
    /* One that was not cleaned up. */
    SocketAddress at = address_to_socket(&f->address);
    int left = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(left, (struct sockaddr *)&at.storage, at.len), 0);
    close(left);
    assert_int_equal(access(f->address.host, F_OK), 0);
    assert_true(listener_open(&options, &f->address, &f->listener, &err));
    struct stat status;
    assert_int_equal(stat(f->address.host, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void other_files_at_the_socket_path_are_kept(void **state)
{
    Fixture *f = *state;
    scratch_put(f->scratch, "file", "precious");
    ListenerOptions options = options_of(f);
    Address address;
    Listener *second;
    Error err;
    assert_true(address_parse(str_from_c(scratch_place(f->scratch, "file")), 0, &address, &err));
    assert_false(listener_open(&options, &address, &second, &err));
    assert_int_equal(access(address.host, F_OK), 0);
}

static void plain_listeners_on_a_port_are_rejected(void **state)
{
    Fixture *f = *state;
    ListenerOptions options = options_of(f);
    Address address = { .kind = ADDRESS_IP, .host = "127.0.0.1" };
    Listener *second;
    Error err;
    assert_bug(if (listener_open(&options, &address, &second, &err)){});
    /* Except one class of listeners: net/plain_server.h. */
    options.is_without_tls = true;
    assert_true(listener_open(&options, &address, &second, &err));
    listener_close(second);
}

static void connections_outlive_their_listener(void **state)
{
    Fixture *f = *state;
    int descriptor = connect_one(f);
    assert_int_equal(f->count, 1);
    listener_close(TAKE(f->listener));
    connection_write(f->accepted[0], STR("still here"));
    char got[20] = { 0 };
    assert_int_equal(read(descriptor, got, sizeof got), 10);
    assert_true(connection_peer(f->accepted[0])->is_local);
    assert_int_equal(connection_peer(f->accepted[0])->pid, getpid());
    close(descriptor);
}

/* A client that does not read: the rest is queued, and sent when it does. */
static void data_the_kernel_does_not_accept_is_buffered(void **state)
{
    Fixture *f = *state;
    int descriptor = connect_one(f);
    static char bytes[1 << 20];
    memset(bytes, 'y', sizeof bytes);
    connection_write(f->accepted[0], str_from(bytes, sizeof bytes));
    size_t unsent = connection_unsent(f->accepted[0]), got = 0;
    assert_true(unsent > 0 && unsent < sizeof bytes);
    connection_write(f->accepted[0], STR("end"));
    assert_int_equal(connection_unsent(f->accepted[0]), unsent + 3);
    char last = 0;
    while (got < sizeof bytes + 3) {
        char chunk[1 << 16];
        ssize_t count = read(descriptor, chunk, sizeof chunk);
        assert_true(count > 0);
        got += (size_t)count;
        last = chunk[count - 1];
        world_pass(&f->world, 1);
    }
    assert_int_equal(last, 'd');
    assert_int_equal(connection_unsent(f->accepted[0]), 0);
    close(descriptor);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(connections_are_limited),
        ROW(a_stale_socket_is_replaced),
        ROW(other_files_at_the_socket_path_are_kept),
        ROW(plain_listeners_on_a_port_are_rejected),
        ROW(connections_outlive_their_listener),
        ROW(data_the_kernel_does_not_accept_is_buffered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
