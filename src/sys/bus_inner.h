/* Shared by the bus_*.c files: the functions of libsystemd as found by dlsym, and the conversion
 * between values and messages. Private. */
#pragma once

#include <systemd/sd-bus.h>

#include "sys/bus.h"

/* Every libsystemd function that is used. */
#define BUS_FUNCTIONS(X)               \
    X(sd_bus_call_async)               \
    X(sd_bus_close_unref)              \
    X(sd_bus_is_open)                  \
    X(sd_bus_message_append_basic)     \
    X(sd_bus_message_close_container)  \
    X(sd_bus_message_enter_container)  \
    X(sd_bus_message_exit_container)   \
    X(sd_bus_message_get_errno)        \
    X(sd_bus_message_get_error)        \
    X(sd_bus_message_get_interface)    \
    X(sd_bus_message_get_member)       \
    X(sd_bus_message_get_path)         \
    X(sd_bus_message_get_sender)       \
    X(sd_bus_message_get_type)         \
    X(sd_bus_message_new_method_call)  \
    X(sd_bus_message_open_container)   \
    X(sd_bus_message_peek_type)        \
    X(sd_bus_message_read_basic)       \
    X(sd_bus_message_ref)              \
    X(sd_bus_message_rewind)           \
    X(sd_bus_message_set_expect_reply) \
    X(sd_bus_message_skip)             \
    X(sd_bus_message_unref)            \
    X(sd_bus_new)                      \
    X(sd_bus_open_system)              \
    X(sd_bus_process)                  \
    X(sd_bus_send)                     \
    X(sd_bus_set_address)              \
    X(sd_bus_slot_unref)               \
    X(sd_bus_start)                    \
    X(sd_bus_wait)

#define BUS_FUNCTION_MEMBER(name) __typeof__(&(name)) name;
typedef struct BusLibrary {
    BUS_FUNCTIONS(BUS_FUNCTION_MEMBER)
} BusLibrary;
#undef BUS_FUNCTION_MEMBER

MUST_CHECK bool bus_library_open(BusLibrary *out, Error *err);

/* Text is copied into `arena` first. */
MUST_CHECK bool bus_append(const BusLibrary *library, sd_bus_message *message,
                           const BusValue *values, uint32_t count, Arena *arena, Error *err);
/* All arguments of the message, as items of `out`. */
MUST_CHECK bool bus_decode(const BusLibrary *library, sd_bus_message *message, Arena *arena,
                           BusValue *out, Error *err);

/* "cannot reach it: Connection refused", from a negative errno of libsystemd. Always false. */
bool bus_failure(Error *err, int result, const char *what);
