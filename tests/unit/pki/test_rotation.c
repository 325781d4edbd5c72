#include "pki/rotation.h"

#include "authority.h"

enum {
    NODES = 7,
    SERVERS = 2,
};

static const Pin old_ca = { { 1 } }, new_ca = { { 2 } };

/* A cluster that learns the state late, one by one and in any order. */
typedef struct Fleet {
    RotationNode nodes[NODES];
    uint64_t random_state;
} Fleet;

static uint64_t draw(Fleet *fleet)
{
    fleet->random_state = fleet->random_state * 6364136223846793005u + 1442695040888963407u;
    return fleet->random_state >> 33;
}

static Fleet make_fleet(uint64_t seed)
{
    static const char *const names[NODES] = { "a", "b", "c", "d", "e", "f", "g" };
    Fleet fleet = { .random_state = seed };
    for (size_t i = 0; i < NODES; i++) {
        fleet.nodes[i] = (RotationNode){ .name = str_from_c(names[i]),
                                         .is_server = i < SERVERS,
                                         .trusts_current = true,
                                         .issuer = old_ca,
                                         .has_issuer = true,
                                         .reported_ms = NOW_MS };
    }
    return fleet;
}

/* Bits: 1 trusts the old CA, 2 the new one. Separate from the reports, whose "present" and "next"
 * are swapped when a rotation is reverted. */
typedef struct Truth {
    bool old_trusted, new_trusted, from_new;
} Truth;

static bool is_old(const Pin *pin)
{
    return pin_equal(pin, &old_ca);
}

/* One node catches up with one thing that the state requires. */
static void catch_up(Fleet *fleet, Truth truths[NODES], const Rotation *rotation)
{
    size_t at = draw(fleet) % NODES;
    RotationNode *node = &fleet->nodes[at];
    Truth *truth = &truths[at];
    bool present_is_old = is_old(&rotation->present);
    if (draw(fleet) % 2 == 0) {
        bool present = rotation_trusts_present(rotation), next = rotation_trusts_next(rotation);
        truth->old_trusted = present_is_old ? present : next;
        truth->new_trusted = present_is_old ? next : present;
    } else {
        truth->from_new = !is_old(rotation_issuer(rotation));
    }
    node->issuer = truth->from_new ? new_ca : old_ca;
    node->trusts_current = present_is_old ? truth->old_trusted : truth->new_trusted;
    node->trusts_next = present_is_old ? truth->new_trusted : truth->old_trusted;
}

static void report_all(Fleet *fleet, const Truth truths[NODES], const Rotation *rotation)
{
    bool present_is_old = is_old(&rotation->present);
    for (size_t i = 0; i < NODES; i++) {
        fleet->nodes[i].trusts_current =
            present_is_old ? truths[i].old_trusted : truths[i].new_trusted;
        fleet->nodes[i].trusts_next =
            present_is_old ? truths[i].new_trusted : truths[i].old_trusted;
    }
}

static void check_connected(const Truth truths[NODES])
{
    for (size_t i = 0; i < NODES; i++) {
        for (size_t j = 0; j < NODES; j++) {
            bool trusted = truths[i].from_new ? truths[j].new_trusted : truths[j].old_trusted;
            if (!trusted) {
                fail_msg("node %zu does not trust the certificate of node %zu", j, i);
            }
        }
    }
}

/* The main invariant: in any order of events, all nodes trust each other. */
static void all_stay_connected_in_any_order(void **state)
{
    Authority *authority = *state;
    unsigned turned = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        Fleet fleet = make_fleet(seed);
        Truth truths[NODES];
        for (size_t i = 0; i < NODES; i++) {
            truths[i] = (Truth){ .old_trusted = true };
        }
        Rotation rotation = rotation_steady(&old_ca, NOW_MS);
        assert_succeeds(rotation_begin(&rotation, &new_ca, NOW_MS, &rotation, &err));
        unsigned steps = 0;
        while (rotation.state != ROTATION_STEADY) {
            catch_up(&fleet, truths, &rotation);
            check_connected(truths);
            RotationPlan plan;
            rotation_plan(&authority->arena, &rotation, fleet.nodes, NODES, NOW_MS + 1, &plan);
            assert_int_equal(plan.moves, plan.wait_count == 0);
            if (plan.moves) {
                rotation = plan.next;
            }
            Error err;
            if (seed % 3 == 0 && draw(&fleet) % 40 == 0 &&
                rotation_revert(&rotation, NOW_MS, &rotation, &err)) {
                turned++;
            }
            report_all(&fleet, truths, &rotation);
            assert_true(++steps < 5000);
        }
        /* Steady: they continue with the existing CA. */
        for (steps = 0; steps < 500; steps++) {
            catch_up(&fleet, truths, &rotation);
            check_connected(truths);
        }
        assert_true(seed % 3 == 0 || !is_old(&rotation.present));
    }
    assert_true(turned > 50);
}

