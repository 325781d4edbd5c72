/* Parsing, comparing and printing addresses. A text is a Unix path if it starts with '/' or
 * "unix:/", otherwise a host with an optional port; a host is an IP address if inet_pton accepts
 * it, otherwise it must be a DNS name. */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/bug.h"

static bool parse_port(Str text, uint16_t *out)
{
    unsigned port = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]) || i == 5) {
            return false;
        }
        port = port * 10 + (unsigned)(text.data[i] - '0');
    }
    if (text.len == 0 || port > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)port;
    return true;
}

/* Checks the syntax of a DNS name. A name whose last label is all digits is a mistyped IP
 * address. */
static bool is_name(Str host)
{
    size_t label = 0;
    bool digits = true;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.data[i];
        if (c == '.') {
            if (label == 0) {
                return false;
            }
            label = 0;
            digits = true;
        } else if (ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || (c == '-' && label > 0)) {
            label++;
            digits = digits && ascii_is_digit(c);
        } else {
            return false;
        }
        if (label > 63) {
            return false;
        }
    }
    return label > 0 && !digits;
}

bool address_unix(Str path, Address *out, Error *err)
{
    size_t max = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
    if (path.len == 0 || memchr(path.data, '\0', path.len) != NULL) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid socket path",
                         STR_ARG(path));
    }
    if (path.len > max) {
        return error_set(err, ERROR_INVALID,
                         "a socket path must be at most %zu bytes long: %" STR_FMT, max,
                         STR_ARG(path));
    }
    *out = (Address){ .kind = ADDRESS_UNIX };
    memcpy(out->host, path.data, path.len);
    return true;
}

static bool parse_unix(Str path, Address *out, Error *err)
{
    if (path.len < 2) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid socket path",
                         STR_ARG(path));
    }
    return address_unix(path, out, err);
}

static bool is_ip(int family, const char *host)
{
    struct in6_addr ignored;
    return inet_pton(family, host, &ignored) == 1;
}

bool address_parse(Str text, uint16_t default_port, Address *out, Error *err)
{
    if (str_starts(text, STR("unix:/"))) { /* a host may be named "unix" too */
        return parse_unix(str_from_offset(text, 5), out, err);
    }
    if (str_starts(text, STR("/"))) {
        return parse_unix(text, out, err);
    }
    Str host = text, port_text = STR_EMPTY;
    bool brackets = str_starts(text, STR("[")), has_port = false;
    if (brackets) {
        size_t end = str_find(text, STR("]"), 0);
        if (end == STR_NOT_FOUND) {
            return error_set(err, ERROR_INVALID, "missing ']' in '%" STR_FMT "'", STR_ARG(text));
        }
        host = str_slice(text, 1, end);
        port_text = str_from_offset(text, end + 1);
        has_port = port_text.len > 0;
        if (has_port && port_text.data[0] != ':') {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "': only a port may follow ']'",
                             STR_ARG(text));
        }
        port_text = str_from_offset(port_text, 1);
    } else {
        size_t colon = str_find(text, STR(":"), 0);
        /* With several colons it is an IPv6 address without a port. */
        if (colon != STR_NOT_FOUND && colon == str_find_last(text, STR(":"))) {
            host = str_slice(text, 0, colon);
            port_text = str_from_offset(text, colon + 1);
            has_port = true;
        }
    }
    Address parsed = { .kind = ADDRESS_IP, .port = default_port };
    if (has_port && !parse_port(port_text, &parsed.port)) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not a valid port, in '%" STR_FMT "'",
                         STR_ARG(port_text), STR_ARG(text));
    }
    if (host.len == 0 || host.len > ADDRESS_HOST_MAX || memchr(host.data, '\0', host.len) != NULL) {
        return error_set(err, ERROR_INVALID, "missing or invalid host in '%" STR_FMT "'",
                         STR_ARG(text));
    }
    memcpy(parsed.host, host.data, host.len);
    if (!is_ip(AF_INET6, parsed.host) && (brackets || !is_ip(AF_INET, parsed.host))) {
        if (brackets || !is_name(host)) {
            return error_set(err, ERROR_INVALID,
                             "'%" STR_FMT "' is neither a host name nor an IP "
                             "address",
                             STR_ARG(host));
        }
        parsed.kind = ADDRESS_NAME;
    }
    *out = parsed;
    return true;
}

