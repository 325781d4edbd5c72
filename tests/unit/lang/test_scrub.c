#include "lang/scrub.h"

#include <stdlib.h>

#include "unit.h"

static Arena arena;

static int set_up(void **state)
{
    arena_init(&arena, ARENA_UNLIMITED);
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(&arena);
    return 0;
}

static Scrubber *scrubber_of(const Str *secrets, size_t count)
{
    SecretSet set;
    secret_set_init(&set, &arena);
    for (size_t i = 0; i < count; i++) {
        secret_set_add(&set, secrets[i]);
    }
    Scrubber *scrubber;
    Error err;
    assert_true(scrubber_new(&set, &scrubber, &err));
    return scrubber;
}

static Str scrubbed(const Scrubber *scrubber, Str text)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    scrubber_apply(scrubber, text, &out);
    return arena_copy(&arena, buf_str(&out));
}

/* One secret, one text. */
static void assert_scrubbed(Str secret, Str text, const char *expected)
{
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    assert_str(scrubbed(scrubber, text), expected);
}

static void plain_secrets_are_replaced(void **state)
{
    Str secret = STR("hunter2");
    assert_scrubbed(secret, STR("password is hunter2."), "password is (secret).");
    assert_scrubbed(secret, STR("hunter2"), "(secret)");
    assert_scrubbed(secret, STR("hunter2 hunter2"), "(secret) (secret)");
    assert_scrubbed(secret, STR("hunterhunter2"), "hunter(secret)");
    assert_scrubbed(secret, STR("Hunter2 HUNTER2 hunter"), "(secret) (secret) hunter");
    assert_scrubbed(secret, STR(""), "");
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    assert_true(str_eq(scrubbed(scrubber, STR("a\0hunter2\0")), STR("a\0(secret)\0")));
}

static void assert_each_scrubbed(Str secret, const Str *texts, size_t count)
{
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    for (size_t i = 0; i < count; i++) {
        Str clean = scrubbed(scrubber, texts[i]);
        if (str_find(clean, STR(SCRUB_MARK), 0) == STR_NOT_FOUND || clean.len > 24) {
            fail_msg("\"%" STR_FMT "\" became \"%" STR_FMT "\"", STR_ARG(texts[i]), STR_ARG(clean));
        }
    }
}

static void letters_beyond_ascii_have_cases_and_escapes(void **state)
{
    const Str secret = STR("geh\u00e9im-\u00f1and\u00fa");
    const Str texts[] = {
        STR("gehéim-ñandú"),
        STR("GEHÉIM-ÑANDÚ"),
        STR("Gehéim-Ñandú"),
        STR("geh\\xe9im-\\xf1and\\xfa"),                /* Python's ascii() */
        STR("GEH\\xc9IM-\\xd1AND\\xda"),                /* the same of upper() */
        STR("geh\\xc3\\xa9im-\\xc3\\xb1and\\xc3\\xba"), /* of bytes */
        STR("geh\\u00e9im-\\u00f1and\\u00fa"),
        STR("geh\\U000000e9im-\\xf1and\\u00fa"),
        STR("GEH&#201;IM-&#209;AND&#218;"),
        STR("GEH%C3%89IM-%c3%91AND%C3%9A"),
    };
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_str(scrubbed(scrubber, texts[i]), "(secret)");
    }
    assert_scrubbed(STR("straße"), STR("STRASSE"), "(secret)");    /* a case may be longer */
    assert_scrubbed(STR("ſſ"), STR("ſſ class"), "(secret) class"); /* or shorter than the minimum */
    assert_scrubbed(STR("key-😀"), STR("'key-\\U0001f600'"), "'(secret)'");
    assert_scrubbed(STR("key-😀"), STR("\\Uffffffff \\x \\U0001f60"), "\\Uffffffff \\x \\U0001f60");
    assert_scrubbed(STR("ab\xff\xfe"), STR("AB\xff\xfe AB"), "(secret) AB"); /* not text at all */
}

static void overlapping_and_adjacent_secrets_are_merged(void **state)
{
    const Str secrets[] = { STR("password"), STR("pass"), STR("wordless"), STR("abab") };
    AUTO(Scrubber) *scrubber = scrubber_of(secrets, COUNT_OF(secrets));
    assert_str(scrubbed(scrubber, STR("-password-")), "-(secret)-"); /* the longer one */
    assert_str(scrubbed(scrubber, STR("-passwordless-")), "-(secret)-");
    assert_str(scrubbed(scrubber, STR("-passpass-")), "-(secret)-");
    assert_str(scrubbed(scrubber, STR("-ababab-")), "-(secret)-");
    assert_str(scrubbed(scrubber, STR("-swordless-")), "-s(secret)-");
}

static void short_texts_are_not_secrets(void **state)
{
    const Str secrets[] = { STR("abc"), STR(""), STR("x") };
    AUTO(Scrubber) *scrubber = scrubber_of(secrets, COUNT_OF(secrets));
    assert_str(scrubbed(scrubber, STR("abc x abcabc")), "abc x abcabc");
    assert_scrubbed(STR("abcd"), STR("abcd"), "(secret)");
}

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static Str base64(Str data, const char *alphabet, bool padding)
{
    char *out = arena_alloc(&arena, data.len * 2 + 4);
    size_t len = 0;
    for (size_t i = 0; i < data.len; i += 3) {
        unsigned char bytes[3] = { 0 };
        size_t count = data.len - i < 3 ? data.len - i : 3;
        memcpy(bytes, data.data + i, count);
        uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        for (size_t j = 0; j < 4; j++) {
            if (j <= count) {
                out[len++] = alphabet[word >> (18 - 6 * j) & 63];
            } else if (padding) {
                out[len++] = '=';
            }
        }
    }
    return str_from(out, len);
}

