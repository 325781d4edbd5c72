/* Input: headers of a browser: Host, Origin, entity tags and accepted encodings. Invariants: only
 * the server's own names count as its own, whatever surrounds them; case does not matter. */
#include "api/page_rules.h"
#include "base/bug.h"
#include "net/host_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const Str names[] = { STR("eden1.example.org:1338"), STR("10.0.0.7:1338"),
                             STR("[fd00::7]:1338") };

static bool is_own(Str own, Str host)
{
    HostRules rules = { names, COUNT_OF(names), own };
    return host_is_own(&rules, host);
}

/* It contains the letters of every own name or of "localhost", or is an address. */
static void check_host(Str host)
{
    char upper[300];
    bool by_network = is_own(STR("10.0.0.9:1338"), host),
         by_loopback = is_own(STR("[::1]:1338"), host);
    bool is_address = false;
    for (size_t i = 0; i < host.len; i++) {
        is_address |= ascii_is_digit(host.data[i]) || host.data[i] == ':';
    }
    if (host.len < sizeof upper) {
        for (size_t i = 0; i < host.len; i++) {
            bool is_small = host.data[i] >= 'a' && host.data[i] <= 'z';
            upper[i] = (char)(is_small ? host.data[i] - 'a' + 'A' : host.data[i]);
        }
        BUG_IF(is_own(STR("10.0.0.9:1338"), str_from(upper, host.len)) != by_network);
    }
    BUG_IF(by_network && !is_address &&
           !str_eq_ignore_case(str_slice(host, 0, 17), STR("eden1.example.org")));
    BUG_IF(by_loopback && !by_network && !is_address &&
           !str_eq_ignore_case(str_slice(host, 0, 9), STR("localhost")));
    /* A foreign name does not become ours because the local address is unknown. */
    BUG_IF(is_own(STR_EMPTY, host) && !by_network);
    for (size_t i = 0; i < host.len; i++) {
        unsigned char c = (unsigned char)host.data[i];
        BUG_IF((by_network || by_loopback) && (c <= ' ' || c > '~' || strchr("/@?#\\", c) != NULL));
    }
}

static void check_origin(Str text)
{
    size_t line = str_find(text, STR("\n"), 0);
    Str origin = str_slice(text, 0, line);
    Str host = line == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(text, line + 1);
    BUG_IF(origin_is_own(origin, host) && origin.len != host.len + 8);
    BUG_IF(page_accepts_gzip(text) && text.len == 0);
    BUG_IF(page_is_cached(text, STR("\"abc\"")) &&
           str_find(text, STR("\"abc\""), 0) == STR_NOT_FOUND &&
           str_find(text, STR("*"), 0) == STR_NOT_FOUND);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    check_host(text);
    check_origin(text);
    return 0;
}
