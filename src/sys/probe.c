#include "sys/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/clock.h"
#include "sys/name_service.h"

enum {
    CANCEL_POLL_MS = 50,
    ANSWER_MAX = 256, /* only the status line matters */
    ADDRESSES_MAX = 16
};

typedef struct Address {
    struct sockaddr_storage socket;
    socklen_t len;
} Address;

typedef VEC(Address) Addresses;

typedef struct Deadline {
    int64_t deadline_us;
    const atomic_bool *canceled;
} Deadline;

static bool push_address(Arena *arena, Addresses *addresses, Str text, uint16_t port)
{
    Address address = { 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address.socket;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address.socket;
    const char *name = arena_copy_c(arena, text);
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        address.len = sizeof *v4;
    } else if (inet_pton(AF_INET6, name, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        address.len = sizeof *v6;
    } else {
        return false;
    }
    if (addresses->len < ADDRESSES_MAX) {
        VEC_PUSH(arena, addresses, address);
    }
    return true;
}

/* Parses lines such as "93.184.216.34   STREAM example.org". */
static bool resolve(Arena *arena, Str host, uint16_t port, Addresses *out, Error *err)
{
    Str answer, line;
    if (push_address(arena, out, host, port)) {
        return true;
    }
    if (str_eq_ignore_case(host, STR("localhost"))) {
        return push_address(arena, out, STR("127.0.0.1"), port) &&
               push_address(arena, out, STR("::1"), port);
    }
    if (!name_service_query(arena, "ahosts", host, &answer, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND, "host '%" STR_FMT "' not found", STR_ARG(host))
                   : error_wrap(err, "host '%" STR_FMT "'", STR_ARG(host));
    }
    while (str_split_next(&answer, '\n', &line)) {
        if (str_find(line, STR("STREAM"), 0) != STR_NOT_FOUND) {
            push_address(arena, out, str_slice(line, 0, str_find(line, STR(" "), 0)), port);
        }
    }
    return out->len > 0 ||
           error_set(err, ERROR_NOT_FOUND, "'%" STR_FMT "' has no address", STR_ARG(host));
}

/* Waits until the socket is readable or writable. */
static bool wait_for(int socket, short events, const Deadline *deadline, Error *err)
{
    for (;;) {
        int64_t left_ms = (deadline->deadline_us - clock_monotonic_us() + 999) / 1000;
        if (left_ms <= 0) {
            return error_set(err, ERROR_TIMEOUT, "timed out");
        }
        if (deadline->canceled != NULL &&
            atomic_load_explicit(deadline->canceled, memory_order_relaxed)) {
            return error_set(err, ERROR_UNAVAILABLE, "canceled while deadline");
        }
        struct pollfd polled = { .fd = socket, .events = events };
        if (poll(&polled, 1, left_ms < CANCEL_POLL_MS ? (int)left_ms : CANCEL_POLL_MS) > 0) {
            return true;
        }
    }
}

static bool refused(Error *err, int number)
{
    return error_set(err, ERROR_UNAVAILABLE, "no response: %s", strerror(number));
}

static bool connect_one(const Address *address, const Deadline *deadline, int *out, Error *err)
{
    int family = address->socket.ss_family;
    int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return refused(err, errno);
    }
    bool ok = connect(descriptor, (const struct sockaddr *)&address->socket, address->len) == 0;
    if (!ok && errno == EINPROGRESS) {
        int number = 0;
        socklen_t len = sizeof number;
        ok = wait_for(descriptor, POLLOUT, deadline, err);
        if (ok && getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &len) == 0 && number != 0) {
            ok = refused(err, number);
        }
    } else if (!ok) {
        refused(err, errno);
    }
    if (!ok) {
        close(descriptor);
        return false;
    }
    *out = descriptor;
    return true;
}

static bool connect_any(Arena *arena, Str host, uint16_t port, const Deadline *deadline, int *out,
                        Error *err)
{
    Addresses addresses = { 0 };
    if (!resolve(arena, host, port, &addresses, err)) {
        return false;
    }
    for (uint32_t i = 0; i < addresses.len; i++) {
        if (connect_one(&addresses.items[i], deadline, out, err)) {
            return true;
        }
    }
    return false;
}

