/* One connection: calls that can be canceled, and signals that are queued during calls.
 *
 * Nothing here blocks inside libsystemd: calls are sent, and incoming messages are processed one by
 * one, in time slices between which cancellation is checked. Signals are selected by match rules;
 * because any client on the bus can send a signal to any other, the sender is also compared with
 * the owner of the service's name. */
#include "sys/bus.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/bus_inner.h"
#include "sys/clock.h"

#define DAEMON         "org.freedesktop.DBus"
#define SYSTEMD_SOCKET "unix:path=/run/systemd/private"

enum {
    SLICE_MS = 100, /* how long a cancellation may go unnoticed, in milliseconds */
    SLICE_LONG_MS = 5000,
    QUEUE_MAX = 1 << 16, /* queued signals */
    RULE_MAX = 1024
};

typedef struct Subscription {
    BusMatch match;
    Str rule;
    Str owner; /* the service's unique name; empty: not running */
} Subscription;

struct Bus {
    BusLibrary library;
    Arena arena; /* holds the Bus itself */
    Arena work;  /* subscriptions and queue; reset when there are none */
    BusKind kind;
    bool direct; /* a direct connection without a bus: one peer, which has no name */
    sd_bus *bus;
    VEC(Subscription) subscriptions;
    VEC(sd_bus_message *) queue;
    uint32_t queue_at; /* the next one to return */
    bool queue_overflowed;
    bool broken;
    char error_name[256];
};

/* --- Opening and closing --------------------------------------------------------------------- */

/* Like systemctl: root talks to systemd without a bus. */
static int open_systemd(Bus *bus)
{
    const BusLibrary *library = &bus->library;
    int result = geteuid() == 0 ? library->sd_bus_new(&bus->bus) : -EPERM;
    result = result < 0 ? result : library->sd_bus_set_address(bus->bus, SYSTEMD_SOCKET);
    result = result < 0 ? result : library->sd_bus_start(bus->bus);
    bus->direct = result >= 0;
    if (result < 0 && bus->bus != NULL) {
        bus->bus = library->sd_bus_close_unref(bus->bus);
    }
    return result;
}

bool bus_open(BusKind kind, Bus **out, Error *err)
{
    BusLibrary library;
    if (!bus_library_open(&library, err)) {
        return false;
    }
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Bus *bus = ARENA_NEW(&arena, Bus);
    bus->library = library;
    bus->arena = arena;
    bus->kind = kind;
    arena_init(&bus->work, ARENA_UNLIMITED);
    if (kind != BUS_SYSTEMD || open_systemd(bus) < 0) {
        int result = library.sd_bus_open_system(&bus->bus);
        if (result < 0) {
            bus->bus = NULL;
            bus_close(bus);
            bus_failure(err, result, "cannot connect to the system bus");
            err->kind = err->kind == ERROR_DENIED ? ERROR_DENIED : ERROR_UNAVAILABLE;
            return false;
        }
    }
    *out = bus;
    return true;
}

static void drop_queue(Bus *bus)
{
    while (bus->queue_at < bus->queue.len) {
        bus->library.sd_bus_message_unref(bus->queue.items[bus->queue_at++]);
    }
    bus->queue_at = 0;
    bus->queue.len = 0;
}

void bus_close(Bus *bus)
{
    if (bus == NULL) {
        return;
    }
    drop_queue(bus);
    if (bus->bus != NULL) {
        bus->library.sd_bus_close_unref(bus->bus);
    }
    arena_clear(&bus->work);
    Arena arena = bus->arena;
    arena_clear(&arena);
}

/* --- Incoming messages ----------------------------------------------------------------------- */

static bool equals(const char *text, const char *wanted)
{
    return text != NULL && wanted != NULL && strcmp(text, wanted) == 0;
}

static bool matches(const Bus *bus, const Subscription *subscription, sd_bus_message *message)
{
    const BusLibrary *library = &bus->library;
    const BusMatch *match = &subscription->match;
    const char *path = library->sd_bus_message_get_path(message);
    return equals(library->sd_bus_message_get_interface(message), match->interface) &&
           (match->member == NULL ||
            equals(library->sd_bus_message_get_member(message), match->member)) &&
           (match->path.len == 0 || str_eq_c(match->path, path == NULL ? "" : path)) &&
           (bus->direct ||
            str_eq(str_from_c(library->sd_bus_message_get_sender(message)), subscription->owner));
}

