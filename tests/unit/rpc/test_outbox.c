#include "unit.h"

#include "rpc/outbox.h"

typedef struct Disk {
    uint64_t appended, dropped, trimmed, epoch;
    uint32_t rooms, restarted;
} Disk;

static void disk_append(void *context, const Record *record)
{
    Disk *disk = context;
    disk->appended = record->sequence;
}

static void disk_drop(void *context, uint64_t sequence)
{
    Disk *disk = context;
    disk->dropped = sequence;
}

static void disk_trim(void *context, uint64_t sequence)
{
    Disk *disk = context;
    disk->trimmed = sequence;
}

static void disk_restart(void *context, uint64_t epoch, const Record *const *records,
                         uint32_t count)
{
    Disk *disk = context;
    disk->epoch = epoch;
    disk->restarted = count;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(records[i]->sequence, i + 1);
    }
}

static void disk_room(void *context)
{
    Disk *disk = context;
    disk->rooms++;
}

static Outbox *make(Disk *disk, size_t bytes_max, uint64_t last)
{
    return outbox_new(&(OutboxOptions){
        .epoch = 7,
        .last_sequence = last,
        .bytes_max = bytes_max,
        .storage = { disk_append, disk_drop, disk_trim, disk_restart, disk },
        .space_available = disk_room,
        .space_context = disk,
    });
}

static uint64_t add(Outbox *outbox, RecordKind kind, const char *body)
{
    uint64_t sequence = 99;
    Error err;
    assert_true(outbox_add(outbox, kind, STR("k"), str_from_c(body), &sequence, &err));
    return sequence;
}

static void test_sent_only_when_stored_and_kept_until_acknowledged(void **state)
{
    Disk disk = { 0 };
    AUTO(Outbox) *outbox = make(&disk, 0, 0);
    assert_int_equal(add(outbox, RECORD_FACTS, "one"), 1);
    assert_int_equal(add(outbox, RECORD_STATUS, "two"), 2);
    assert_int_equal(disk.appended, 2);
    assert_null(outbox_peek(outbox));
    outbox_stored(outbox, 1);
    assert_str(outbox_peek(outbox)->body, "one");
    outbox_advance(outbox);
    assert_null(outbox_peek(outbox));
    outbox_stored(outbox, 2);
    assert_str(outbox_peek(outbox)->body, "two");
    outbox_advance(outbox);

    outbox_rewind(outbox);
    assert_str(outbox_peek(outbox)->body, "one");
    outbox_acknowledge(outbox, 1);
    assert_int_equal(disk.trimmed, 1);
    assert_str(outbox_peek(outbox)->body, "two");
    outbox_acknowledge(outbox, 2);
    assert_int_equal(outbox_counts(outbox).records, 0);
    assert_int_equal(outbox_counts(outbox).bytes, 0);
    assert_int_equal(add(outbox, RECORD_FACTS, "three"), 3);
}

static void test_continues_from_storage(void **state)
{
    Disk disk = { 0 };
    AUTO(Outbox) *outbox = make(&disk, 0, 9);
    outbox_restore(outbox, &(Record){ 5, RECORD_LOG, STR("k"), STR("five"), 2 });
    outbox_restore(outbox, &(Record){ 9, RECORD_FACTS, STR("k"), STR("nine"), 0 });
    assert_int_equal(outbox_peek(outbox)->sequence, 5);
    assert_int_equal(outbox_peek(outbox)->lost, 2);
    assert_int_equal(add(outbox, RECORD_FACTS, "ten"), 10);
    assert_int_equal(outbox_last_sequence(outbox), 9);
    assert_bug(outbox_restore(outbox, &(Record){ 8, RECORD_LOG, STR("k"), STR(""), 0 }));
    assert_bug(outbox_acknowledge(outbox, 11));
}

static void test_logs_are_dropped_first_and_the_gap_is_reported(void **state)
{
    Disk disk = { 0 };
    AUTO(Outbox) *outbox = make(&disk, (OUTBOX_RECORD_COST + 2) * 4, 0);
    add(outbox, RECORD_LOG, "1");
    add(outbox, RECORD_LOG, "2");
    add(outbox, RECORD_FACTS, "3");
    add(outbox, RECORD_LOG, "4");
    assert_int_equal(add(outbox, RECORD_LOG, "5"), 0); /* no space, and it is a log itself */
    assert_int_equal(add(outbox, RECORD_STATUS, "6"), 5);
    assert_int_equal(disk.dropped, 4);
    outbox_stored(outbox, 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(outbox_peek(outbox)->lost, 0);
        outbox_advance(outbox);
    }
    assert_str(outbox_peek(outbox)->body, "6");
    assert_int_equal(outbox_peek(outbox)->lost, 2);
    assert_int_equal(outbox_counts(outbox).dropped, 2);

    /* Records that may have been sent stay: the server may have them. */
    Error err;
    uint64_t sequence;
    assert_false(outbox_add(outbox, RECORD_RESULT, STR("k"), STR("7"), &sequence, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_int_equal(disk.rooms, 0);
    outbox_acknowledge(outbox, 1);
    assert_int_equal(disk.rooms, 1);
    assert_int_equal(add(outbox, RECORD_RESULT, "7"), 6);
}

static void test_renumbers_if_the_server_is_ahead(void **state)
{
    Disk disk = { 0 };
    AUTO(Outbox) *outbox = make(&disk, 0, 20);
    outbox_restore(outbox, &(Record){ 19, RECORD_LOG, STR("k"), STR("a"), 0 });
    outbox_restore(outbox, &(Record){ 20, RECORD_LOG, STR("k"), STR("b"), 0 });
    outbox_restart(outbox, 8);
    assert_int_equal(disk.epoch, 8);
    assert_int_equal(disk.restarted, 2);
    assert_int_equal(outbox_epoch(outbox), 8);
    assert_null(outbox_peek(outbox));
    outbox_stored(outbox, 2);
    assert_int_equal(outbox_peek(outbox)->sequence, 1);
    assert_int_equal(add(outbox, RECORD_FACTS, "c"), 3);
}

static void test_rejects_records_that_never_fit(void **state)
{
    Disk disk = { 0 };
    AUTO(Outbox) *outbox = make(&disk, 1000, 0);
    static const char large[2000] = "";
    uint64_t sequence;
    Error err;
    assert_false(
        outbox_add(outbox, RECORD_LOG, STR("k"), str_from(large, sizeof large), &sequence, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(outbox_add(outbox, RECORD_LOG, str_from(large, SESSION_RECORD_KEY_MAX + 1),
                            STR(""), &sequence, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent_only_when_stored_and_kept_until_acknowledged),
        cmocka_unit_test(test_continues_from_storage),
        cmocka_unit_test(test_logs_are_dropped_first_and_the_gap_is_reported),
        cmocka_unit_test(test_renumbers_if_the_server_is_ahead),
        cmocka_unit_test(test_rejects_records_that_never_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