/* Any bytes as secret, at every alignment in longer data, in both alphabets: exactly the characters
 * that contain bits of the secret are removed. */
static void base64_is_found_at_every_alignment(void **state)
{
    uint32_t random = 7;
    for (int round = 0; round < 2000; round++) {
        char bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24);
        }
        size_t before = (size_t)round % 7;
        size_t len = 4 + (size_t)round / 7 % 30;
        size_t behind = (random >> 16) % 7;
        bool padding = round % 2 == 0;
        Str secret = str_from(bytes + before, len);
        Str encoded = base64(str_from(bytes, before + len + behind),
                             round % 3 == 0 ? standard : url_safe, padding);
        size_t first = before * 8 / 6;
        size_t last = ((before + len) * 8 - 1) / 6;
        Str rest = str_from_offset(encoded, last + 1);
        if (str_starts(rest, STR("="))) {
            rest = STR_EMPTY; /* padding is removed with the secret */
        }
        AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
        Str text = arena_format(&arena, "token: %" STR_FMT "; end", STR_ARG(encoded));
        Str expected = arena_format(&arena, "token: %" STR_FMT SCRUB_MARK "%" STR_FMT "; end",
                                    STR_ARG(str_slice(encoded, 0, first)), STR_ARG(rest));
        assert_str(scrubbed(scrubber, text), arena_copy_c(&arena, expected));
    }
}

static void base64_is_found_after_other_letters(void **state)
{
    Str secret = STR("hunter2-hunter2");
    Str encoded = base64(secret, standard, true);
    const char *before[] = { "x", "xy", "xyz", "word ", "--", "=", "key=", "\"" };
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        Str text = arena_format(&arena, "%s%" STR_FMT, before[i], STR_ARG(encoded));
        Str expected = arena_format(&arena, "%s(secret)", before[i]);
        assert_scrubbed(secret, text, arena_copy_c(&arena, expected));
    }
}

static void base64_is_found_across_lines(void **state)
{
    char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 37 + 11);
    }
    Str secret = str_from(bytes + 20, 150);
    Str encoded = base64(str_from(bytes, sizeof bytes), standard, true);
    const char *line_ends[] = { "\n", "\r\n", "\n    ", "\\n", "\\r\\n" };
    for (size_t i = 0; i < COUNT_OF(line_ends); i++) {
        AUTO_CLEAR(Buf) wrapped = buf_make(BUF_UNLIMITED);
        for (size_t at = 0; at < encoded.len; at += 76) {
            buf_put(&wrapped, str_slice(encoded, at, at + 76));
            buf_put_c(&wrapped, line_ends[i]);
        }
        AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
        Str clean = scrubbed(scrubber, buf_str(&wrapped));
        Str expected = arena_format(&arena, "%" STR_FMT SCRUB_MARK,
                                    STR_ARG(str_slice(encoded, 0, 20 * 8 / 6)));
        assert_true(str_starts(clean, expected));
        assert_true(clean.len < 100); /* only the data after the secret is left */
    }
}

static void escaped_base64_is_found(void **state)
{
    Str secret = STR("\xfb\xff\xbf\xfb\xff"); /* +/+/+/8= */
    assert_str(base64(secret, standard, true), "+/+/+/8=");
    assert_scrubbed(secret, STR("t=%2B%2F%2b%2f%2B%2F8%3D&x"), "t=(secret)&x");
    assert_scrubbed(secret, STR("\"+\\/+\\/+\\/8=\""), "\"(secret)\"");
    assert_scrubbed(secret, STR("-_-_-_8"), "(secret)");
    assert_scrubbed(secret, STR("+/+/+/9="), "(secret)"); /* bits that padding leaves open */
    assert_scrubbed(secret, STR("+/+/+/"), "+/+/+/");     /* not all of it */
}

static void any_percent_escapes_are_found(void **state)
{
    Str secret = STR("p@ss w\xc3\xb6rd/+\n");
    const Str spellings[] = {
        STR("p%40ss%20w%C3%B6rd%2F%2B%0A"),
        STR("p%40ss+w%C3%B6rd%2F%2B%0A"),
        STR("p%40ss%20w%c3%b6rd%2f%2b%0a"),
        STR("p@ss%20w%C3%b6rd/+%0a"),
        STR("%70%40%73%73%20%77%c3%b6%72%64%2f%2b%0a"),
        STR("p%40ss+w\xc3\xb6rd/%2B\n"),
    };
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        Str text = arena_format(&arena, "?q=%" STR_FMT "&r=%%2", STR_ARG(spellings[i]));
        assert_scrubbed(secret, text, "?q=(secret)&r=%2");
    }
    assert_scrubbed(secret, STR("p%40ss+w%C3%B6r"), "p%40ss+w%C3%B6r");
    assert_scrubbed(STR("100%"), STR("100% 100%25 100%2"), "(secret) (secret) (secret)2");
    assert_scrubbed(STR("%41%42"), STR("%41%42 AB"), "(secret) AB"); /* raw, not decoded */
}

