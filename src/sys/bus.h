/* The system's D-Bus: methods, properties and signals of services such as systemd and PackageKit.
 *
 * The work is libsystemd's (sd-bus). It is opened when first needed and not linked: a machine
 * without it, or a statically linked eden, gets ERROR_UNAVAILABLE from bus_open and nothing else.
 *
 *     Bus *bus;
 *     if (!bus_take(host_shared(call->host), BUS_SYSTEM, &bus, err)) ...
 *     bus_expect(bus, &(BusMatch){ ... }, patience, err)     before the call that causes them
 *     bus_call(bus, &(BusCall){ ... }, patience, arena, &reply, err)
 *     while (bus_wait(bus, patience, arena, &signal, err)) ...
 *     bus_give(host_shared(call->host), bus);
 *
 * A connection is used by one thread at a time. Whatever comes from the bus is decoded into the
 * caller's arena; who asks for what is not there gets an empty value, so that a service that
 * answers strangely does no harm. */
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

typedef enum BusPlace {
    BUS_SYSTEM, /* the system bus */
    /* systemd itself: as root through its own socket, which also works while there is no bus, or
     * while the bus is restarted; else through the system bus. */
    BUS_SYSTEMD,
} BusPlace;

/* ERROR_UNAVAILABLE when there is no library or no bus. */
MUST_CHECK bool bus_open(BusPlace place, Bus **out, Error *err);
void bus_close(Bus *bus); /* NULL is fine */
DEFINE_AUTO(Bus, bus_close)

/* An open connection that nobody else uses, from those that were given back, or a new one. It
 * belongs to the caller until bus_give; broken ones are not kept. */
MUST_CHECK bool bus_take(Shared *shared, BusPlace place, Bus **out, Error *err);
void bus_give(Shared *shared, Bus *bus); /* NULL is fine; forgets what was expected */

enum {
    BUS_TIMEOUT_MS = 25000,  /* for calls that say nothing else */
    BUS_DEPTH_MAX = 64,      /* values in values */
    BUS_VALUES_MAX = 1 << 20 /* in one message */
};

/* How long somebody is waited for. Cancelling is noticed within a moment, with
 * ERROR_UNAVAILABLE; a timeout is ERROR_TIMEOUT. */
typedef struct BusPatience {
    int64_t timeout_ms;           /* 0: BUS_TIMEOUT_MS; negative: no limit */
    const atomic_bool *cancelled; /* may be NULL */
} BusPatience;

/* --- Values ---------------------------------------------------------------------------------- */

typedef struct BusValue BusValue;
struct BusValue {
    /* As in a signature: y n q i u x (`integer`), t (`natural`), b (`boolean`), d (`number`),
     * s o g (`text`); and with `items`: a (array), r (struct), e (dict entry), v (variant, of one
     * item). h is left out. 0: there is none. */
    char type;
    uint32_t count;
    union {
        bool boolean;
        int64_t integer;
        uint64_t natural;
        double number;
        Str text;
        const BusValue *items;
    };
    const char *of; /* the signature of what is inside, for values that are sent */
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
static inline BusValue bus_u64(uint64_t natural)
{
    return (BusValue){ .type = 't', .natural = natural };
}
BusValue bus_strings(Arena *arena, const Str *texts, uint32_t count); /* "as" */

/* For what was received. Never NULL: a value of type 0 stands for what is not there. */
const BusValue *bus_item(const BusValue *value, uint32_t at);
/* Of a map ("a{s?}"), by its key; a variant is looked into. */
const BusValue *bus_find(const BusValue *map, const char *key);
/* Of a value that may be of another type: empty, 0 and false then. */
Str bus_text(const BusValue *value);
int64_t bus_integer(const BusValue *value); /* `t` is cut at INT64_MAX */
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

/* `reply` (may be NULL) has the answer's arguments as items. An error of the other side fails with
 * its text and the kind that fits its name; bus_error_name tells that. */
MUST_CHECK bool bus_call(Bus *bus, const BusCall *call, BusPatience patience, Arena *arena,
                         BusValue *reply, Error *err);
/* "org.freedesktop.systemd1.NoSuchUnit"; empty when the last call did not end with an error of the
 * other side. Valid until the next call. */
Str bus_error_name(const Bus *bus);

/* Properties: `of` names the object and the interface they belong to. One, or all as a map. */
MUST_CHECK bool bus_get(Bus *bus, const BusCall *of, const char *property, BusPatience patience,
                        Arena *arena, BusValue *out, Error *err);
MUST_CHECK bool bus_get_all(Bus *bus, const BusCall *of, BusPatience patience, Arena *arena,
                            BusValue *out, Error *err);

/* --- Signals --------------------------------------------------------------------------------- */

typedef struct BusMatch {
    const char *service; /* whose signals: others can send what looks the same */
    Str path;            /* empty: any */
    const char *interface;
    const char *member; /* NULL: any */
} BusMatch;

typedef struct BusSignal {
    bool gone; /* none: the service has left the bus; what it was doing is lost or unknown */
    Str service;
    Str path, interface, member;
    BusValue args; /* as items */
} BusSignal;

/* From now on such signals are collected, also while a call goes on. Who waits for what a call
 * causes expects it before the call. The service must be running, or start with its first call. */
MUST_CHECK bool bus_expect(Bus *bus, const BusMatch *match, BusPatience patience, Error *err);
/* The next one that was expected, in the order they came. */
MUST_CHECK bool bus_wait(Bus *bus, BusPatience patience, Arena *arena, BusSignal *out, Error *err);
/* Nothing is expected any more; what was collected is dropped. */
void bus_forget(Bus *bus);
