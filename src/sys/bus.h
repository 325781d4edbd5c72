/* The system D-Bus: methods, properties and signals of services such as systemd and PackageKit.
 *
 * Implemented with libsystemd (sd-bus), which is loaded with dlopen on first use. On a machine
 * without it, or in a statically linked eden, bus_open fails with ERROR_UNAVAILABLE.
 *
 *     Bus *bus;
 *     if (!bus_acquire(host_shared(call->host), BUS_SYSTEM, &bus, err)) ...
 *     bus_subscribe(bus, &(BusMatch){ ... }, timeout, err)     before the call that causes them
 *     bus_call(bus, &(BusCall){ ... }, timeout, arena, &reply, err)
 *     while (bus_wait(bus, timeout, arena, &signal, err)) ...
 *     bus_release(host_shared(call->host), bus);
 *
 * A connection is used by one thread at a time. Messages are decoded into the caller's arena.
 * Accessors return an empty value for missing members, so a malformed reply does no harm. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/shared.h"

typedef struct Bus Bus;

typedef enum BusKind {
    BUS_SYSTEM, /* the system bus */
    /* systemd itself: as root through its private socket, which also works without a running bus;
     * otherwise through the system bus. */
    BUS_SYSTEMD,
} BusKind;

/* Fails with ERROR_UNAVAILABLE if there is no library or no bus. */
MUST_CHECK bool bus_open(BusKind kind, Bus **out, Error *err);
void bus_close(Bus *bus); /* NULL is allowed */
DEFINE_AUTO(Bus, bus_close)

/* An idle connection from the pool, or a new one. It belongs to the caller until bus_release;
 * broken connections are not returned to the pool. */
MUST_CHECK bool bus_acquire(Shared *shared, BusKind kind, Bus **out, Error *err);
void bus_release(Shared *shared, Bus *bus); /* NULL is allowed; drops all subscriptions */

enum {
    BUS_TIMEOUT_MS = 25000,  /* for calls without their own timeout */
    BUS_DEPTH_MAX = 64,      /* nested values */
    BUS_VALUES_MAX = 1 << 20 /* in one message */
};

/* How long to wait. Cancellation is noticed within 100 ms and fails with ERROR_UNAVAILABLE; a
 * timeout fails with ERROR_TIMEOUT. */
typedef struct BusTimeout {
    int64_t timeout_ms;          /* 0: BUS_TIMEOUT_MS; negative: no limit */
    const atomic_bool *canceled; /* may be NULL */
} BusTimeout;

/* --- Values ---------------------------------------------------------------------------------- */

typedef struct BusValue BusValue;
struct BusValue {
    /* As in a signature: y n q i u x (`integer`), t (`unsigned_integer`), b (`boolean`), d
     * (`number`), s o g (`text`); and with `items`: a (array), r (struct), e (dict entry), v
     * (variant, one item). h is not supported. 0: no value. */
    char type;
    uint32_t count;
    union {
        bool boolean;
        int64_t integer;
        uint64_t unsigned_integer;
        double number;
        Str text;
        const BusValue *items;
    };
    const char *of; /* the signature of the items, for values that are sent */
};

/* For arguments. */
static inline BusValue bus_string(Str text)
{
    return (BusValue){ .type = 's', .text = text };
}
static inline BusValue bus_path(Str text)
{
    return (BusValue){ .type = 'o', .text = text };
}
static inline BusValue bus_bool(bool boolean)
{
    return (BusValue){ .type = 'b', .boolean = boolean };
}
static inline BusValue bus_u32(uint32_t integer)
{
    return (BusValue){ .type = 'u', .integer = integer };
}
static inline BusValue bus_u64(uint64_t unsigned_integer)
{
    return (BusValue){ .type = 't', .unsigned_integer = unsigned_integer };
}
BusValue bus_strings(Arena *arena, const Str *texts, uint32_t count); /* "as" */

/* For received values. Never NULL: a value of type 0 represents a missing one. */
const BusValue *bus_item(const BusValue *value, uint32_t at);
/* An entry of a map ("a{s?}") by key; variants are unwrapped. */
const BusValue *bus_find(const BusValue *map, const char *key);
/* If the value has another type: empty, 0 or false. */
Str bus_text(const BusValue *value);
int64_t bus_integer(const BusValue *value); /* `t` is clamped to INT64_MAX */
bool bus_boolean(const BusValue *value);

/* --- Calls ----------------------------------------------------------------------------------- */

typedef struct BusCall {
    const char *service; /* "org.freedesktop.systemd1" */
    Str path;            /* "/org/freedesktop/systemd1" */
    const char *interface;
    const char *member;
    const BusValue *args;
    uint32_t arg_count;
} BusCall;

#define BUS_ARGS(...)                          \
    .args = (const BusValue[]){ __VA_ARGS__ }, \
    .arg_count = COUNT_OF(((const BusValue[]){ __VA_ARGS__ }))

/* `reply` (may be NULL) receives the arguments of the reply as items. An error reply fails with its
 * text and the kind that matches its name; see bus_error_name. */
MUST_CHECK bool bus_call(Bus *bus, const BusCall *call, BusTimeout timeout, Arena *arena,
                         BusValue *reply, Error *err);
/* "org.freedesktop.systemd1.NoSuchUnit"; empty if the last call did not fail with an error reply.
 * Valid until the next call. */
Str bus_error_name(const Bus *bus);

/* Properties: `object` names the object and the interface. One property, or all of them as a
 * map. */
MUST_CHECK bool bus_get(Bus *bus, const BusCall *object, const char *property, BusTimeout timeout,
                        Arena *arena, BusValue *out, Error *err);
MUST_CHECK bool bus_get_all(Bus *bus, const BusCall *object, BusTimeout timeout, Arena *arena,
                            BusValue *out, Error *err);

/* --- Signals --------------------------------------------------------------------------------- */

typedef struct BusMatch {
    const char *service; /* the sender; anyone on the bus can send a signal that looks the same */
    Str path;            /* empty: any */
    const char *interface;
    const char *member; /* NULL: any */
} BusMatch;

typedef struct BusSignal {
    /* not a signal: the service has left the bus, and the state of its work is unknown */
    bool is_service_lost;
    Str service;
    Str path, interface, member;
    BusValue args; /* as items */
} BusSignal;

/* Subscribes: matching signals are queued from now on, also during calls. Subscribe before the call
 * that causes the signals. The service must be running, or be activated by its first call. */
MUST_CHECK bool bus_subscribe(Bus *bus, const BusMatch *match, BusTimeout timeout, Error *err);
/* The next queued signal, in order of arrival. */
MUST_CHECK bool bus_wait(Bus *bus, BusTimeout timeout, Arena *arena, BusSignal *out, Error *err);
/* Ends all subscriptions and drops queued signals. */
void bus_unsubscribe_all(Bus *bus);
