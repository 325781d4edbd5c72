/* The filters and tests that Jinja2 does not have, in detail. */
#include "rows.h"

static void patterns_follow_python(void **state)
{
    static const Row rows[] = {
        { "'abxd' | regex_replace('x*', '-')", "-a-b--d-" },
        { "'ab' | regex_replace('', '.')", ".a.b." },
        { "'aXb' | regex_replace('x', '\\\\g<0>\\\\g<0>', ignorecase=true)", "aXXb" },
        { "'a.b' | regex_replace('\\\\.', '\\\\n') | length", "3" },
        { "'aaa' | regex_replace('a', 'b', count=2)", "bba" },
        { "'a' | regex_replace('(a)|(b)', '[\\\\1\\\\2]')", "[a]" },
        { "'abc' | regex_search('\\\\Z') == ''", "True" },
        { "'é' | regex_search('\\\\u00e9')", "é" },
        { "'straße 7' | regex_findall('\\\\w+')", "['straße', '7']" },
        { "'ab' | regex_search('(x)?b', '\\\\1')", "[None]" },
        { "'ab' | regex_match('b')", "None" },
        { "'a' | regex_search('(', '\\\\1')",
          "!ValueError: invalid pattern '(': missing closing parenthesis at position 1" },
        { "'a' | regex_search('a', '\\\\1')", "!ValueError: invalid group reference 1" },
        { "'a' | regex_search('a', 'x')", "!FilterArgumentError: Unknown argument 'x'; groups are "
                                          "written '\\\\1' or '\\\\g<name>'" },
        { "'a' | regex_replace('a', '\\\\q')", "!ValueError: bad escape \\q in the replacement" },
        { "'a' | regex_replace('a', '\\\\g<b>')", "!IndexError: unknown group name 'b'" },
        { "'a' | regex_replace('b', 'c', mandatory_count=1)",
          "!ValueError: regex_replace made 0 replacements, not 1" },
        { "'a' is regex('a', match_type='all')",
          "!FilterArgumentError: match_type must be search, match or fullmatch" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void maps_and_lists_are_merged(void **state)
{
    static const Row rows[] = {
        { "[{'a': 1}, {'b': 2}] | combine", "{'a': 1, 'b': 2}" },
        { "{'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='append_rp')", "{'l': [1, 2, 3]}" },
        { "{'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='prepend_rp')", "{'l': [2, 3, 1]}" },
        { "{'a': {'l': [1]}} | combine({'a': {'l': [2]}}, recursive=true, list_merge='append')",
          "{'a': {'l': [1, 2]}}" },
        { "{} | combine([1])", "!TypeError: combine() takes maps, not int" },
        { "{} | combine({}, list_merge='x')",
          "!FilterArgumentError: list_merge must be replace, keep, append, prepend, append_rp or "
          "prepend_rp, not 'x'" },
        { "{} | combine({}, deep=true)",
          "!TypeError: combine() got an unexpected keyword argument 'deep'" },
        { "[{'key': 1}] | items2dict", "!KeyError: items2dict requires 'value' in every item" },
        { "5 | dict2items", "!TypeError: dict2items requires a dictionary, got int instead" },
        { "[{'n': 'a'}] | subelements('k', skip_missing=true)", "[]" },
        { "[{'k': 5}] | subelements('k')",
          "!TypeError: subelements requires a list at this path, not int" },
        { "[1, [none, 'null', [2]]] | flatten", "[1, 2]" },
        { "[1, [2]] | flatten(0)", "[1, [2]]" },
        { "[1, 2] | combinations(3)", "[]" },
        { "[1, 2] | permutations(-1)", "!ValueError: r must be non-negative" },
        { "[1] | product([])", "[]" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void networks_can_be_queried(void **state)
{
    static const Row rows[] = {
        { "'192.168.32.0/24' | ipaddr('address')", "False" },
        { "'192.168.32.0/24' | ipaddr('net')", "192.168.32.0/24" },
        { "'192.168.32.1/24' | ipaddr('net')", "False" },
        { "'10.0.0.1' | ipaddr('host')", "10.0.0.1/32" },
        { "'10.0.0.1' | ipaddr('host/prefix')", "False" },
        { "'10.0.0.0/30' | ipaddr('range_usable')", "10.0.0.1-10.0.0.2" },
        { "'10.0.0.0/24' | ipaddr('-1')", "10.0.0.255/24" },
        { "'10.0.0.0/24' | ipaddr(256)", "False" },
        { "'10.0.0.7' | ipaddr('10.0.0.0/24')", "10.0.0.7" },
        { "'10.0.1.7' | ipaddr('10.0.0.0/24')", "False" },
        { "['8.8.8.8', '10.1.1.1', '127.0.0.1', 'fe80::1'] | ipaddr('public')", "['8.8.8.8']" },
        { "['8.8.8.8', '10.1.1.1'] | ipaddr('private')", "['10.1.1.1']" },
        { "'192.24.2.1' | ipaddr('ipv6')", "::ffff:192.24.2.1/128" },
        { "'::ffff:192.24.2.1/128' | ipaddr('ipv4')", "192.24.2.1/32" },
        { "'::/0' | ipaddr('size')", "340282366920938463463374607431768211456" },
        { "3232235777 | ipaddr", "192.168.1.1" },
        { "true | ipaddr", "False" },
        { "'10.0.0.1' | ipaddr('colour')", "!FilterArgumentError: unknown ipaddr query: 'colour'" },
        { "'2001:db8::/32' | ipsubnet(48, -1)", "2001:db8:ffff::/48" },
        { "'192.168.144.5' | ipsubnet(18, -1)", "192.168.144.4/31" },
        { "'192.168.144.16/30' | ipsubnet('192.168.0.0/16')", "9221" },
        { "'255.255.255.255' | ipmath(1)", "False" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void strings_are_parsed_and_formatted(void **state)
{
    static const Row rows[] = {
        { "'a' | b64decode", "!ValueError: Incorrect padding" },
        { "'YQ' | b64decode", "!ValueError: Incorrect padding" },
        { "'Y Q\n=\n=' | b64decode", "a" },
        { "'/w==' | b64decode", "!ValueError: the decoded data is not UTF-8" },
        { "'a' | hash('crc')", "!ValueError: unknown hash algorithm 'crc'" },
        { "'%ff%41' | urldecode", "\ufffd"
                                  "A" },
        { "'{' | from_json",
          "!ValueError: line 1, column 1: unclosed '{': unexpected end of input, expected a key or "
          "'}'" },
        { "'1 2' | from_yaml", "1 2" },
        { "'a: 1\n---\nb: 2' | from_yaml",
          "!ValueError: the string contains 2 YAML documents; use from_yaml_all" },
        { "'' | from_yaml is none", "True" },
        { "range(3) | to_yaml", "!TypeError: cannot convert a value of type range to YAML" },
        { "[missing] | to_json", "!TypeError: Object of type Undefined is not JSON serializable" },
        { "{'a': [1]} | to_json('-')", "{\n-\"a\": [\n--1\n-]\n}" },
        { "'2h' | human_to_bytes", "!ValueError: '2h' is not in bytes" },
        { "'2 Mb' | human_to_bytes", "!ValueError: '2 Mb' is not in bytes" },
        { "'2 Mb' | human_to_bytes(isbits=true)", "2097152" },
        { "'x' | human_to_bytes", "!ValueError: 'x' is not a size" },
        { "10 | human_readable(true)", "10.00 bits" },
        { "1024 | human_readable(unit='X')", "!ValueError: unknown unit 'X'" },
        { "-1 | root", "!ValueError: math domain error" },
        { "0 | log", "!ValueError: math domain error" },
        { "10.0 | pow(400)", "!OverflowError: math range error" },
        { "1e300 | strftime('%Y')", "!ValueError: the time is outside the years 1 to 9999" },
        { "86400 | strftime('%F')", "1970-01-02" },
        { "'%F' | strftime('x')", "!ValueError: could not convert string to float: 'x'" },
        { "missing | mandatory", "!UndefinedError: 'missing' is undefined" },
        { "missing | mandatory('set it')", "!UndefinedError: set it" },
        { "'a' | comment('basic')", "!FilterArgumentError: unknown comment style 'basic'; use "
                                    "plain, erlang, c, cblock or xml" },
        { "'http://[::1]:99999/' | urlsplit", "!ValueError: invalid port in URL" },
        { "'http://[::1]:80/' | urlsplit('hostname')", "::1" },
        { "'x' | urlsplit('colour')", "!FilterArgumentError: unknown URL component 'colour'" },
        { "'1.0' | version_compare('1.0', '~')", "!FilterArgumentError: unknown comparison '~'; "
                                                 "use < <= > >= == != or lt le gt ge eq ne" },
        { "'1.0' is version('1.0', version_type='semver')",
          "!ValueError: '1.0' or '1.0' is not a semantic version" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_follow_python),
        cmocka_unit_test(maps_and_lists_are_merged),
        cmocka_unit_test(networks_can_be_queried),
        cmocka_unit_test(strings_are_parsed_and_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
