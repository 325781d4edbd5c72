#include "lang/template/ip.h"

#include "unit.h"

/* The parsed text, printed again with its prefix; "" if it is not an address. */
static const char *normal(const char *text)
{
    static char shown[80];
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Ip ip;
    if (!ip_parse(str_from_c(text), &ip)) {
        return "";
    }
    ip_put_cidr(ip.version, ip.address, ip.prefix, &out);
    snprintf(shown, sizeof shown, "%s", buf_c(&out));
    return shown;
}

static void addresses_survive_a_round_trip(void **state)
{
    assert_string_equal(normal("10.0.0.1"), "10.0.0.1/32");
    assert_string_equal(normal("10.0.0.1/8"), "10.0.0.1/8");
    assert_string_equal(normal("10.0.0.1/255.255.240.0"), "10.0.0.1/20");
    assert_string_equal(normal("0.0.0.0/0"), "0.0.0.0/0");
    assert_string_equal(normal("::"), "::/128");
    assert_string_equal(normal("FE80:0:0:0:0:0:0:1/10"), "fe80::1/10");
    assert_string_equal(normal("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1/128");
    assert_string_equal(normal("1:0:2:0:3:0:4:0"), "1:0:2:0:3:0:4:0/128");
    assert_string_equal(normal("1:2:3:4:5:6:7::"), "1:2:3:4:5:6:7:0/128");
    assert_string_equal(normal("::ffff:1.2.3.4"), "::ffff:1.2.3.4/128");
    assert_string_equal(normal("64:ff9b::1.2.3.4"), "64:ff9b::102:304/128");
}

static void invalid_addresses_are_rejected(void **state)
{
    static const char *const bad[] = {
        "",
        "1.2.3",
        "1.2.3.4.5",
        "256.0.0.1",
        "01.2.3.4",
        "1.2.3.4/33",
        "1.2.3.4/",
        "1.2.3.4/-1",
        "1..3.4",
        "a.b.c.d",
        "1.2.3.4/255.0.255.0",
        ":",
        ":::",
        "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "12345::",
        "g::",
        "::/129",
        "::1.2.3",
        "1.2.3.4::",
        "1:2:3:4:5:6:7:8::",
        "::1/1.2.3.4",
        " 1.2.3.4",
        "1.2.3.4 ",
        "+1.2.3.4",
        "1.2.3.4/+8",
        "::%eth0",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (normal(bad[i])[0] != '\0') {
            print_error("'%s' was taken for %s\n", bad[i], normal(bad[i]));
            fail();
        }
    }
}

static void networks_have_first_and_last_addresses(void **state)
{
    Ip ip, inner, other;
    assert_true(ip_parse(STR("192.168.32.45/20"), &ip));
    assert_true(ip_network(&ip) == 0xc0a82000u);
    assert_true(ip_last(&ip) == 0xc0a82fffu);
    assert_true(ip_parse(STR("192.168.33.0/24"), &inner));
    assert_true(ip_parse(STR("::/0"), &other));
    assert_true(ip_contains(&ip, &inner));
    assert_false(ip_contains(&inner, &ip));
    assert_false(ip_contains(&other, &ip)); /* another family */
    assert_true(ip_last(&other) == ~(IpNumber)0);
    assert_true(ip_netmask(&other) == 0);
}

static void reverse_names_and_numbers(void **state)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Ip ip;
    assert_true(ip_parse(STR("192.24.2.1"), &ip));
    ip_put_reverse(&ip, &out);
    assert_str(buf_str(&out), "1.2.24.192.in-addr.arpa.");
    buf_reset(&out);
    assert_true(ip_parse(STR("::1"), &ip));
    ip_put_reverse(&ip, &out);
    assert_str(buf_str(&out), "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
                              "ip6.arpa.");
    buf_reset(&out);
    ip_put_number(~(IpNumber)0, &out);
    assert_str(buf_str(&out), "340282366920938463463374607431768211455");
    buf_reset(&out);
    ip_put_number(0, &out);
    assert_str(buf_str(&out), "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_survive_a_round_trip),
        cmocka_unit_test(invalid_addresses_are_rejected),
        cmocka_unit_test(networks_have_first_and_last_addresses),
        cmocka_unit_test(reverse_names_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