static void any_backslash_escapes_are_found(void **state)
{
    Str secret = STR("a\"b\\c\n\t/\xc3\xa9\xf0\x9f\x98\x80'z\x01");
    const Str spellings[] = {
        STR("a\\\"b\\\\c\\n\\t/\xc3\xa9\xf0\x9f\x98\x80'z\\u0001"),
        STR("a\\\"b\\\\c\\n\\t\\/\\u00e9\\ud83d\\ude00'z\\u0001"),
        STR("a\\\"b\\\\c\\n\\t/\\u00E9\\uD83D\\uDE00\\u0027z\\u0001"),
        STR("\\u0061\\u0022\\u0062\\u005c\\u0063\\u000a\\u0009\\u002f\\u00e9\\ud83d\\uDE00'"
            "z\\u0001"),
        STR("a\"b\\\\c\\n\\t/\xc3\xa9\xf0\x9f\x98\x80\\'z\\x01"), /* Python's repr */
    };
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        Str text = arena_format(&arena, "{\"p\": \"%" STR_FMT "\"}", STR_ARG(spellings[i]));
        assert_scrubbed(secret, text, "{\"p\": \"(secret)\"}");
    }
    assert_scrubbed(STR("a\\nb"), STR("a\\nb"), "(secret)"); /* raw, not decoded */
    assert_scrubbed(STR("a\\nb"), STR("\"a\\\\nb\""), "\"(secret)\"");
    assert_scrubbed(STR("<b>&"), STR("\\u003cb\\u003e\\u0026"), "(secret)");
    assert_scrubbed(STR("abcd"), STR("ab\\u00zz\\ud83d\\x\\"), "ab\\u00zz\\ud83d\\x\\");
}

static void truncated_escapes_are_plain_text(void **state)
{
    const Str texts[] = { STR("abc\\"), STR("abc\\u"), STR("abc\\u1"),       STR("abc\\x4"),
                          STR("abc%"),  STR("abc%4"),  STR("abc\\ud83d\\u"), STR("\\\\\\\\\\") };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        /* In memory of exactly its size, so that AddressSanitizer detects any read past its end. */
        char *copy = malloc(texts[i].len);
        memcpy(copy, texts[i].data, texts[i].len);
        char expected[32];
        snprintf(expected, sizeof expected, "%" STR_FMT, STR_ARG(texts[i]));
        assert_scrubbed(STR("hunter2"), str_from(copy, texts[i].len), expected);
        free(copy);
    }
}

static void shells_and_c_escape_any_character(void **state)
{
    assert_scrubbed(STR("a b$c!\xc3\xa9"), STR("a\\ b\\$c\\!\\303\\251."), "(secret).");
    assert_scrubbed(STR("it's mine"), STR("'it'\\''s mine'"), "'(secret)'");
    assert_scrubbed(STR("it's mine"), STR("'it'\"'\"'s mine'"), "'(secret)'");
    assert_scrubbed(STR("it's mine"), STR("p: 'it''s mine'"), "p: '(secret)'");
    assert_scrubbed(STR("it's mine"), STR("it\\'s\\ mine"), "(secret)");
    assert_scrubbed(STR("a.b-c"), STR("^a\\.b\\-c$"), "^(secret)$");
}

static void any_entities_are_found(void **state)
{
    Str secret = STR("a<b>&\"c'\xc3\xa9");
    const Str spellings[] = {
        STR("a&lt;b&gt;&amp;&quot;c&apos;\xc3\xa9"),
        STR("a&lt;b&gt;&amp;&#34;c&#39;&#xE9;"),
        STR("&#97;&#x3c;b>&amp;&#x00022;c'&#233;"),
    };
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        Str text = arena_format(&arena, "<p>%" STR_FMT "</p>", STR_ARG(spellings[i]));
        assert_scrubbed(secret, text, "<p>(secret)</p>");
    }
    assert_scrubbed(STR("abcd"), STR("a&#; &# &#x; &#9999999; &zz; &"),
                    "a&#; &# &#x; &#9999999; &zz; &");
}

static void hexadecimal_digits_are_found(void **state)
{
    Str secret = STR("hunter2");
    assert_scrubbed(secret, STR("h=68756e74657232;"), "h=(secret);");
    assert_scrubbed(secret, STR("68756E74657232"), "(secret)");
    assert_scrubbed(secret, STR("a68756e74657232a"), "a(secret)a"); /* not at an even offset */
    assert_scrubbed(secret, STR("0068756e7465723200"), "00(secret)00");
    assert_scrubbed(secret, STR("68:75:6e:74:65:72:32"), "(secret)");
    assert_scrubbed(secret, STR("6875 6e74\n6572 32\n"), "(secret)\n");
    assert_scrubbed(secret, STR("0x68756e74 0x65723200"), "0x(secret)00");
    assert_scrubbed(secret, STR("{ 0x6875, 0x6e74, 0x6572, 0x3221 }"), "{ 0x(secret)21 }");
    assert_scrubbed(secret, STR("68756e74-6572-3221"), "(secret)21");
    assert_scrubbed(secret, STR("[\"6875\", \"6e74\", \"6572\", \"32\"]"), "[\"(secret)\"]");
    assert_scrubbed(secret, STR("68756e746572"), "68756e746572");
}