/* A service acquired or lost its name. */
static bool is_owner_change(const Bus *bus, sd_bus_message *message)
{
    const BusLibrary *library = &bus->library;
    return equals(library->sd_bus_message_get_sender(message), DAEMON) &&
           equals(library->sd_bus_message_get_interface(message), DAEMON) &&
           equals(library->sd_bus_message_get_member(message), "NameOwnerChanged");
}

static bool is_signal(const Bus *bus, sd_bus_message *message)
{
    uint8_t type = 0;
    return bus->library.sd_bus_message_get_type(message, &type) >= 0 &&
           type == SD_BUS_MESSAGE_SIGNAL;
}

static bool is_relevant(const Bus *bus, sd_bus_message *message)
{
    if (is_owner_change(bus, message)) {
        return bus->subscriptions.len > 0;
    }
    for (uint32_t i = 0; i < bus->subscriptions.len; i++) {
        if (matches(bus, &bus->subscriptions.items[i], message)) {
            return true;
        }
    }
    return false;
}

/* Owner changes arrive in the same stream as the signals, so a signal is checked against the owner
 * at the time it was sent. */
static void update_owner(Bus *bus, sd_bus_message *message)
{
    const char *name, *before, *after;
    const BusLibrary *library = &bus->library;
    if (library->sd_bus_message_read_basic(message, 's', &name) < 0 ||
        library->sd_bus_message_read_basic(message, 's', &before) < 0 ||
        library->sd_bus_message_read_basic(message, 's', &after) < 0) {
        return;
    }
    for (uint32_t i = 0; i < bus->subscriptions.len; i++) {
        if (equals(bus->subscriptions.items[i].match.service, name)) {
            bus->subscriptions.items[i].owner = arena_copy(&bus->work, str_from_c(after));
        }
    }
    library->sd_bus_message_rewind(message, true);
}

static void queue_signal(Bus *bus, sd_bus_message *message)
{
    if (!is_signal(bus, message) || !is_relevant(bus, message)) {
        return;
    }
    if (is_owner_change(bus, message)) {
        update_owner(bus, message);
    }
    if (bus->queue.len - bus->queue_at >= QUEUE_MAX) {
        bus->queue_overflowed = true;
        return;
    }
    VEC_PUSH(&bus->work, &bus->queue, bus->library.sd_bus_message_ref(message));
}

typedef struct Deadline {
    int64_t at_us; /* negative: none */
    const atomic_bool *canceled;
} Deadline;

static Deadline deadline_of(BusTimeout timeout)
{
    int64_t timeout_ms = timeout.timeout_ms == 0 ? BUS_TIMEOUT_MS : timeout.timeout_ms;
    return (Deadline){
        .at_us = timeout_ms < 0 ? -1 : clock_monotonic_us() + timeout_ms * 1000,
        .canceled = timeout.canceled,
    };
}

/* Processes one message, or waits for one until the slice is over. */
static bool pump(Bus *bus, const Deadline *deadline, Error *err)
{
    const BusLibrary *library = &bus->library;
    if (deadline->canceled != NULL && atomic_load(deadline->canceled)) {
        return error_set(err, ERROR_UNAVAILABLE, "canceled while waiting");
    }
    sd_bus_message *message = NULL;
    int result = library->sd_bus_process(bus->bus, &message);
    if (message != NULL) {
        queue_signal(bus, message);
        library->sd_bus_message_unref(message);
    }
    if (result == 0) {
        int64_t wait_us = (deadline->canceled != NULL ? SLICE_MS : SLICE_LONG_MS) * 1000;
        if (deadline->at_us >= 0) {
            int64_t left_us = deadline->at_us - clock_monotonic_us();
            if (left_us <= 0) {
                return error_set(err, ERROR_TIMEOUT, "timed out waiting for a reply");
            }
            wait_us = left_us < wait_us ? left_us : wait_us;
        }
        result = library->sd_bus_wait(bus->bus, (uint64_t)wait_us);
        result = result == -EINTR ? 0 : result;
    }
    if (result < 0) {
        bus->broken = true;
        bus_failure(err, result, "lost the connection to the system bus");
        err->kind = ERROR_UNAVAILABLE;
        return false;
    }
    return true;
}

