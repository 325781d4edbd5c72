/* Addresses: a host name or an IP address with a port, or the path of a Unix socket. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

typedef enum AddressKind {
    ADDRESS_NAME, /* must be resolved */
    ADDRESS_IP,
    ADDRESS_UNIX,
} AddressKind;

enum {
    ADDRESS_HOST_MAX = 253,
    ADDRESS_TEXT_MAX = 64, /* longest printed peer address: "[IPv6]:port" and a NUL */
};

typedef struct Address {
    AddressKind kind;
    uint16_t port;                   /* 0 when listening: any free port */
    char host[ADDRESS_HOST_MAX + 1]; /* without brackets; for Unix sockets the path */
} Address;

/* Accepts "host", "host:port", "10.0.0.1:port", "[::1]:port", "::1", "unix:/path" and "/path".
 * Without a port, the port is `default_port`. */
MUST_CHECK bool address_parse(Str text, uint16_t default_port, Address *out, Error *err);
/* Returns the address of the Unix socket at a path, which may be relative. Fails with
 * ERROR_INVALID. */
MUST_CHECK bool address_unix(Str path, Address *out, Error *err);
/* In the syntax of address_parse, always with the port. */
void address_format(const Address *address, Buf *out);

/* Whether both refer to the same host, regardless of the port. Names are compared
 * case-insensitively and IP addresses by value; an IPv4 address equals its IPv4-mapped IPv6 form
 * ("::ffff:10.0.0.1"). */
bool address_same_host(const Address *a, const Address *b);
/* Whether it is an IP address of the loopback interface. */
bool address_is_loopback(const Address *address);
/* Whether it is "0.0.0.0" or "::" in any spelling, which means to listen on all addresses. */
bool address_is_any(const Address *address);
/* Turns an address to listen on into one that this machine can connect to. */
void address_make_connectable(Address *address);

/* An address as the kernel represents it. */
typedef struct SocketAddress {
    struct sockaddr_storage storage;
    socklen_t len;
} SocketAddress;

/* Not for names, which must be resolved first. */
SocketAddress address_to_socket(const Address *address);
/* "10.0.0.1:4242", "[::1]:4242"; "unix" for a Unix socket. */
void socket_address_format(const SocketAddress *address, char out[ADDRESS_TEXT_MAX]);
uint16_t socket_address_port(const SocketAddress *address); /* 0 for a Unix socket */

/* The unit by which connections are limited: an IPv4 address, or the /64 of an IPv6 address.
 * Returns false for Unix sockets, which have no origin. */
bool socket_address_origin(const SocketAddress *address, uint64_t *out);
