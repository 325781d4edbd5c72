#include "run/executor_report.h"

#include "unit.h"

enum {
    NAME,
    TEXT,
    LETTER,
    PASSWORD,
    PARAMS
};

/* A step with a parameter of each kind; the offset of each is its number after 100. */
typedef struct Fixture {
    Dynamic dynamics[PARAMS];
    const Dynamic *places[PARAMS];
    Value values[PARAMS];
    StepSpec spec;
} Fixture;

static const ParamSpec params[] = {
    { .name = "name", .kind = PARAM_STRING, .help = "." },
    { .name = "text", .kind = PARAM_STRING, .help = "." },
    { .name = "letter", .kind = PARAM_STRING, .help = "." },
    { .name = "password", .kind = PARAM_STRING, .help = "." },
    { 0 },
};
static const Action actions[] = { { .name = "act", .help = ".", .params = params }, { 0 } };
static const Module module = { .name = "m", .help = ".", .id_param = "name", .actions = actions };

static Value placed(Value value, uint16_t source)
{
    value.source = source;
    return value;
}

static void fixture_init(Fixture *f)
{
    static const char *const texts[PARAMS] = { "/etc/app", "/etc/app/conf", "x", "hunter2" };
    *f = (Fixture){ .spec = { .module = &module,
                              .action = actions,
                              .location = placed(value_null(), 1),
                              .name_location = value_missing(),
                              .params = f->places,
                              .params_set = (1 << PARAMS) - 1 } };
    for (uint32_t i = 0; i < PARAMS; i++) {
        f->dynamics[i].value = placed(value_string(str_from_c(texts[i])), 100 + i);
        f->places[i] = &f->dynamics[i];
        f->values[i] = f->dynamics[i].value;
    }
    f->values[PASSWORD].flags |= VALUE_SECRET;
}

static void the_location_is_that_of_the_parameter_at_fault(void **state)
{
    static const struct {
        const char *blamed, *text;
        uint16_t source;
    } rows[] = {
        { NULL, "cannot read /etc/app", 100 + NAME },
        { NULL, "cannot read /etc/app/conf", 100 + TEXT }, /* the longer one */
        { NULL, "exited with x", 100 + NAME },             /* a letter is everywhere */
        { NULL, "hunter2 is wrong", 100 + NAME },          /* no error reveals a secret */
        { NULL, "it failed", 100 + NAME },                 /* the subject of the step */
        { "letter", "cannot read /etc/app/conf", 100 + LETTER },
        { "password", "it failed", 100 + PASSWORD },
    };
    Fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Value place = step_error_place(&f.spec, f.values, rows[i].blamed, str_from_c(rows[i].text));
        if (place.source != rows[i].source) {
            fail_msg("row %zu: %u", i, place.source);
        }
    }
}

static void without_parameters_it_is_the_step(void **state)
{
    Fixture f;
    fixture_init(&f);
    f.spec.params_set = 0;
    assert_int_equal(step_error_place(&f.spec, f.values, "name", STR("/etc/app")).source, 1);
    assert_int_equal(step_error_place(&f.spec, NULL, NULL, STR("/etc/app")).source, 1);
    f.spec.name_location = placed(value_null(), 2);
    assert_int_equal(step_error_place(&f.spec, f.values, NULL, STR("/etc/app")).source, 2);
}

static Str hide(void *context, Str text, Arena *arena)
{
    return str_find(text, STR("hunter2"), 0) == STR_NOT_FOUND ? text : STR("***");
}

static void problems_show_no_secret(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RunCoreOps world = { .scrub = hide };
    ProblemNote note = { .message = STR("here hunter2") };
    Problem problem = { .message = STR("no hunter2"),
                        .hint = STR("or 'hunter2'?"),
                        .fix = { .line = 1, .text = STR("hunter2") },
                        .excerpt = STR("password: hunter2"),
                        .notes = &note };
    executor_scrub_problem(&world, &arena, &problem);
    assert_str(problem.message, "***");
    assert_str(problem.hint, "***");
    assert_int_equal(problem.fix.line, 0);
    assert_str(problem.fix.text, "");
    assert_str(problem.excerpt, "");
    assert_str(note.message, "***");
    Problem plain = { .message = STR("no such user"), .excerpt = STR("user: you") };
    executor_scrub_problem(&world, &arena, &plain);
    assert_str(plain.message, "no such user");
    assert_str(plain.excerpt, "user: you");
}

/* What a run prints and records of a step is taken from its outcome. */
static void a_secret_step_shows_nothing(void **state)
{
    AUTO_CLEAR(Arena) arena;
    const RunCoreOps world = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    Task task = { .failed = true };
    arena_init(&task.arena, ARENA_UNLIMITED);
    List *files = list_new(&arena, 2);
    Map *file = map_new(&arena, 2), *directory = map_new(&arena, 1);
    map_set_str(&arena, file, STR("path"), value_string(STR("/etc/app")));
    map_set_str(&arena, file, STR("content"), value_string(STR("hunter2")));
    map_set_str(&arena, directory, STR("path"), value_string(STR("/etc")));
    list_push(&arena, files, value_map(file));
    list_push(&arena, files, value_map(directory));
    Map *changes = map_new(&arena, 1);
    map_set_str(&arena, changes, STR("new"), value_string(STR("hunter2")));
    task.outcome = (Outcome){
        .value = value_string(STR("hunter2")),
        .changes = changes,
        .diff = STR("+hunter2\n"),
        .files = files,
    };
    error_set(&task.error, ERROR_OS, "hunter2 is wrong");
    executor_report_redact(&world, &task);
    assert_true(task.outcome.secret);
    assert_true(task.outcome.value.flags & VALUE_SECRET);
    assert_true(value_get(value_map(file), STR("content"))->flags & VALUE_SECRET);
    assert_false(value_get(value_map(file), STR("path"))->flags & VALUE_SECRET);
    assert_true(value_get(value_map(task.outcome.changes), STR("new"))->flags & VALUE_SECRET);
    assert_null(strstr(task.outcome.diff.data, "hunter2"));
    assert_string_equal(task.error.text, "failed; the reason is hidden (secret)");
    task.outcome.has_exit_code = true;
    task.outcome.exit_code = 3;
    executor_report_redact(&world, &task);
    assert_string_equal(task.error.text, "exited with 3; its output is secret");
    arena_clear(&task.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_location_is_that_of_the_parameter_at_fault),
        cmocka_unit_test(without_parameters_it_is_the_step),
        cmocka_unit_test(problems_show_no_secret),
        cmocka_unit_test(a_secret_step_shows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