static void each_state_reports_what_it_waits_for(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    Fleet fleet = make_fleet(1);
    RotationPlan plan;
    Rotation rotation = rotation_steady(&old_ca, NOW_MS);
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_false(plan.moves || plan.wait_count > 0);

    assert_succeeds(rotation_begin(&rotation, &new_ca, NOW_MS, &rotation, &err));
    fleet.nodes[1].silent = true;
    fleet.nodes[1].reported_ms = NOW_MS - 5000;
    fleet.nodes[0].trusts_next = true;
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_int_equal(plan.wait_count, 1);
    assert_str(plan.waits[0].node, "b");
    assert_str(plan.waits[0].what, "this server has not loaded the next CA yet");
    assert_true(plan.waits[0].silent);
    assert_int_equal(plan.waits[0].reported_ms, NOW_MS - 5000);
    fleet.nodes[1].trusts_next = true;
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS + 7, &plan);
    assert_true(plan.moves);
    rotation = plan.next;
    assert_int_equal(rotation.state, ROTATION_DISTRIBUTE);
    assert_int_equal(rotation.since_ms, NOW_MS + 7);

    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_int_equal(plan.wait_count, NODES - SERVERS);
    assert_str(plan.waits[0].what, "it does not trust the next CA yet");
    assert_true(pin_equal(rotation_issuer(&rotation), &old_ca));
    for (size_t i = 0; i < NODES; i++) {
        fleet.nodes[i].trusts_next = true;
    }
    fleet.nodes[3].trusts_current = false;
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_int_equal(plan.wait_count, 1);
    assert_str(plan.waits[0].what, "it does not trust the current CA");
    fleet.nodes[3].trusts_current = true;
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    rotation = plan.next;
    assert_int_equal(rotation.state, ROTATION_ISSUE);
    assert_true(pin_equal(rotation_issuer(&rotation), &new_ca));

    for (size_t i = 1; i < NODES; i++) {
        fleet.nodes[i].issuer = new_ca;
    }
    fleet.nodes[2].has_issuer = false;
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_int_equal(plan.wait_count, 2);
    assert_str(plan.waits[1].what, "it has no certificate from the next CA yet");
    /* A node that never returns is removed; then the rotation continues. */
    rotation_plan(arena, &rotation, fleet.nodes + 3, NODES - 3, NOW_MS, &plan);
    assert_false(plan.moves); /* no server among them: the list is incomplete */
    fleet.nodes[0].issuer = new_ca;
    fleet.nodes[2] = fleet.nodes[3];
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    rotation = plan.next;
    assert_int_equal(rotation.state, ROTATION_RETIRE);

    assert_false(rotation_trusts_present(&rotation));
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    assert_int_equal(plan.wait_count, NODES);
    assert_str(plan.waits[0].what, "it still trusts the old CA");
    for (size_t i = 0; i < NODES; i++) {
        fleet.nodes[i].trusts_current = false;
    }
    rotation_plan(arena, &rotation, fleet.nodes, NODES, NOW_MS, &plan);
    rotation = plan.next;
    assert_int_equal(rotation.state, ROTATION_STEADY);
    assert_true(pin_equal(&rotation.present, &new_ca));
}

static void check_same(const Rotation *a, const Rotation *b)
{
    assert_int_equal(a->state, b->state);
    assert_true(pin_equal(&a->present, &b->present) && pin_equal(&a->next, &b->next));
    assert_int_equal(a->since_ms, b->since_ms);
}

