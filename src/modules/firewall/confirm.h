/* How new rules prove that they do not lock anybody out: parameter `confirm`. */
#pragma once

#include "modules/call.h"

typedef struct Confirm {
    bool wanted; /* false: nothing is asked */
    Str address;
    uint16_t port;
    Value command; /* missing: the port is asked */
    int64_t timeout_ms;
} Confirm;

MUST_CHECK bool confirm_read(Call *call, Confirm *out, Error *err);
/* Asks until the answer is good, for at most `timeout_ms`. False with what was wrong at last. */
MUST_CHECK bool confirm_ask(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err);