static Deadline make_deadline(int64_t timeout_ms, const atomic_bool *canceled)
{
    int64_t now = clock_monotonic_us();
    return (Deadline){ .deadline_us = timeout_ms > (INT64_MAX - now) / 1000
                                          ? INT64_MAX
                                          : now + timeout_ms * 1000,
                       .canceled = canceled };
}

bool probe_port(Arena *arena, Str host, uint16_t port, int64_t timeout_ms,
                const atomic_bool *canceled, Error *err)
{
    Deadline deadline = make_deadline(timeout_ms, canceled);
    int descriptor;
    if (!connect_any(arena, host, port, &deadline, &descriptor, err)) {
        return false;
    }
    close(descriptor);
    return true;
}

bool probe_is_local(Arena *arena, Str host)
{
    Addresses addresses = { 0 };
    Error err;
    if (!resolve(arena, host, 0, &addresses, &err)) {
        return true;
    }
    for (uint32_t i = 0; i < addresses.len; i++) {
        const Address *address = &addresses.items[i];
        int descriptor = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_own =
            descriptor < 0 ||
            bind(descriptor, (const struct sockaddr *)&address->socket, address->len) == 0 ||
            errno != EADDRNOTAVAIL;
        if (descriptor >= 0) {
            close(descriptor);
        }
        if (is_own) {
            return true;
        }
    }
    return false;
}

/* --- HTTP ----------------------------------------------------------------------------------- */

static bool send_all(int descriptor, Str text, const Deadline *deadline, Error *err)
{
    while (text.len > 0) {
        ssize_t put = send(descriptor, text.data, text.len, MSG_NOSIGNAL);
        if (put >= 0) {
            text = str_from_offset(text, (size_t)put);
        } else if (errno != EAGAIN && errno != EINTR) {
            return refused(err, errno);
        } else if (!wait_for(descriptor, POLLOUT, deadline, err)) {
            return false;
        }
    }
    return true;
}

/* The first line of the response. */
static bool receive_line(Arena *arena, int descriptor, const Deadline *deadline, Str *out,
                         Error *err)
{
    char *text = arena_alloc(arena, ANSWER_MAX);
    size_t len = 0;
    while (len < ANSWER_MAX && memchr(text, '\n', len) == NULL) {
        if (!wait_for(descriptor, POLLIN, deadline, err)) {
            return false;
        }
        ssize_t got = recv(descriptor, text + len, ANSWER_MAX - len, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (got <= 0) {
            return got < 0
                       ? refused(err, errno)
                       : error_set(err, ERROR_UNAVAILABLE,
                                   "the connection was closed before the response was complete");
        }
        len += (size_t)got;
    }
    *out = str_from(text, len);
    return true;
}

/* Parses "HTTP/1.1 200 OK". */
static bool parse_status(Str line, int *status, Error *err)
{
    int64_t number;
    if (!str_starts(line, STR("HTTP/1.")) || line.len < 12 || line.data[8] != ' ' ||
        !str_to_i64(str_slice(line, 9, 12), &number) || number < 100) {
        return error_set(err, ERROR_UNAVAILABLE, "the response is not HTTP");
    }
    *status = (int)number;
    return true;
}

static bool has_control(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

bool probe_http(Arena *arena, const ProbeUrl *url, int64_t timeout_ms, const atomic_bool *canceled,
                int *status, Error *err)
{
    Deadline deadline = make_deadline(timeout_ms, canceled);
    int descriptor;
    Str line = STR_EMPTY;
    if (has_control(url->path) || has_control(url->host) || !str_starts(url->path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid URL path",
                         STR_ARG(url->path));
    }
    if (!connect_any(arena, url->host, url->port, &deadline, &descriptor, err)) {
        return false;
    }
    bool v6 = str_find(url->host, STR(":"), 0) != STR_NOT_FOUND;
    Str request = arena_format(arena,
                               "GET %" STR_FMT " HTTP/1.1\r\nHost: %s%" STR_FMT "%s:%u\r\n"
                               "User-Agent: eden\r\nAccept: */*\r\nConnection: close\r\n\r\n",
                               STR_ARG(url->path), v6 ? "[" : "", STR_ARG(url->host), v6 ? "]" : "",
                               url->port);
    bool ok = send_all(descriptor, request, &deadline, err) &&
              receive_line(arena, descriptor, &deadline, &line, err) &&
              parse_status(line, status, err);
    close(descriptor);
    return ok;
}