/* Longer data is wrapped into lines, with something before or around each of them. */
static void quoted_encoded_lines_are_found(void **state)
{
    const Str texts[] = {
        STR("czNjcjN0LWh1\nbnRlcjI="),       STR("> czNjcjN0LWh1\n> bnRlcjI="),
        STR("+czNjcjN0LWh1\n+bnRlcjI="),     STR("-czNjcjN0LWh1\n-bnRlcjI="),
        STR("+ czNjcjN0LWh1\n+ bnRlcjI="),   STR("[\"czNjcjN0LWh1\", \"bnRlcjI=\"]"),
        STR("'czNjcjN0LWh1' .\n'bnRlcjI='"), STR("\"czNjcjN0LWh1\\n\" +\n\"bnRlcjI=\\n\""),
    };
    assert_each_scrubbed(STR("s3cr3t-hunter2"), texts, COUNT_OF(texts));
    const Str nested[] = {
        STR("> c2F5IFwi\n> aHVudGVyMlwi"), /* base64 of JSON */
        STR("{\"a\":[\"c2F5IFwi\",\"aHVudGVyMlwi\"]}"),
    };
    assert_each_scrubbed(STR("say \"hunter2\""), nested, COUNT_OF(nested));
}

static void a_secret_broken_into_lines_is_found(void **state)
{
    Str secret = STR("s3cr3t-hunter2");
    assert_scrubbed(secret, STR("a s3cr3t-\nhunter2 b"), "a (secret) b");
    assert_scrubbed(secret, STR("s3c\r\n   r3t-\n\thunter2"), "(secret)");
    assert_scrubbed(STR("hunter2"), STR("hun\n\t  ter2"), "(secret)");
    assert_scrubbed(STR("hunter2"), STR("hun ter2"), "hun ter2"); /* too short to be sure */
    assert_scrubbed(STR("my pw 1"), STR("my p\n  w 1"), "(secret)");
}

/* One number for each byte, with anything between them. */
static void lists_of_numbers_are_found(void **state)
{
    const Str texts[] = {
        STR("0x50, 0x61, 0x73, 0x73, 0x20, 0x31"),
        STR("{ 0X50,0X61,0X73,0X73,0X20,0X31 }"),
        STR("50,61,73,73,20,31"),
        STR("50-61-73-73-20-31"),
        STR("50:61:73:73:20:31"),
        STR("50 61 73 73 20 31"),
        STR("50\n61\n73\n73\n20\n31\n"),
        STR("50.61.73.73.20.31"),
        STR("[\"0x50\",\"0x61\",\"0x73\",\"0x73\",\"0x20\",\"0x31\"]"),
        STR("\\x50\\x61\\x73\\x73\\x20\\x31"),
        STR("\\\\x50\\\\x61\\\\x73\\\\x73\\\\x20\\\\x31"),
        STR("\\x{50}\\x{61}\\x{73}\\x{73}\\x{20}\\x{31}"),
        STR("\\u0050\\u0061\\u0073\\u0073\\u0020\\u0031"),
        STR("\\U00000050\\U00000061\\U00000073\\U00000073\\U00000020\\U00000031"),
        STR("U+0050 U+0061 U+0073 U+0073 U+0020 U+0031"),
        STR("%50%61%73%73%20%31"),
        STR("%u0050%u0061%u0073%u0073%u0020%u0031"),
        STR("=50=61=73=73=20=31"),
        STR("&#80;&#97;&#115;&#115;&#32;&#49;"),
        STR("&#x50;&#x61;&#x73;&#x73;&#x20;&#x31;"),
        STR("\\120\\141\\163\\163\\040\\061"),
        STR("120 141 163 163 040 061"),
        STR("['0o120', '0o141', '0o163', '0o163', '0o40', '0o61']"),
        STR("80, 97, 115, 115, 32, 49"),
        STR("[80, 97, 115, 115, 32, 49]"),
        STR("[80 97 115 115 32 49]"),
        STR("[\n  80,\n  97,\n  115,\n  115,\n  32,\n  49\n]"),
        STR("080 097 115 115 032 049"),
        STR("01010000 01100001 01110011 01110011 00100000 00110001"),
        STR("chr(80).chr(97).chr(115).chr(115).chr(32).chr(49)"),
        STR("CHR(80)||CHR(97)||CHR(115)||CHR(115)||CHR(32)||CHR(49)"),
        STR("Chr(&H50) & Chr(&H61) & Chr(&H73) & Chr(&H73) & Chr(&H20) & Chr(&H31)"),
        STR("db 50h, 61h, 73h, 73h, 20h, 31h"),
    };
    assert_each_scrubbed(STR("Pass 1"), texts, COUNT_OF(texts));
    const Str wide[] = {
        STR("[107, 101, 121, 45, 195, 169]"), /* bytes */
        STR("[107, 101, 121, 45, 233]"),      /* characters */
        STR("[107, 101, 121, 45, -61, -87]"), /* bytes with a sign */
        STR("6b 65 79 2d c3 a9"),
        STR("U+006B U+0065 U+0079 U+002D U+00E9"),
    };
    assert_each_scrubbed(STR("key-\u00e9"), wide, COUNT_OF(wide));
    assert_scrubbed(STR("Pass 1"), STR("80, 97, 115, 115, 32, 48"), "80, 97, 115, 115, 32, 48");
    assert_scrubbed(STR("Pass 1"), STR("80 and 97, 115, 115, 32, 49"),
                    "80 and 97, 115, 115, 32, 49");
}

