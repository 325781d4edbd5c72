#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "module_fixture.h"

typedef struct Server {
    int listener;
    uint16_t port;
    const char *const *answers; /* one for each connection; ends with NULL */
    char request[1000];         /* the last one */
    pthread_t thread;
} Server;

static void *serve(void *argument)
{
    Server *server = argument;
    for (const char *const *answer = server->answers; *answer != NULL; answer++) {
        int connection = accept(server->listener, NULL, NULL);
        memset(server->request, 0, sizeof server->request);
        size_t len = 0;
        while (strstr(server->request, "\r\n\r\n") == NULL) {
            ssize_t got = read(connection, server->request + len, sizeof server->request - 1 - len);
            if (got <= 0) {
                break;
            }
            len += (size_t)got;
        }
        (void)!write(connection, *answer, strlen(*answer));
        close(connection);
    }
    return NULL;
}

static void server_open(Server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
}

static void use_wait(Fixture *fixture, uint16_t port)
{
    use_action(fixture, "net.wait_for");
    set_text(fixture, "host", "127.0.0.1");
    set_param(fixture, "port", value_int(port));
    set_param(fixture, "timeout", value_int(60000));
    set_param(fixture, "interval", value_int(1));
}

static void an_open_port_succeeds(void **state)
{
    Fixture *fixture = *state;
    Server server = { 0 };
    server_open(&server);
    assert_int_equal(listen(server.listener, 1000), 0);
    use_wait(fixture, server.port);
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    set_text(fixture, "host", "localhost");
    assert_true(run(fixture));
    set_text(fixture, "state", "closed");
    set_param(fixture, "timeout", value_int(5));
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
    close(server.listener);
}

static void a_closed_port_is_waited_for(void **state)
{
    Fixture *fixture = *state;
    Server server = { 0 };
    server_open(&server); /* bound, so the port is reserved, but it does not listen */
    use_wait(fixture, server.port);
    set_param(fixture, "timeout", value_int(5));
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
    assert_non_null(strstr(fixture->err.text, "no response: Connection refused"));
    assert_non_null(strstr(fixture->err.text, ", after 0."));
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    atomic_bool canceled = true;
    fixture->call.canceled = &canceled;
    set_param(fixture, "timeout", value_int(600000));
    assert_false(run(fixture));
    fixture->call.canceled = NULL;
    set_text(fixture, "state", "closed");
    assert_true(run(fixture));
    close(server.listener);
}

static void http_is_polled_until_the_status_matches(void **state)
{
    Fixture *fixture = *state;
    static const char *const answers[] = { "HTTP/1.1 503 Busy\r\n\r\n", "nonsense\r\n", "",
                                           "HTTP/1.1 200 OK\r\n\r\nfine", NULL };
    Server server = { .answers = answers };
    server_open(&server);
    assert_int_equal(listen(server.listener, 1000), 0);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
    use_wait(fixture, server.port);
    set_text(fixture, "path", "/health?x=1");
    if (!run(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    pthread_join(server.thread, NULL);
    assert_int_equal(strncmp(server.request, "GET /health?x=1 HTTP/1.1\r\nHost: 127.0.0.1:", 42),
                     0);
    close(server.listener);
}

static void invalid_parameters_fail_immediately(void **state)
{
    Fixture *fixture = *state;
    use_wait(fixture, 80);
    set_param(fixture, "port", value_int(70000));
    assert_false(plan(fixture));
    use_wait(fixture, 80);
    set_text(fixture, "path", "/a b\r\nX: y");
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(an_open_port_succeeds),
        IN_ROOT(a_closed_port_is_waited_for),
        IN_ROOT(http_is_polled_until_the_status_matches),
        IN_ROOT(invalid_parameters_fail_immediately),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
