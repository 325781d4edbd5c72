#include "rpc/backoff.h"

int64_t backoff_ms(uint32_t failures, uint64_t random)
{
    int64_t most = BACKOFF_FIRST_MS;
    for (uint32_t i = 1; i < failures && most < BACKOFF_MAX_MS; i++) {
        most *= 2;
    }
    if (most > BACKOFF_MAX_MS) {
        most = BACKOFF_MAX_MS;
    }
    return (int64_t)(random % (uint64_t)(most + 1));
}