static void a_secret_in_single_characters_is_found(void **state)
{
    const Str texts[] = {
        STR("P\na\ns\ns\n \n1\n"),
        STR("P\r\na\r\ns\r\ns\r\n \r\n1"),
        STR("P a s s   1"),
        STR("   P   a   s   s       1"),
        STR("P.a.s.s. .1"),
        STR("['P', 'a', 's', 's', ' ', '1']"),
        STR("- P\n- a\n- s\n- s\n- \n- 1"),
        STR("P\0a\0s\0s\0 \0001\0"),
        STR("P|a|s|s| |1"),
    };
    assert_each_scrubbed(STR("Pass 1"), texts, COUNT_OF(texts));
    assert_scrubbed(STR("troo"), STR("root root"), "root root"); /* by coincidence */
    assert_scrubbed(STR("troo"), STR("t r o o"), "(secret)");
    assert_scrubbed(STR("!$%&"), STR("! $ % &"), "(secret)");
}

/* Long secrets may be split in any way. */
static void parts_of_a_long_secret_are_found(void **state)
{
    const Str texts[] = {
        STR("s3cr3t\n+ 'hunter2'"),
        STR("+s3cr3t '\n+hunter2'"),
        STR("> s3cr3t 'h\n> unter2'"),
        STR("     1\ts3cr3\n     2\tt 'hunt\n     3\ter2'\n"), /* numbered lines */
        STR("s3cr3t   'hunter2'"),
        STR("s3cr 3t'h unte r2'"),
        STR("('s3cr3t '\n  '\\'hunter2\\'')"),
        STR("s3cr\033[31m3t 'hu\033[0mnter2'"),
        STR("s3cr3t \\\\\\'hunter2\\\\\\'"), /* JSON in JSON in JSON */
        STR("s3cr3t \\\\u0027hunter2\\\\u0027"),
        STR("s3cr3t%2520%2527hunter2%2527"),
        STR("s3cr3t &amp;#39;hunter2&amp;apos;"),
        STR("s3cr3t%20%5Cu0027hunter2%5Cu0027"),
        STR("''\"'\"'s3cr3t '\"'\"'\\'\"'\"''\"'\"'hunter2'"),
    };
    assert_each_scrubbed(STR("s3cr3t 'hunter2'"), texts, COUNT_OF(texts));
    assert_scrubbed(STR("<<hunter2-x>>"), STR("a \\<\\<hunter2\\-x\\>\\> b"), "a (secret) b");
}

/* xxd, hexdump and od, which show offsets and sometimes the text beside it. */
static void dumps_are_found(void **state)
{
    const Str texts[] = {
        STR("00000000: 7333 6372 3374 2022 6875 6e74 6572 322d  s3cr3t \"hunter2-\n"
            "00000010: c3a9 22                                  ..\"\n"),
        STR("00000000  73 33 63 72 33 74 20 22  68 75 6e 74 65 72 32 2d  |s3cr3t \"hunter2-|\n"
            "00000010  c3 a9 22                                          |..\"|\n"),
        STR("0000000 3373 7263 7433 2220 7568 746e 7265 2d32\n0000010 a9c3 0022\n"),
        STR("0000000 031563 071143 072063 021040 072550 072156 071145 026462\n"
            "0000020 124703 000042\n"),
        STR("0000000   s   3   c   r   3   t       \"   h   u   n   t   e   r   2   -\n"
            "0000020 303 251   \"\n"),
        STR("   s   3   c   r   3   t       \"   h   u   n   t   e   r   2   -\n 303 251   \"\n"),
        STR("0000000 163 063 143 162 063 164 040 042 150 165 156 164 145 162 062 055\n"
            "0000020 303 251 042\n"),
        STR("000000 73 33 63 72 33 74 20 22 68 75 6e 74 65 72 32 2d  >s3cr3t \"hunter2-<\n"
            "000010 c3 a9 22                                         >..\"<\n"),
        STR("00000000: 01110011 00110011 01100011 01110010 00110011 01110100  s3cr3t\n"
            "00000006: 00100000 00100010 01101000 01110101 01101110 01110100   \"hunt\n"
            "0000000c: 01100101 01110010 00110010 00101101 11000011 10101001  er2-..\n"
            "00000012: 00100010                                               \"\n"),
        STR(" 3373 7263 7433 2220 7568 746e 7265 2d32\n a9c3 0022\n"), /* without offsets */
        STR(" 72633373 22207433 746e7568 2d327265\n 0022a9c3\n"),
        STR(" 2220743372633373 2d327265746e7568\n 000000000022a9c3\n"),
        STR(" 031563 071143 072063 021040 072550 072156 071145 026462\n 124703 000042\n"),
        STR("  1919103859   572552243  1953396072   758280805\n     2271683\n"),
        STR("0000000 2220743372633373 2d327265746e7568\n0000020 000000000022a9c3\n"),
        STR("0000000  13171  29283  29747   8736  30056  29806  29285  11570\n"
            "0000020 -22077     34\n"),
        STR("0000000 1919103859  572552243 1953396072  758280805\n0000020    2271683\n"),
        STR("0000000  2459093160855548787  3256791260612949352\n0000020              2271683\n"),
        STR("0000000   13171   29283   29747   08736   30056   29806   29285   11570\n"
            "0000010   43459   00034                                                \n"),
        STR("00000000: 7333637233742022 68756e746572322d  s3cr3t \"hunter2-\n"
            "00000010: c3a922                             ..\"\n"),
        STR("00000000: 733363 723374 202268 756e74 657232 2d  s3cr3t \"hunter2-\n"
            "00000010: c3a922                                 ..\"\n"),
        STR("00000000: 72633373 22207433 746e7568 2d327265  s3cr3t \"hunter2-\n"
            "00000010:   22a9c3                             ..\"\n"),
    };
    assert_each_scrubbed(STR("s3cr3t \"hunter2-\u00e9\""), texts, COUNT_OF(texts));
    assert_scrubbed(STR("hunter2"),
                    STR("00000000: 6162 6364  abcd\n00000004: 6875 6e74  hunt\n"
                        "00000008: 6572 3221  er2!\n0000000c: 6162 6364  abcd\n"),
                    "00000000: 6162 6364  abcd\n(secret)\n0000000c: 6162 6364  abcd\n");
}

