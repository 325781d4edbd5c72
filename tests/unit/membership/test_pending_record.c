#include "membership/pending_record.h"

#include "unit.h"

enum {
    NOW_MS = 1000 * 1000
};

/* A record, and in the memory after it what looks like another row of its most frequent source. */
typedef struct Room {
    PendingRecord record;
    PendingMachine rows[2];
} Room;

static Pin key_of(int i)
{
    Pin key = { .bytes = { (unsigned char)i } };
    return key;
}

/* The first row is the oldest, and the second is approved. */
static void fill(Room *room)
{
    const PendingMachine row = { .key = key_of(99), .address = "10.0.0.1" };
    *room = (Room){ .record = { .name = "n" } };
    memcpy((char *)room + offsetof(PendingRecord, machines) + sizeof room->record.machines, &row,
           sizeof row);
    for (int i = 0; i < PENDING_MACHINES_MAX; i++) {
        Pin key = key_of(i);
        const char *address = i < 4 ? "10.0.0.1" : i < 6 ? "10.0.0.2" : "10.0.0.3";
        pending_record_add(&room->record, &key, address, NOW_MS + i);
    }
    Pin second = key_of(1);
    pending_record_approve(&room->record, &second, NOW_MS);
}

static void a_full_record_drops_the_oldest_row_of_the_most_frequent_source(void **state)
{
    static const int dropped[] = { 0, 2, 4 };
    Room room;
    fill(&room);
    for (size_t i = 0; i < COUNT_OF(dropped); i++) {
        Pin key = key_of(50 + (int)i), gone = key_of(dropped[i]);
        assert_non_null(pending_record_find(&room.record, &gone));
        assert_non_null(pending_record_add(&room.record, &key, "10.0.0.9", NOW_MS + 100));
        assert_null(pending_record_find(&room.record, &gone));
        assert_int_equal(room.record.count, PENDING_MACHINES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_record_drops_the_oldest_row_of_the_most_frequent_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
