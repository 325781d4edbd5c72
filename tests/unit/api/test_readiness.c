/* When a server is ready, and what it reports when it is not. */
#include "api/readiness.h"

#include "unit.h"

static void missing_conditions_are_named(void **state)
{
    static const ReadyCertificate good = { "serving", 100, 200 };
#define READY(...) "{\"format\":\"eden.ready/1\",\"ready\":" __VA_ARGS__
    static const struct {
        ReadyState state;
        bool in_detail;
        const char *text;
    } cases[] = {
        { { .is_writable = true, .now_ms = 100, .certificates = &good, .certificate_count = 1 },
          false,
          READY("true,\"problems\":[]}") },
        { { .is_writable = true, .now_ms = 199, .certificates = &good, .certificate_count = 1 },
          true,
          READY("true,\"problems\":[]}") },
        { { .is_writable = true, .leader = "s1" },
          true,
          READY("true,\"problems\":[],\"leader\":\"s1\"}") },
        { { .is_writable = true, .leader = "s1" }, false, READY("true,\"problems\":[]}") },
        { { .is_writable = true, .now_ms = 200, .certificates = &good, .certificate_count = 1 },
          false,
          READY("false,\"problems\":[{\"what\":\"certificate serving\",\"why\":\"expired\"}]}") },
        { { .is_writable = true, .now_ms = 99, .certificates = &good, .certificate_count = 1 },
          false,
          READY("false,\"problems\":[{\"what\":\"certificate serving\",\"why\":\"not valid yet; "
                "the system clock may be slow\"}]}") },
        { { .is_writable = true, .is_stopping = true },
          false,
          READY("false,\"problems\":[{\"what\":\"server\",\"why\":\"stopping\"}]}") },
        { { .store_error = "/var/lib/eden: the disk is full" },
          false,
          READY("false,\"problems\":[{\"what\":\"store\",\"why\":\"not writable\"}]}") },
        { { .condition = "damaged", .store_error = "/var/lib/eden/store.db is damaged" },
          false,
          READY("false,\"problems\":[{\"what\":\"store\",\"why\":\"not writable\","
                "\"condition\":\"damaged\"}]}") },
        { { .is_writable = true,
            .stale_since = "2027-01-15T08:00:00Z",
            .stale_error = "disk I/O error" },
          false,
          READY("false,\"problems\":[{\"what\":\"store\",\"why\":\"not responding\",\"condition\":"
                "\"unavailable\"}],\"stale_since\":\"2027-01-15T08:00:00Z\"}") },
        { { .is_writable = true,
            .stale_since = "2027-01-15T08:00:00Z",
            .stale_error = "disk I/O error" },
          true,
          READY("false,\"problems\":[{\"what\":\"store\",\"why\":\"disk I/O error\",\"condition\":"
                "\"unavailable\"}],\"stale_since\":\"2027-01-15T08:00:00Z\"}") },
        { { .condition = "lost",
            .store_error = "store.db is gone",
            .stale_since = "2027-01-15T08:00:00Z",
            .stale_error = "store.db is gone" },
          true,
          READY(
              "false,\"problems\":[{\"what\":\"store\",\"why\":\"store.db is gone\",\"condition\":"
              "\"lost\"}],\"stale_since\":\"2027-01-15T08:00:00Z\"}") },
        { { .store_error = "/var/lib/eden: the disk is full", .is_stopping = true },
          true,
          READY("false,\"problems\":[{\"what\":\"server\",\"why\":\"stopping\"},"
                "{\"what\":\"store\",\"why\":\"/var/lib/eden: the disk is full\"}]}") },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf out = buf_make(BUF_UNLIMITED);
        bool ok = readiness_put(&out, &cases[i].state, cases[i].in_detail);
        assert_int_equal(ok, strstr(cases[i].text, "\"ready\":true") != NULL);
        assert_str(buf_str(&out), cases[i].text);
        buf_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_conditions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