static void further_encodings_are_found(void **state)
{
    const Str texts[] = {
        STR("NB2W45DFOIZA===="), /* base32 */
        STR("nb2w45dfoiza"),
        STR("PBUHK3TUMVZDE==="),             /* after one byte */
        STR("PB4HQ6DIOVXHIZLSGJ4HQ6A="),     /* in the middle */
        STR("YUhWdWRHVnlNZz09"),             /* base64 of base64 */
        STR("NjggNzUgNmUgNzQgNjUgNzIgMzI="), /* base64 of hexadecimal digits */
        STR("61485675644756794d673d3d"),     /* hexadecimal digits of base64 */
    };
    assert_each_scrubbed(STR("hunter2"), texts, COUNT_OF(texts));
    const Str escaped[] = {
        STR("c2F5IFwiaHVudGVyMlwi"),         /* base64 of JSON */
        STR("c2F5JTIwJTIyaHVudGVyMiUyMg=="), /* base64 of a URL */
        STR("say=20=22hunter2=22"),          STR("say \"=\nhunter2\""),
        STR("\"say \"\"hunter2\"\"\""),      STR("say\\20\\22hunter2\\22"),
    };
    assert_each_scrubbed(STR("say \"hunter2\""), escaped, COUNT_OF(escaped));
    assert_scrubbed(STR("100% $ure"), STR("100%% $$ure"), "(secret)");
    assert_scrubbed(STR("caf\u00e9-key"), STR("cafM-CM-)-key"), "(secret)");
    assert_scrubbed(STR("caf\u00e9-\u00a3key"), STR("caf&eacute;-&pound;key"), "(secret)");
    assert_scrubbed(STR("a!b@c.d"), STR("a&excl;b&commat;c&period;d"), "(secret)");
}

/* Programs wrap lines at the width of a terminal. */
static void most_of_a_secret_at_the_end_of_a_line_is_removed(void **state)
{
    Str secret = STR("s3cr3t-hunter2-x");
    assert_scrubbed(secret, STR("-p s3cr3t-hunte\nnext"), "-p (secret)\nnext");
    assert_scrubbed(secret, STR("-p s3cr3t-h... next"), "-p (secret)... next");
    assert_scrubbed(secret, STR("-p s3cr3t-h\u2026 next"), "-p (secret)\u2026 next");
    assert_scrubbed(secret, STR("-p s3cr3t-h next"), "-p s3cr3t-h next");
    assert_scrubbed(secret, STR("-p s3cr3t-\nnext"), "-p s3cr3t-\nnext");
    /* The line ends within two of them, and has too little of the longer one. */
    const Str nested[] = { STR("postgres://app:s3cr3t-hunter2-x@db.example.org/app"),
                           STR("s3cr3t-hunter2-x"), STR("hunter") };
    AUTO(Scrubber) *scrubber = scrubber_of(nested, COUNT_OF(nested));
    assert_str(scrubbed(scrubber, STR("postgres://app:s3cr3t-h\nnext")),
               "postgres://app:(secret)\nnext");
    assert_str(scrubbed(scrubber, STR("-p s3cr3t-hunter\nnext")), "-p (secret)\nnext");
}

static void each_line_of_a_secret_is_one(void **state)
{
    SecretSet set;
    secret_set_init(&set, &arena);
    secret_set_add_lines(&set, STR("  first line\r\n\n\tsecond line\nabc\n"));
    Scrubber *made;
    Error err;
    assert_true(scrubber_new(&set, &made, &err));
    AUTO(Scrubber) *scrubber = made;
    assert_str(scrubbed(scrubber, STR("1: first line\n2: second line\n3: abc\n")),
               "1: (secret)\n"); /* the whole, with numbers */
    assert_str(scrubbed(scrubber, STR("second line\n\nfirst line\nabc")),
               "(secret)\n\n(secret)\nabc");
}

static void the_password_of_a_secret_address_is_one(void **state)
{
    SecretSet set;
    secret_set_init(&set, &arena);
    secret_set_add_lines(&set, STR("postgres://app:hunter2@db/x"));
    secret_set_add_lines(&set, STR("A=1\nURL='redis://:s3cr3t:@x@cache'\n"));
    secret_set_add_lines(&set, STR("https://host:8080/a@b"));
    Scrubber *made;
    Error err;
    assert_true(scrubber_new(&set, &made, &err));
    AUTO(Scrubber) *scrubber = made;
    assert_str(scrubbed(scrubber, STR("-p hunter2 app s3cr3t:@x 8080")),
               "-p (secret) app (secret) 8080");
}

static Str cut_scrubbed(const Scrubber *scrubber, Str text)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    scrubber_apply_cut(scrubber, text, &out);
    return arena_copy(&arena, buf_str(&out));
}

