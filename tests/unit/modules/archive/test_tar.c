#include "modules/archive/tar.h"

#include "unit.h"

/* The calls of the sink, as text. */
typedef struct Reported {
    Buf text;
} Reported;

static bool told_begin(void *context, const Member *member, Error *err)
{
    static const char letters[] = "fdlh";
    Reported *reported = context;
    buf_put_format(&reported->text, "%c %.*s", letters[member->kind], STR_ARG(member->name));
    if (member->kind == MEMBER_LINK || member->kind == MEMBER_HARD_LINK) {
        buf_put_format(&reported->text, " > %.*s", STR_ARG(member->target));
    }
    buf_put_format(&reported->text, " %o %llu %lld [", member->mode,
                   (unsigned long long)member->size, (long long)member->mtime_s);
    return strcmp(buf_c(&reported->text), "f stop 644 0 0 [") != 0 ||
           error_set(err, ERROR_DENIED, "no more");
}

static bool told_data(void *context, Str chunk, Error *err)
{
    Reported *reported = context;
    assert_true(chunk.len > 0);
    buf_put(&reported->text, chunk);
    return true;
}

static bool end_reported(void *context, Error *err)
{
    Reported *reported = context;
    buf_put_c(&reported->text, "]\n");
    return true;
}

/* A growing archive. */
typedef struct Making {
    Buf bytes;
} Making;

static void seal(char *block)
{
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += (unsigned char)block[i];
    }
    snprintf(block + 148, 8, "%06o", sum);
}

static char *put_header(Making *making, const char *name, char kind, const char *size)
{
    size_t at = making->bytes.len;
    buf_put_repeat(&making->bytes, '\0', TAR_BLOCK);
    char *block = making->bytes.data + at;
    memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
    strcpy(block + 100, "0000644");
    strcpy(block + 124, size);
    strcpy(block + 136, "00000000000");
    block[156] = kind;
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    seal(block);
    return block;
}

static void put_data(Making *making, Str data)
{
    buf_put(&making->bytes, data);
    buf_put_repeat(&making->bytes, '\0', (TAR_BLOCK - data.len % TAR_BLOCK) % TAR_BLOCK);
}

static void put_member(Making *making, const char *name, char kind, const char *data)
{
    char size[24];
    snprintf(size, sizeof size, "%011zo", strlen(data));
    put_header(making, name, kind, size);
    put_data(making, str_from_c(data));
}

static void put_end(Making *making)
{
    buf_put_repeat(&making->bytes, '\0', 2 * (size_t)TAR_BLOCK);
}

/* Chunks of every size give the same result. */
static bool read_in_chunks(const Making *making, size_t size, Reported *reported, Error *err)
{
    MemberSink sink = { reported, told_begin, told_data, end_reported };
    Tar tar;
    Str rest = buf_str(&making->bytes);
    tar_init(&tar, &sink);
    bool ok = true;
    while (ok && rest.len > 0) {
        ok = tar_feed(&tar, str_slice(rest, 0, size), err);
        rest = str_from_offset(rest, size);
    }
    ok = ok && tar_finish(&tar, err);
    tar_clear(&tar);
    return ok;
}

static const size_t sizes[] = { 1, 7, 511, 512, 513, 100000 };

static void gives(Making *making, const char *expected)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        Reported reported = { .text = buf_make(BUF_UNLIMITED) };
        Error err;
        if (!read_in_chunks(making, sizes[i], &reported, &err)) {
            fail_msg("%s", err.text);
        }
        assert_str(buf_str(&reported.text), expected);
        buf_clear(&reported.text);
    }
    buf_clear(&making->bytes);
}

static void fails(Making *making, const char *message)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        Reported reported = { .text = buf_make(BUF_UNLIMITED) };
        Error err = { 0 };
        assert_false(read_in_chunks(making, sizes[i], &reported, &err));
        assert_string_equal(err.text, message);
        buf_clear(&reported.text);
    }
    buf_clear(&making->bytes);
}

static Making start(void)
{
    return (Making){ .bytes = buf_make(BUF_UNLIMITED) };
}