/* --- Calls ----------------------------------------------------------------------------------- */

/* The ErrorKind for a D-Bus error name; a name that ends with '.' is a prefix. */
static const struct {
    const char *name;
    ErrorKind kind;
} kinds[] = {
    { DAEMON ".Error.AccessDenied", ERROR_DENIED },
    { DAEMON ".Error.AuthFailed", ERROR_DENIED },
    { DAEMON ".Error.InteractiveAuthorizationRequired", ERROR_DENIED },
    { DAEMON ".Error.InvalidArgs", ERROR_INVALID },
    { DAEMON ".Error.InvalidSignature", ERROR_INVALID },
    { DAEMON ".Error.FileExists", ERROR_CONFLICT },
    { DAEMON ".Error.FileNotFound", ERROR_NOT_FOUND },
    { DAEMON ".Error.UnknownInterface", ERROR_NOT_FOUND },
    { DAEMON ".Error.UnknownMethod", ERROR_NOT_FOUND },
    { DAEMON ".Error.UnknownObject", ERROR_NOT_FOUND },
    { DAEMON ".Error.UnknownProperty", ERROR_NOT_FOUND },
    { DAEMON ".Error.LimitsExceeded", ERROR_LIMIT },
    { DAEMON ".Error.Timeout", ERROR_TIMEOUT },
    { DAEMON ".Error.TimedOut", ERROR_TIMEOUT },
    { DAEMON ".Error.Disconnected", ERROR_UNAVAILABLE },
    { DAEMON ".Error.NameHasNoOwner", ERROR_UNAVAILABLE },
    { DAEMON ".Error.NoReply",
      /* the service has left the bus; timeouts are detected by our own clock */
      ERROR_UNAVAILABLE },
    { DAEMON ".Error.NoServer", ERROR_UNAVAILABLE },
    { DAEMON ".Error.ServiceUnknown", ERROR_UNAVAILABLE },
    { DAEMON ".Error.Spawn.", ERROR_UNAVAILABLE },
    { "org.freedesktop.systemd1.LoadFailed", ERROR_INVALID },
    { "org.freedesktop.systemd1.NoSuchJob", ERROR_NOT_FOUND },
    { "org.freedesktop.systemd1.NoSuchUnit", ERROR_NOT_FOUND },
    { "org.freedesktop.systemd1.ShuttingDown", ERROR_UNAVAILABLE },
    { "org.freedesktop.systemd1.UnitExists", ERROR_CONFLICT },
    { "org.freedesktop.systemd1.UnitMasked", ERROR_CONFLICT },
};

static ErrorKind kind_of(Str name, int number)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        Str known = str_from_c(kinds[i].name);
        if (str_ends(known, STR(".")) ? str_starts(name, known) : str_eq(name, known)) {
            return kinds[i].kind;
        }
    }
    Error err;
    bus_failure(&err, -number, "");
    return number == ENOENT ? ERROR_NOT_FOUND : number == EEXIST ? ERROR_CONFLICT : err.kind;
}

/* The reply is an error. */
static bool check_reply(Bus *bus, sd_bus_message *answer, Error *err)
{
    const sd_bus_error *error = bus->library.sd_bus_message_get_error(answer);
    if (error == NULL || error->name == NULL) {
        return true;
    }
    snprintf(bus->error_name, sizeof bus->error_name, "%s", error->name);
    Str message = str_trim(str_from_c(error->message));
    message = message.len > 0 ? message : str_from_c(error->name);
    return error_set(
        err, kind_of(str_from_c(error->name), bus->library.sd_bus_message_get_errno(answer)),
        "%" STR_FMT, STR_ARG(message));
}

Str bus_error_name(const Bus *bus)
{
    return str_from_c(bus->error_name);
}

typedef struct Reply {
    const BusLibrary *library;
    sd_bus_message *message;
} Reply;