/* Wherever a text is truncated, less than SCRUB_LENGTH_MIN bytes of the secret remain. */
static void the_start_of_a_secret_at_a_truncation_is_removed(void **state)
{
    Str secret = STR("s3cr3t \"hunter2\"");
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    const Str spellings[] = { STR("s3cr3t \"hunter2\""),
                              STR("s3cr3t%20%22hunter2%22"),
                              STR("s3cr3t \\\"hunter2\\\""),
                              STR("s3cr3t &#34;hunter2&#34;"),
                              STR("733363723374202268756e7465723222"),
                              STR("czNjcjN0ICJodW50ZXIyIg==") };
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        for (size_t len = 10; len <= spellings[i].len; len++) {
            Str text =
                arena_format(&arena, "x = %" STR_FMT, STR_ARG(str_slice(spellings[i], 0, len)));
            Str clean = cut_scrubbed(scrubber, text);
            assert_true(str_starts(clean, STR("x = (secret)")));
            assert_true(clean.len <= STR("x = (secret)==").len);
        }
    }
    assert_str(cut_scrubbed(scrubber, STR("x s3c")), "x s3c");
    assert_str(scrubbed(scrubber, STR("x s3cr3t ")), "x s3cr3t ");
    assert_str(cut_scrubbed(scrubber, STR("100%")), "100%");
}

static void note_respelled(void *context, Str part)
{
    Buf *parts = context;
    buf_put_format(parts, "<%" STR_FMT ">", STR_ARG(part));
}

static void the_longest_secret_is_found(void **state)
{
    const Str secrets[] = { STR("abcd"), STR("hunter2hunter2") };
    AUTO(Scrubber) *scrubber = scrubber_of(secrets, COUNT_OF(secrets));
    static const struct {
        Str text;
        size_t as_is, spelled;
        const char *respelled;
    } rows[] = { { STR("nothing"), 0, 0, "" },
                 { STR("xABCDx"), 4, 4, "" },
                 { STR("abcd%68unter2Hunter2"), 4, 14, "<abcd%68unter2Hunter2>" },
                 { STR("abcd-%68unter2Hunter2"), 4, 14, "<%68unter2Hunter2>" },
                 { STR("hunter2hunter2 ab%63d ABCD %61bcd"), 14, 14, "<ab%63d><%61bcd>" },
                 { STR("hunter2hunter2\\n abcd"), 14, 14, "" },
                 { STR("%68unter2Hunter2"), 0, 14, "<%68unter2Hunter2>" },
                 { STR(""), 0, 0, "" } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Buf parts = buf_make_in(&arena, BUF_UNLIMITED);
        ScrubberMatch found = scrubber_find(scrubber, rows[i].text, note_respelled, &parts);
        assert_str(buf_str(&parts), rows[i].respelled);
        assert_int_equal(found.verbatim, rows[i].as_is);
        assert_int_equal(found.any_spelling, rows[i].spelled);
    }
}

/* Escapes extend beyond the secret's text if both belong to one character. */
static void an_escape_is_replaced_completely(void **state)
{
    assert_scrubbed(STR("abc\xc3"), STR("abc\\u00e9z"), "(secret)z");
    assert_scrubbed(STR("\xa9xyz"), STR("a\\u00e9xyz"), "a(secret)");
}

static void long_secrets_and_texts_take_linear_time(void **state)
{
    enum {
        SECRET = 100000,
        TEXT = 5000000
    };
    char *bytes = malloc(TEXT);
    memset(bytes, 'a', TEXT);
    Str secrets[] = { str_from(bytes, SECRET), str_from(bytes, SECRET / 2), STR("ab") };
    AUTO(Scrubber) *scrubber = scrubber_of(secrets, COUNT_OF(secrets));
    assert_str(scrubbed(scrubber, str_from(bytes, TEXT)), "(secret)");
    bytes[SECRET / 2 - 1] = 'b'; /* one byte too few for a secret before it */
    Str clean = scrubbed(scrubber, str_from(bytes, TEXT));
    assert_int_equal(clean.len, SECRET / 2 + strlen(SCRUB_MARK));
    /* Escapes of all kinds, none of them a secret. */
    for (size_t i = 0; i < TEXT; i++) {
        bytes[i] = "\\u00%61a+"[i % 9];
    }
    assert_int_equal(scrubbed(scrubber, str_from(bytes, TEXT)).len, TEXT);
    free(bytes);
}

