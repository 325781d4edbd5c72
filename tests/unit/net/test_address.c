#include "net/address.h"

#include "unit.h"

static void addresses_are_read_and_printed(void **state)
{
    static const struct {
        const char *text, *printed;
        AddressKind kind;
    } rows[] = {
        { "web1", "web1:1337", ADDRESS_NAME },
        { "web-1.example.org:80", "web-1.example.org:80", ADDRESS_NAME },
        { "_a.b", "_a.b:1337", ADDRESS_NAME },
        { "10.0.0.1", "10.0.0.1:1337", ADDRESS_IP },
        { "10.0.0.1:0", "10.0.0.1:0", ADDRESS_IP },
        { "::1", "[::1]:1337", ADDRESS_IP },
        { "[::1]", "[::1]:1337", ADDRESS_IP },
        { "[fe80::1]:65535", "[fe80::1]:65535", ADDRESS_IP },
        { "unix", "unix:1337", ADDRESS_NAME },
        { "unix:80", "unix:80", ADDRESS_NAME },
        { "unix:/run/eden.sock", "unix:/run/eden.sock", ADDRESS_UNIX },
        { "/run/eden.sock", "unix:/run/eden.sock", ADDRESS_UNIX },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Address address;
        Error err = { 0 };
        AUTO_CLEAR(Buf) printed = buf_make(400);
        assert_true(address_parse(str_from_c(rows[i].text), 1337, &address, &err));
        assert_int_equal(address.kind, rows[i].kind);
        address_format(&address, &printed);
        assert_str(buf_str(&printed), rows[i].printed);
    }
}

static void anything_else_is_rejected(void **state)
{
    static const char *const rows[] = {
        "",
        ":",
        ":80",
        "web1:",
        "web1:x",
        "web1:65536",
        "web1:-1",
        "web1:+1",
        "web1: 80",
        "we b",
        "-oProxy=x",
        "a..b",
        ".a",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "[::1",
        "[::1]80",
        "[10.0.0.1]:1",
        "[web1]:1",
        "unix:run",
        "unix:",
        "/",
        "web1:000080",
        "::g",
        "fe80::1%eth0",
        "a@b",
        "a/b",
        "\xc3\xa4.de",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Address address;
        Error err = { 0 };
        if (address_parse(str_from_c(rows[i]), 1337, &address, &err)) {
            fail_msg("'%s' was taken", rows[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    Address address;
    Error err;
    assert_false(address_parse(str_from("a\0b", 3), 1, &address, &err));
    assert_false(address_parse(str_from("/a\0b", 4), 1, &address, &err));
    char long_text[400];
    memset(long_text, 'a', sizeof long_text);
    assert_false(address_parse(str_from(long_text, sizeof long_text), 1, &address, &err));
    long_text[0] = '/';
    assert_false(address_parse(str_from(long_text, 109), 1, &address, &err));
    assert_true(address_parse(str_from(long_text, 107), 1, &address, &err));
}

static uint64_t origin_of(const char *text)
{
    Address address;
    Error err;
    uint64_t origin;
    assert_true(address_parse(str_from_c(text), 1, &address, &err));
    SocketAddress socket = address_to_socket(&address);
    assert_true(socket_address_origin(&socket, &origin));
    return origin;
}

static void one_network_of_ipv6_is_one_origin(void **state)
{
    assert_true(origin_of("2001:db8::1") == origin_of("2001:db8::ffff:1"));
    assert_true(origin_of("2001:db8::1") != origin_of("2001:db8:0:1::1"));
    assert_true(origin_of("10.0.0.1") == origin_of("10.0.0.1:5"));
    assert_true(origin_of("10.0.0.1") != origin_of("10.0.0.2"));
    assert_true(origin_of("10.0.0.1") == origin_of("::ffff:10.0.0.1"));
    Address path = { .kind = ADDRESS_UNIX, .host = "/x" };
    SocketAddress socket = address_to_socket(&path);
    uint64_t origin;
    assert_false(socket_address_origin(&socket, &origin));
}

static Address parsed(const char *text)
{
    Address address;
    Error err;
    assert_true(address_parse(str_from_c(text), 1, &address, &err));
    return address;
}

static bool is_same(const char *a, const char *b)
{
    Address one = parsed(a), other = parsed(b);
    return address_same_host(&one, &other);
}

static void a_host_has_many_spellings(void **state)
{
    assert_true(is_same("Web1.example.org:5", "web1.example.ORG"));
    assert_true(is_same("[2001:db8::1]:5", "2001:0db8:0::0001"));
    assert_true(is_same("10.0.0.1", "::ffff:10.0.0.1"));
    assert_true(is_same("/x", "unix:/x"));
    assert_false(is_same("/x", "/X"));
    assert_false(is_same("10.0.0.1", "10.0.0.2"));
    assert_false(is_same("::1", "127.0.0.1"));
    assert_false(is_same("web1", "web2"));
    assert_false(is_same("/x", "x"));
    static const char *const near[] = { "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1" };
    static const char *const far[] = { "10.0.0.1", "::2", "localhost", "/x", "::ffff:1.127.0.0" };
    for (size_t i = 0; i < COUNT_OF(near); i++) {
        Address address = parsed(near[i]);
        assert_true(address_is_loopback(&address));
    }
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        Address address = parsed(far[i]);
        assert_false(address_is_loopback(&address));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_printed),
        cmocka_unit_test(anything_else_is_rejected),
        cmocka_unit_test(one_network_of_ipv6_is_one_origin),
        cmocka_unit_test(a_host_has_many_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