static int receive_reply(sd_bus_message *message, void *context, sd_bus_error *error)
{
    Reply *answer = context;
    answer->message = answer->library->sd_bus_message_ref(message);
    return 1;
}

static bool make_message(Bus *bus, const BusCall *call, Arena *arena, sd_bus_message **out,
                         Error *err)
{
    const BusLibrary *library = &bus->library;
    sd_bus_message *message = NULL;
    int result = library->sd_bus_message_new_method_call(bus->bus, &message, call->service,
                                                         arena_copy_c(arena, call->path),
                                                         call->interface, call->member);
    if (result < 0) {
        return bus_failure(err, result, "cannot create the method call");
    }
    if (!bus_append(library, message, call->args, call->arg_count, arena, err)) {
        library->sd_bus_message_unref(message);
        return false;
    }
    *out = message;
    return true;
}

/* Waits for the reply, which the caller unrefs. */
static bool send_and_wait(Bus *bus, sd_bus_message *message, BusTimeout timeout,
                          sd_bus_message **answer_out, Error *err)
{
    const BusLibrary *library = &bus->library;
    Reply answer = { .library = library };
    Deadline deadline = deadline_of(timeout);
    sd_bus_slot *slot = NULL;
    int result =
        library->sd_bus_call_async(bus->bus, &slot, message, receive_reply, &answer, UINT64_MAX);
    if (result < 0) {
        bus->broken = true;
        bus_failure(err, result, "cannot send the method call");
        err->kind = err->kind == ERROR_OS ? ERROR_UNAVAILABLE : err->kind;
        return false;
    }
    bool ok = true;
    while (ok && answer.message == NULL) {
        ok = pump(bus, &deadline, err);
    }
    library->sd_bus_slot_unref(slot);
    if (answer.message != NULL) {
        *answer_out = answer.message;
        return true;
    }
    return ok;
}

bool bus_call(Bus *bus, const BusCall *call, BusTimeout timeout, Arena *arena, BusValue *reply,
              Error *err)
{
    sd_bus_message *message, *answer = NULL;
    bus->error_name[0] = '\0';
    if (!make_message(bus, call, arena, &message, err)) {
        return error_wrap(err, "%s", call->member);
    }
    bool ok = send_and_wait(bus, message, timeout, &answer, err);
    bus->library.sd_bus_message_unref(message);
    if (!ok) {
        return error_wrap(err, "%s", call->member);
    }
    BusValue all;
    ok = check_reply(bus, answer, err) &&
         (reply == NULL || bus_decode(&bus->library, answer, arena, &all, err));
    bus->library.sd_bus_message_unref(answer);
    if (ok && reply != NULL) {
        *reply = all;
    }
    return ok;
}

bool bus_get(Bus *bus, const BusCall *object, const char *property, BusTimeout timeout,
             Arena *arena, BusValue *out, Error *err)
{
    BusValue reply;
    BusCall call = { .service = object->service,
                     .path = object->path,
                     .interface = DAEMON ".Properties",
                     .member = "Get",
                     BUS_ARGS(bus_string(str_from_c(object->interface)),
                              bus_string(str_from_c(property))) };
    if (!bus_call(bus, &call, timeout, arena, &reply, err)) {
        return false;
    }
    *out = *bus_item(bus_item(&reply, 0), 0);
    return true;
}

bool bus_get_all(Bus *bus, const BusCall *object, BusTimeout timeout, Arena *arena, BusValue *out,
                 Error *err)
{
    BusValue reply;
    BusCall call = { .service = object->service,
                     .path = object->path,
                     .interface = DAEMON ".Properties",
                     .member = "GetAll",
                     BUS_ARGS(bus_string(str_from_c(object->interface))) };
    if (!bus_call(bus, &call, timeout, arena, &reply, err)) {
        return false;
    }
    *out = *bus_item(&reply, 0);
    return true;
}

/* --- Signals --------------------------------------------------------------------------------- */

static bool call_daemon(Bus *bus, const char *member, Str argument, BusTimeout timeout,
                        BusValue *reply, Error *err)
{
    BusCall call = { .service = DAEMON,
                     .path = STR("/org/freedesktop/DBus"),
                     .interface = DAEMON,
                     .member = member,
                     BUS_ARGS(bus_string(argument)) };
    return bus_call(bus, &call, timeout, &bus->work, reply, err);
}