static void rotations_start_and_abort_where_allowed(void **state)
{
    Rotation steady = rotation_steady(&old_ca, NOW_MS), rotation, other;
    assert_fails(rotation_begin(&steady, &old_ca, NOW_MS, &rotation, &err), ERROR_INVALID,
                 "the current one");
    assert_fails(rotation_revert(&steady, NOW_MS, &rotation, &err), ERROR_CONFLICT, "not being");
    assert_succeeds(rotation_begin(&steady, &new_ca, NOW_MS, &rotation, &err));
    assert_fails(rotation_begin(&rotation, &new_ca, NOW_MS, &other, &err), ERROR_CONFLICT,
                 "already being rotated (prepare)");
    assert_succeeds(rotation_revert(&rotation, NOW_MS, &other, &err));
    check_same(&other, &steady);
    rotation.state = ROTATION_RETIRE;
    assert_fails(rotation_revert(&rotation, NOW_MS, &other, &err), ERROR_CONFLICT, "being removed");
    rotation.state = ROTATION_ISSUE;
    assert_succeeds(rotation_revert(&rotation, NOW_MS, &other, &err));
    assert_true(pin_equal(&other.next, &old_ca) && pin_equal(&other.present, &new_ca));
    assert_true(pin_equal(rotation_issuer(&other), &old_ca));
}

#define PIN_A "sha256:0100000000000000000000000000000000000000000000000000000000000000"

static void states_survive_a_round_trip(void **state)
{
    Authority *authority = *state;
    sm_table_check(&rotation_states, ROTATION_STEADY);
    for (unsigned i = 0; i < rotation_states.count; i++) {
        Rotation rotation = { .state = (RotationState)i, .present = old_ca, .since_ms = NOW_MS };
        assert_string_equal(rotation_states.states[i].name, rotation_state_name(rotation.state));
        if (i != ROTATION_STEADY) {
            rotation.next = new_ca;
        }
        Buf printed = buf_make_in(&authority->arena, 4096);
        Rotation read;
        rotation_print(&rotation, &printed);
        assert_succeeds(rotation_read(&authority->arena, buf_str(&printed), &read, &err));
        check_same(&read, &rotation);
    }
}

static void unknown_fields_survive_each_transition(void **state)
{
    Authority *authority = *state;
    const char *text = "{\"format\":\"eden.rotation/1\",\"state\":\"steady\",\"present\":\"" PIN_A
                       "\",\"next\":\"\",\"since_ms\":1,\"pace\":{\"per_s\":5}}";
    Rotation read, moved;
    Buf same = buf_make_in(&authority->arena, 4096), printed = buf_make_in(&authority->arena, 4096);
    assert_succeeds(rotation_read(&authority->arena, str_from_c(text), &read, &err));
    rotation_print(&read, &same);
    assert_str(buf_str(&same), text);
    assert_succeeds(rotation_begin(&read, &new_ca, NOW_MS, &moved, &err));
    rotation_print(&moved, &printed);
    assert_true(str_find(buf_str(&printed), STR("\"pace\":{\"per_s\":5}"), 0) != STR_NOT_FOUND);
}

#define ROTATION(state, next)                                                            \
    "{\"format\":\"eden.rotation/1\",\"state\":\"" state "\",\"present\":\"" PIN_A "\"," \
    "\"next\":\"" next "\",\"since_ms\":1}"

static void damaged_states_are_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][2] = {
        { ROTATION("other", ""), "'state': must be one of steady|prepare|" },
        { ROTATION("steady", PIN_A), "'next': must be empty in state 'steady'" },
        { ROTATION("issue", ""), "'next': must be the pin of a CA in state 'issue'" },
        { ROTATION("issue", "sha256:1"), "'next': a pin must be" },
        { ROTATION("issue", PIN_A), "'next': is the same CA as 'present'" },
        { "{\"format\":\"eden.rotation/0\"}", "expected 'eden.rotation/1'" },
        { "{", "the state of the CA" },
    };
    Rotation read;
    assert_succeeds(rotation_read(&authority->arena, STR(ROTATION("steady", "")), &read, &err));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(rotation_read(&authority->arena, str_from_c(rows[i][0]), &read, &err),
                     ERROR_INVALID, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(all_stay_connected_in_any_order),
        authority_test(each_state_reports_what_it_waits_for),
        authority_test(rotations_start_and_abort_where_allowed),
        authority_test(states_survive_a_round_trip),
        authority_test(unknown_fields_survive_each_transition),
        authority_test(damaged_states_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
