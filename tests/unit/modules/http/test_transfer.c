#include "modules/http/transfer.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "../module_fixture.h"
#include "base/buf.h"

/* A local server that gives each connection the next response. */
typedef struct Server {
    int listener;
    const char *const *answers; /* ends with NULL */
    pthread_t thread;
} Server;

static void *serve(void *argument)
{
    Server *server = argument;
    for (const char *const *answer = server->answers; *answer != NULL; answer++) {
        char request[4000];
        int connection = accept(server->listener, NULL, NULL);
        if (connection < 0) {
            break;
        }
        (void)!read(connection, request, sizeof request);
        (void)!write(connection, *answer, strlen(*answer));
        close(connection);
    }
    return NULL;
}

/* Returns its address. */
static Str server_start(Fixture *fixture, Server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(listen(server->listener, 10), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return arena_format(&fixture->arena, "http://127.0.0.1:%u/x", ntohs(address.sin_port));
}

static void server_stop(Server *server)
{
    shutdown(server->listener, SHUT_RDWR); /* a client that did not request it does not get it */
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static void listen_to_progress(void *context, Call *call, Str line)
{
    buf_put(context, line);
    buf_put_c(context, "\n");
}

/* Programs run on this machine itself, where the head of a response is reported too. */
static int set_up_live(void **state)
{
    Fixture *fixture;
    if (set_up(state) != 0) {
        return -1;
    }
    fixture = *state;
    host_close(fixture->host);
    fixture->host = NULL;
    Buf *reported = arena_alloc(&fixture->arena, sizeof *reported);
    *reported = buf_make_in(&fixture->arena, BUF_UNLIMITED);
    fixture->services.context = reported;
    fixture->services.progress = listen_to_progress;
    if (!host_open("/", &fixture->host, &fixture->err)) {
        return -1;
    }
    fixture->call.host = fixture->host;
    return setenv("no_proxy", "*", 1);
}

static Str reported(const Fixture *fixture)
{
    return buf_str(fixture->services.context);
}

/* One transfer from a server with these responses. */
static bool transfer(Fixture *fixture, const char *const *answers, int64_t max_size, Transfer *out)
{
    AUTO(HostWriter) *writer = NULL;
    Server server = { .answers = answers };
    Str path = arena_format(&fixture->arena, "%s/f", fixture->root);
    Str url = server_start(fixture, &server);
    assert_true(host_remove(fixture->host, path, &fixture->err));
    assert_true(host_writer_open(fixture->host, path, &writer, &fixture->err));
    *out = (Transfer){ .call = &fixture->call,
                       .request = { .url = url, .max_size = max_size },
                       .writer = writer,
                       .kind = DIGEST_SHA256 };
    bool ok = transfer_run(out, &fixture->err);
    server_stop(&server);
    return ok;
}

#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void progress_is_reported_as_a_fraction(void **state)
{
    Fixture *fixture = *state;
    Transfer done;
    const char *const answers[] = {
        "HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 7\r\nConnection: "
        "close\r\n\r\nignored",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nConnection: close\r\n\r\nabc",
        NULL,
    };
    assert_true(transfer(fixture, answers, 10, &done));
    assert_str(done.digest, ABC);
    assert_int_equal(done.size, 3);
    assert_str(reported(fixture), "3 of 3 bytes\n");
}

static void an_unknown_length_is_omitted(void **state)
{
    Fixture *fixture = *state;
    Transfer done;
    const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nConnection: close\r\neden-status 500: x\r\n\r\nabc",
        NULL,
    };
    assert_true(transfer(fixture, answers, 10, &done));
    assert_str(done.digest, ABC);
    assert_str(reported(fixture), "3 bytes\n");
}

static void invalid_responses_are_failures(void **state)
{
    Fixture *fixture = *state;
    Transfer done;
    static const struct {
        const char *answer, *reported;
    } rows[] = {
        { "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcd", "larger than 'max_size' (3 bytes)" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", "larger than 'max_size' (3 bytes)" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "transfer closed with" },
        { "HTTP/1.1 206 Part\r\nContent-Length: 3\r\n\r\nabc",
          "the server responded with status 206" },
        { "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc", "returned error: 404" },
        { "what?\r\n", "HTTP/0.9" },
        { "", "Empty reply" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const answers[] = { rows[i].answer, NULL };
        assert_false(transfer(fixture, answers, 3, &done));
        if (strstr(fixture->err.text, rows[i].reported) == NULL) {
            fail_msg("%zu: %s", i, fixture->err.text);
        }
    }
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up_live, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(progress_is_reported_as_a_fraction),
        LIVE(an_unknown_length_is_omitted),
        LIVE(invalid_responses_are_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