static void append_condition(Buf *rule, const char *key, Str value)
{
    if (value.len > 0) {
        buf_put_format(rule, ",%s='%" STR_FMT "'", key, STR_ARG(value));
    }
}

static Str rule_of(Bus *bus, const BusMatch *match)
{
    Buf rule = buf_make_in(&bus->work, RULE_MAX);
    buf_put_c(&rule, "type='signal'");
    append_condition(&rule, "sender", str_from_c(match->service));
    append_condition(&rule, "path", match->path);
    append_condition(&rule, "interface", str_from_c(match->interface));
    append_condition(&rule, "member", str_from_c(match->member));
    return buf_str(&rule);
}

static Str owner_rule(Bus *bus, const char *service)
{
    return arena_format(&bus->work,
                        "type='signal',sender='" DAEMON "',interface='" DAEMON
                        "',member='NameOwnerChanged',arg0='%s'",
                        service);
}

/* Looks up the current owner of the name of the service. It is not an error if there is none. */
static bool find_owner(Bus *bus, Subscription *subscription, BusTimeout timeout, Error *err)
{
    BusValue reply;
    if (call_daemon(bus, "GetNameOwner", str_from_c(subscription->match.service), timeout, &reply,
                    err)) {
        subscription->owner = bus_text(bus_item(&reply, 0));
        return true;
    }
    return str_eq(bus_error_name(bus), STR(DAEMON ".Error.NameHasNoOwner"));
}

bool bus_subscribe(Bus *bus, const BusMatch *match, BusTimeout timeout, Error *err)
{
    Subscription subscription = { .match = *match };
    subscription.match.path = arena_copy(&bus->work, match->path);
    subscription.rule = rule_of(bus, match);
    VEC_PUSH(&bus->work, &bus->subscriptions, subscription);
    if (bus->direct) {
        return true; /* on a direct connection systemd sends every signal */
    }
    return call_daemon(bus, "AddMatch", owner_rule(bus, match->service), timeout, NULL, err) &&
           call_daemon(bus, "AddMatch", subscription.rule, timeout, NULL, err) &&
           find_owner(bus, &VEC_LAST(&bus->subscriptions), timeout, err);
}

/* Whether the message reports that a service with a subscription has left the bus. */
static bool is_name_lost(const Bus *bus, const BusValue *args, BusSignal *out)
{
    Str name = bus_text(bus_item(args, 0));
    if (bus_text(bus_item(args, 1)).len == 0) {
        return false; /* the service has acquired the name */
    }
    for (uint32_t i = 0; i < bus->subscriptions.len; i++) {
        if (str_eq_c(name, bus->subscriptions.items[i].match.service)) {
            *out = (BusSignal){ .is_service_lost = true, .service = name };
            return true;
        }
    }
    return false;
}

/* False if the signal does not match, or cannot be decoded (then `err->kind` is set). */
static bool read_signal(Bus *bus, sd_bus_message *message, Arena *arena, BusSignal *out, Error *err)
{
    const BusLibrary *library = &bus->library;
    BusValue args;
    err->kind = ERROR_NONE;
    if (!bus_decode(library, message, arena, &args, err)) {
        return error_wrap(err, "a signal");
    }
    if (is_owner_change(bus, message)) {
        return is_name_lost(bus, &args, out);
    }
    Str sender = STR_EMPTY;
    for (uint32_t i = 0; i < bus->subscriptions.len; i++) {
        if (matches(bus, &bus->subscriptions.items[i], message)) {
            sender = str_from_c(bus->subscriptions.items[i].match.service);
        }
    }
    *out = (BusSignal){
        .service = sender,
        .path = arena_copy(arena, str_from_c(library->sd_bus_message_get_path(message))),
        .interface = arena_copy(arena, str_from_c(library->sd_bus_message_get_interface(message))),
        .member = arena_copy(arena, str_from_c(library->sd_bus_message_get_member(message))),
        .args = args,
    };
    return true;
}