void address_format(const Address *address, Buf *out)
{
    if (address->kind == ADDRESS_UNIX) {
        buf_put_format(out, "unix:%s", address->host);
    } else {
        bool v6 = strchr(address->host, ':') != NULL;
        buf_put_format(out, v6 ? "[%s]:%u" : "%s:%u", address->host, address->port);
    }
}

SocketAddress address_to_socket(const Address *address)
{
    SocketAddress out = { 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out.storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out.storage;
    struct sockaddr_un *path = (struct sockaddr_un *)&out.storage;
    BUG_IF(address->kind == ADDRESS_NAME);
    if (address->kind == ADDRESS_UNIX) {
        size_t len = strlen(address->host);
        path->sun_family = AF_UNIX;
        memcpy(path->sun_path, address->host, len + 1);
        out.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    } else if (inet_pton(AF_INET, address->host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address->port);
        out.len = sizeof *v4;
    } else {
        BUG_IF(inet_pton(AF_INET6, address->host, &v6->sin6_addr) != 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address->port);
        out.len = sizeof *v6;
    }
    return out;
}

void socket_address_format(const SocketAddress *address, char out[ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN];
    if (address->storage.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(out, ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(v4->sin_port));
    } else if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(out, ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        snprintf(out, ADDRESS_TEXT_MAX, "unix");
    }
}

uint16_t socket_address_port(const SocketAddress *address)
{
    if (address->storage.ss_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
    }
    if (address->storage.ss_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)&address->storage)->sin6_port);
    }
    return 0;
}

bool socket_address_origin(const SocketAddress *address, uint64_t *out)
{
    if (address->storage.ss_family == AF_INET) {
        *out = ntohl(((const struct sockaddr_in *)&address->storage)->sin_addr.s_addr);
        return true;
    }
    if (address->storage.ss_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            uint32_t v4;
            memcpy(&v4, &v6->s6_addr[12], sizeof v4);
            *out = ntohl(v4);
            return true;
        }
        /* No global IPv6 address has zeros in the half that overlaps the range of IPv4 origins. */
        uint64_t half = 0;
        for (int i = 0; i < 8; i++) {
            half = half << 8 | v6->s6_addr[i];
        }
        *out = half;
        return true;
    }
    return false;
}

/* Maps IPv4 addresses into IPv6, so that both can be compared. */
static struct in6_addr widen(const Address *address)
{
    SocketAddress socket = address_to_socket(address);
    struct in6_addr wide = { 0 };
    if (socket.storage.ss_family == AF_INET6) {
        return ((const struct sockaddr_in6 *)&socket.storage)->sin6_addr;
    }
    wide.s6_addr[10] = wide.s6_addr[11] = 0xff;
    memcpy(&wide.s6_addr[12], &((const struct sockaddr_in *)&socket.storage)->sin_addr, 4);
    return wide;
}

bool address_same_host(const Address *a, const Address *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == ADDRESS_IP) {
        struct in6_addr one = widen(a), other = widen(b);
        return memcmp(&one, &other, sizeof one) == 0;
    }
    return a->kind == ADDRESS_NAME ? str_eq_ignore_case(str_from_c(a->host), str_from_c(b->host))
                                   : strcmp(a->host, b->host) == 0;
}

bool address_is_loopback(const Address *address)
{
    if (address->kind != ADDRESS_IP) {
        return false;
    }
    struct in6_addr wide = widen(address);
    return IN6_IS_ADDR_LOOPBACK(&wide) || (IN6_IS_ADDR_V4MAPPED(&wide) && wide.s6_addr[12] == 127);
}

bool address_is_any(const Address *address)
{
    if (address->kind != ADDRESS_IP) {
        return false;
    }
    struct in6_addr wide = widen(address);
    static const uint8_t none[4];
    return IN6_IS_ADDR_UNSPECIFIED(&wide) ||
           (IN6_IS_ADDR_V4MAPPED(&wide) && memcmp(&wide.s6_addr[12], none, sizeof none) == 0);
}

void address_make_connectable(Address *address)
{
    if (address_is_any(address)) {
        bool is_v6 = strchr(address->host, ':') != NULL;
        snprintf(address->host, sizeof address->host, "%s", is_v6 ? "::1" : "127.0.0.1");
    }
}
