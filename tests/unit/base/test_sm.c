#include "base/sm.h"

#include "base/log.h"
#include "unit.h"

enum {
    LINK_IDLE,
    LINK_OPENING,
    LINK_UP,
    LINK_CLOSED
};

typedef struct Link {
    Sm sm;
    int socket;
} Link;

static bool link_holds(const void *owner, unsigned state)
{
    const Link *link = owner;
    return (state == LINK_UP) == (link->socket >= 0);
}

static const SmState link_states[] = {
    [LINK_IDLE] = { "idle", .next = SM_TO(LINK_OPENING) | SM_TO(LINK_CLOSED) },
    [LINK_OPENING] = { "opening", .next = SM_TO(LINK_UP) | SM_TO(LINK_CLOSED) },
    [LINK_UP] = { "up", .next = SM_TO(LINK_CLOSED) | SM_TO(LINK_UP) },
    [LINK_CLOSED] = { "closed" },
};
static const SmTable link_table = { "link", link_states, COUNT_OF(link_states), link_holds };

static void allowed_transitions_are_made(void **state)
{
    Link link = { .socket = -1 };
    sm_init(&link.sm, &link_table, &link, "web07", LINK_IDLE);
    assert_string_equal(sm_state_name(&link.sm), "idle");
    assert_true(sm_can_move(&link.sm, LINK_OPENING));
    assert_false(sm_can_move(&link.sm, LINK_UP));
    assert_false(sm_can_move(&link.sm, LINK_IDLE));
    assert_false(sm_can_move(&link.sm, 99));
    sm_move(&link.sm, LINK_OPENING);
    link.socket = 3;
    sm_move(&link.sm, LINK_UP);
    sm_move(&link.sm, LINK_UP); /* the table allows to stay */
    link.socket = -1;
    sm_move(&link.sm, LINK_CLOSED);
    assert_string_equal(sm_state_name(&link.sm), "closed");
}

static void other_transitions_are_bugs(void **state)
{
    Link link = { .socket = -1 };
    sm_init(&link.sm, &link_table, &link, "web07", LINK_IDLE);
    assert_bug(link.socket = 3; sm_move(&link.sm, LINK_UP));
    assert_bug(sm_move(&link.sm, 99));
    assert_bug(sm_init(&link.sm, &link_table, &link, "x", 99));
    assert_int_equal(link.sm.state, LINK_IDLE);
}

static void a_broken_invariant_is_a_bug(void **state)
{
    Link link = { .socket = -1 };
    sm_init(&link.sm, &link_table, &link, "web07", LINK_IDLE);
    sm_move(&link.sm, LINK_OPENING);
    assert_bug(sm_move(&link.sm, LINK_UP)); /* without a socket */
    assert_bug(sm_init(&link.sm, &link_table, &link, "x", LINK_UP));
}

static void capture_line(void *context, Str line)
{
    buf_put(context, line);
}

static void each_transition_is_logged_once(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    log_set_sink((LogSink){ .level = LOG_LEVEL_DEBUG, .context = &text, .write = capture_line });
    Link link = { .socket = -1 };
    sm_init(&link.sm, &link_table, &link, "web07", LINK_IDLE);
    sm_move(&link.sm, LINK_OPENING);
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING });
    assert_str(buf_str(&text), "debug: state changed machine=link id=web07 from=idle to=opening\n");
}

static void tables_are_checked(void **state)
{
    sm_table_check(&link_table, LINK_IDLE);
    assert_bug(sm_table_check(&link_table, LINK_OPENING)); /* "idle" cannot be reached */
    const SmState outside[] = { { "a", .next = SM_TO(1) } };
    const SmTable outside_table = { "t", outside, 1, NULL };
    assert_bug(sm_table_check(&outside_table, 0));
    const SmState unnamed[] = { { NULL } };
    const SmTable unnamed_table = { "t", unnamed, 1, NULL };
    assert_bug(sm_table_check(&unnamed_table, 0));
    const SmState lonely[] = { { "a" } };
    const SmTable lonely_table = { "t", lonely, 1, NULL };
    sm_table_check(&lonely_table, 0);
}

static void a_full_table_of_states_works(void **state)
{
    SmState states[SM_STATES_MAX];
    for (unsigned i = 0; i < SM_STATES_MAX; i++) {
        states[i] = (SmState){ "s", .next = SM_TO((i + 1) % SM_STATES_MAX) };
    }
    SmTable table = { "ring", states, SM_STATES_MAX, NULL };
    sm_table_check(&table, 0);
    Sm sm;
    sm_init(&sm, &table, NULL, "an identifier that is far too long for the room it gets", 0);
    for (unsigned i = 1; i <= SM_STATES_MAX; i++) {
        sm_move(&sm, i % SM_STATES_MAX);
    }
    assert_int_equal(sm.state, 0);
    assert_int_equal(strlen(sm.id), SM_ID_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowed_transitions_are_made),
        cmocka_unit_test(other_transitions_are_bugs),
        cmocka_unit_test(a_broken_invariant_is_a_bug),
        cmocka_unit_test(each_transition_is_logged_once),
        cmocka_unit_test(tables_are_checked),
        cmocka_unit_test(a_full_table_of_states_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
