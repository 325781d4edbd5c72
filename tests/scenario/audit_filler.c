/* Writes entries to the audit log of a stopped server, with old timestamps:
 *
 *     audit_filler STORE COUNT DAYS    STORE: the directory of its store; DAYS: the age of the last
 *                                      one
 *
 * Each is a second newer than the previous one. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/audit.h"
#include "base/bug.h"
#include "store/keys.h"
#include "sys/clock.h"

enum {
    SECOND_MS = 1000,
    WAITING_MAX = 1000, /* entries at a time */
};

static void written(void *context, uint64_t sequence, const Error *err)
{
    uint32_t *left = context;
    BUG_IF(err != NULL || *left == 0);
    --*left;
}

int main(int argc, char **argv)
{
    Store *store;
    Error err;
    BUG_IF(argc != 4);
    long count = atol(argv[2]);
    int64_t wall_ms = clock_now_ms() - atol(argv[3]) * 24 * 3600 * SECOND_MS - count * SECOND_MS;
    Loop *loop = loop_new_virtual(1);
    if (!store_open_sqlite(loop, argv[1], &(StoreSettings){ .existing = true }, &store, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    Audit *audit = audit_new(&(ClusterStore){ loop, store, KEYS_PREFIX });
    for (long done = 0; done < count;) {
        uint32_t left = 0;
        for (; done < count && left < WAITING_MAX; done++) {
            loop_virtual_set_wall(loop, wall_ms + done * SECOND_MS);
            left++;
            audit_append(audit,
                         &(AuditEntry){ .who = STR("ann (token 4l2ygazs)"),
                                        .principal_kind = PRINCIPAL_TOKEN,
                                        .address = STR("10.0.0.7:4242"),
                                        .verb = STR("update"),
                                        .kind = STR("Config"),
                                        .name = STR("cluster"),
                                        .reason = STR("\"quoted\" \xc3\xa4nderung"),
                                        .request = STR("0123456789abcdef"),
                                        .outcome = AUDIT_DONE },
                         written, &left);
        }
        loop_run_virtual_until(loop, loop_now_ms(loop) + 1);
        BUG_IF(left != 0);
    }
    audit_free(audit);
    store_close(store);
    loop_free(loop);
    return 0;
}