static void secrets_beyond_the_limit_are_rejected(void **state)
{
    char *bytes = calloc(1, SCRUB_BYTES_MAX + 1);
    SecretSet set;
    secret_set_init(&set, &arena);
    for (int i = 0; i < 10; i++) { /* the same again adds nothing */
        secret_set_add(&set, str_from(bytes, 1 << 20));
    }
    Scrubber *scrubber = NULL;
    Error err = { 0 };
    assert_true(scrubber_new(&set, &scrubber, &err));
    scrubber_free(TAKE(scrubber));
    secret_set_add(&set, str_from(bytes, SCRUB_BYTES_MAX + 1));
    assert_false(scrubber_new(&set, &scrubber, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_null(scrubber);
    free(bytes);
}

static void secrets_are_collected_from_values(void **state)
{
    Map *map = map_new(&arena, 0);
    map_set_str(&arena, map, STR("user"), value_string(STR("plain")));
    map_set_str(&arena, map, STR("password"), value_with_secret(value_string(STR("hunter2"))));
    map_set_str(&arena, map, STR("pin"), value_with_secret(value_int(123456)));
    map_set_str(&arena, map, STR("rate"), value_with_secret(value_float(0.125)));
    map_set_str(&arena, map, STR("on"), value_with_secret(value_bool(true)));
    Map *vault = map_new(&arena, 0);
    List *items = list_new(&arena, 0);
    list_push(&arena, items, value_string(STR("nested one")));
    map_set_str(&arena, vault, STR("key name"), value_list(items));
    map_set_str(&arena, map, STR("vault"), value_with_secret(value_map(vault)));
    Map *by_secret = map_new(&arena, 0);
    map_set(&arena, by_secret, value_with_secret(value_string(STR("secret key"))), value_null());
    List *outer = list_new(&arena, 0);
    list_push(&arena, outer, value_map(map));
    list_push(&arena, outer, value_tuple(list_new(&arena, 0)));
    list_push(&arena, outer, value_map(by_secret));

    for (int frozen = 0; frozen < 2; frozen++) {
        if (frozen) {
            value_freeze(value_list(outer));
        }
        SecretSet set;
        secret_set_init(&set, &arena);
        Error err;
        assert_true(secret_set_add_value(&set, value_list(outer), &err));
        Scrubber *made;
        assert_true(scrubber_new(&set, &made, &err));
        AUTO(Scrubber) *scrubber = made;
        assert_str(scrubbed(scrubber,
                            STR("plain|hunter2|123456|0.125|true|key name|nested one|secret key")),
                   "plain|(secret)|(secret)|(secret)|true|key name|(secret)|(secret)");
    }
}

static Str shown_by(void *context, Str text, Arena *into)
{
    Buf out = buf_make_in(into, BUF_UNLIMITED);
    scrubber_apply(context, text, &out);
    return buf_str(&out);
}

/* A program can print a list of characters, of their numbers, or of lines. */
static void a_list_that_is_a_secret_is_replaced(void **state)
{
    Str secret = STR("hunter2 x");
    AUTO(Scrubber) *scrubber = scrubber_of(&secret, 1);
    List *letters = list_new(&arena, 0), *numbers = list_new(&arena, 0);
    for (size_t i = 0; i < secret.len; i++) {
        list_push(&arena, letters, value_string(str_slice(secret, i, i + 1)));
        list_push(&arena, numbers, value_int(secret.data[i]));
    }
    List *words = list_new(&arena, 0), *plain = list_new(&arena, 0);
    list_push(&arena, words, value_string(STR("hunter2")));
    list_push(&arena, words, value_string(STR("x")));
    list_push(&arena, plain, value_string(STR("hunter")));
    list_push(&arena, plain, value_int(2));
    const List *lists[] = { letters, numbers, words };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        Value v = secrets_replace(&arena, value_list((List *)lists[i]), shown_by, scrubber);
        assert_true(value_is_string(v));
        assert_str(value_str(v), "(secret)");
    }
    Value v = secrets_replace(&arena, value_list(plain), shown_by, scrubber);
    assert_true(v.kind == VALUE_LIST && v.list->len == 2);
}

static void endless_values_are_rejected(void **state)
{
    Value doubling = value_string(STR("plain"));
    for (int i = 0; i < 60; i++) {
        List *list = list_new(&arena, 2);
        list_push(&arena, list, doubling);
        list_push(&arena, list, doubling);
        doubling = value_list(list);
    }
    SecretSet set;
    secret_set_init(&set, &arena);
    Error err = { 0 };
    assert_false(secret_set_add_value(&set, doubling, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    value_freeze(doubling); /* now it knows that it contains none */
    assert_true(secret_set_add_value(&set, doubling, &err));
}

static void without_secrets_text_is_unchanged(void **state)
{
    AUTO(Scrubber) *scrubber = scrubber_of(NULL, 0);
    assert_str(scrubbed(scrubber, STR("text % \\ +")), "text % \\ +");
    assert_str(scrubbed(scrubber, (Str){ NULL, 0 }), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(plain_secrets_are_replaced),
        TEST(letters_beyond_ascii_have_cases_and_escapes),
        TEST(overlapping_and_adjacent_secrets_are_merged),
        TEST(short_texts_are_not_secrets),
        TEST(base64_is_found_at_every_alignment),
        TEST(base64_is_found_after_other_letters),
        TEST(base64_is_found_across_lines),
        TEST(escaped_base64_is_found),
        TEST(any_percent_escapes_are_found),
        TEST(any_backslash_escapes_are_found),
        TEST(truncated_escapes_are_plain_text),
        TEST(an_escape_is_replaced_completely),
        TEST(long_secrets_and_texts_take_linear_time),
        TEST(secrets_beyond_the_limit_are_rejected),
        TEST(secrets_are_collected_from_values),
        TEST(a_list_that_is_a_secret_is_replaced),
        TEST(endless_values_are_rejected),
        TEST(without_secrets_text_is_unchanged),
        TEST(shells_and_c_escape_any_character),
        TEST(any_entities_are_found),
        TEST(hexadecimal_digits_are_found),
        TEST(quoted_encoded_lines_are_found),
        TEST(a_secret_broken_into_lines_is_found),
        TEST(lists_of_numbers_are_found),
        TEST(a_secret_in_single_characters_is_found),
        TEST(parts_of_a_long_secret_are_found),
        TEST(dumps_are_found),
        TEST(further_encodings_are_found),
        TEST(most_of_a_secret_at_the_end_of_a_line_is_removed),
        TEST(each_line_of_a_secret_is_one),
        TEST(the_password_of_a_secret_address_is_one),
        TEST(the_start_of_a_secret_at_a_truncation_is_removed),
        TEST(the_longest_secret_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