bool bus_wait(Bus *bus, BusTimeout timeout, Arena *arena, BusSignal *out, Error *err)
{
    Deadline deadline = deadline_of(timeout);
    for (;;) {
        while (bus->queue_at < bus->queue.len) {
            sd_bus_message *message = bus->queue.items[bus->queue_at++];
            bool ok = read_signal(bus, message, arena, out, err);
            bus->library.sd_bus_message_unref(message);
            if (ok || err->kind != ERROR_NONE) {
                return ok;
            }
        }
        bus->queue_at = 0;
        bus->queue.len = 0;
        if (bus->queue_overflowed) {
            bus->queue_overflowed = false;
            return error_set(err, ERROR_LIMIT, "more than %d signals are queued", QUEUE_MAX);
        }
        if (!pump(bus, &deadline, err)) {
            return false;
        }
    }
}

/* Sent without waiting for the reply: the bus processes messages in order. */
static void remove_rule(Bus *bus, Str rule)
{
    const BusLibrary *library = &bus->library;
    sd_bus_message *message;
    Error err;
    BusCall call = { .service = DAEMON,
                     .path = STR("/org/freedesktop/DBus"),
                     .interface = DAEMON,
                     .member = "RemoveMatch",
                     BUS_ARGS(bus_string(rule)) };
    if (make_message(bus, &call, &bus->work, &message, &err)) {
        library->sd_bus_message_set_expect_reply(message, false);
        bus->broken = library->sd_bus_send(bus->bus, message, NULL) < 0 || bus->broken;
        library->sd_bus_message_unref(message);
    }
}

void bus_unsubscribe_all(Bus *bus)
{
    for (uint32_t i = 0; !bus->direct && i < bus->subscriptions.len; i++) {
        remove_rule(bus, bus->subscriptions.items[i].rule);
        remove_rule(bus, owner_rule(bus, bus->subscriptions.items[i].match.service));
    }
    drop_queue(bus);
    memset(&bus->subscriptions, 0, sizeof bus->subscriptions);
    memset(&bus->queue, 0, sizeof bus->queue);
    bus->queue_overflowed = false;
    arena_reset(&bus->work);
}

/* --- Pool of idle connections ---------------------------------------------------------------- */

enum {
    IDLE_MAX = 8
};

typedef struct Idle {
    Bus *items[IDLE_MAX];
    uint32_t count;
} Idle;

static void idle_clear(void *value)
{
    Idle *idle = value;
    while (idle->count > 0) {
        bus_close(idle->items[--idle->count]);
    }
}

static const SharedKind idle_kind = { sizeof(Idle), idle_clear };

static bool is_usable(const Bus *bus)
{
    return !bus->broken && bus->library.sd_bus_is_open(bus->bus) > 0;
}

/* Processes what arrived while it was idle, to notice a closed connection. */
static bool is_alive(Bus *bus)
{
    Error err;
    Deadline now = { .at_us = 0 };
    while (pump(bus, &now, &err)) {
    }
    return err.kind == ERROR_TIMEOUT && is_usable(bus);
}

bool bus_acquire(Shared *shared, BusKind kind, Bus **out, Error *err)
{
    Bus *found = NULL;
    Idle *idle = shared_lock(shared, &idle_kind);
    for (uint32_t i = idle->count; i > 0 && found == NULL; i--) {
        if (idle->items[i - 1]->kind == kind) {
            found = idle->items[i - 1];
            idle->items[i - 1] = idle->items[--idle->count];
        }
    }
    shared_unlock(shared, &idle_kind);
    if (found != NULL && is_alive(found)) {
        *out = found;
        return true;
    }
    bus_close(found);
    return bus_open(kind, out, err);
}

void bus_release(Shared *shared, Bus *bus)
{
    if (bus == NULL) {
        return;
    }
    bus_unsubscribe_all(bus);
    Bus *spare = is_usable(bus) ? NULL : bus;
    Idle *idle = shared_lock(shared, &idle_kind);
    if (spare == NULL && idle->count < IDLE_MAX) {
        idle->items[idle->count++] = bus;
    } else {
        spare = bus;
    }
    shared_unlock(shared, &idle_kind);
    bus_close(spare);
}