static void members_are_read_in_order(void **state)
{
    Making making = start();
    put_member(&making, "d", '5', "");
    put_member(&making, "d/f", '0', "hello");
    put_member(&making, "old", '\0', "");
    put_member(&making, "old/", '\0', "");
    char *block = put_header(&making, "l", '2', "0");
    strcpy(block + 157, "d/f");
    strcpy(block + 136, "14000000000");
    seal(block);
    block = put_header(&making, "h", '1', "00000000005");
    memset(block + 157, 'x', 100);
    seal(block);
    put_end(&making);
    buf_put_c(&making.bytes, "what follows does not matter");
    char expected[600];
    snprintf(expected, sizeof expected,
             "d d 644 0 0 []\nf d/f 644 5 0 [hello]\nf old 644 0 0 []\nd old/ 644 0 0 []\n"
             "l l > d/f 644 0 1610612736 []\nh h > %.*s 644 0 0 []\n",
             100,
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxx");
    gives(&making, expected);
}

static void long_names_are_read_from_extra_headers(void **state)
{
    Making making = start();
    put_member(&making, "././@LongLink", 'L', "a/long/name");
    put_member(&making, "././@LongLink", 'K', "a/long/target");
    put_member(&making, "short", '2', "");
    put_member(&making, "global", 'g', "20 path=ignored here\n");
    put_member(&making, "volume", 'V', "");
    put_member(&making, "pax", 'x', "20 path=other/nam\xc3\xa9\n13 mtime=1.5\n9 size=3\n");
    put_header(&making, "name", '0', "00000000000");
    put_data(&making, STR("abc"));
    char *block = put_header(&making, "file", '0', "0");
    strcpy(block + 345, "pre/fix");
    seal(block);
    block = put_header(&making, "gnu", '0', "0");
    memcpy(block + 257, "ustar  ", 8);
    strcpy(block + 345, "12345");
    seal(block);
    put_end(&making);
    gives(&making, "l a/long/name > a/long/target 644 0 0 []\nf other/nam\xc3\xa9 644 3 0 [abc]\n"
                   "f pre/fix/file 644 0 0 []\nf gnu 644 0 0 []\n");
}

static void large_numbers_are_binary(void **state)
{
    Making making = start();
    char *block = put_header(&making, "f", '0', "");
    block[124] = (char)0x80;
    memset(block + 125, 0, 11);
    block[135] = 3;
    memset(block + 136, 0xff, 12); /* a time before 1970 */
    seal(block);
    put_data(&making, STR("abc"));
    put_end(&making);
    gives(&making, "f f 644 3 0 [abc]\n");
}

static void damage_is_reported(void **state)
{
    Making making = start();
    fails(&making, "not a tar archive: it is empty");

    making = start();
    buf_put_repeat(&making.bytes, 'x', 600);
    fails(&making, "not a tar archive: no header at its start");

    making = start();
    put_member(&making, "a", '0', "x");
    buf_put_repeat(&making.bytes, 'x', TAR_BLOCK);
    fails(&making, "not a tar archive: a header is damaged");

    making = start();
    put_member(&making, "a", '0', "x");
    fails(&making, "not a tar archive: it is truncated");

    making = start();
    put_header(&making, "a", '0', "00000001000");
    put_data(&making, STR("x"));
    fails(&making, "not a tar archive: it is truncated");

    making = start();
    put_header(&making, "a", '0', "9");
    fails(&making, "not a tar archive: no header at its start");

    making = start();
    char *block = put_header(&making, "a", '0', "0");
    memset(block + 124, 0xff, 12);
    seal(block);
    fails(&making, "not a tar archive: no header at its start");

    making = start();
    put_member(&making, "", '0', "x");
    fails(&making, "not a tar archive: a member without a name");
}

static void damaged_extra_headers_are_reported(void **state)
{
    static const char *const records[] = { "x",           "5 a=b",       "99 path=a\n",
                                           "0 path=a\n",  "9 path=ab\n", "8 pathab\n",
                                           "-9 path=a\n", " path=a\n",   "2 \n" };
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        Making making = start();
        put_member(&making, "x", 'x', records[i]);
        fails(&making, "not a tar archive: its extended header is damaged");
    }
    Making making = start();
    put_member(&making, "x", 'x', "10 size=x\n");
    fails(&making, "not a tar archive: a size is not a number");
    making = start();
    put_header(&making, "x", 'x', "00010000000");
    fails(&making, "the archive has a header of more than 1048576 bytes");
    making = start();
    put_member(&making, "x", 'x', "25 GNU.sparse.major=1000\n");
    fails(&making, "the archive contains sparse files, which are not supported");
}

static void special_files_are_rejected(void **state)
{
    static const char kinds[] = "346SMDN?";
    for (size_t i = 0; i < strlen(kinds); i++) {
        char message[100];
        Making making = start();
        put_member(&making, "it", kinds[i], "");
        snprintf(message, sizeof message,
                 "'it' in the archive is not a file, directory or link (type '%c')", kinds[i]);
        fails(&making, message);
    }
}

static void the_sink_can_stop_it(void **state)
{
    Making making = start();
    put_member(&making, "stop", '0', "");
    fails(&making, "no more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read_in_order),
        cmocka_unit_test(long_names_are_read_from_extra_headers),
        cmocka_unit_test(large_numbers_are_binary),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(damaged_extra_headers_are_reported),
        cmocka_unit_test(special_files_are_rejected),
        cmocka_unit_test(the_sink_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
