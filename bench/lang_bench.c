/* The C side of the benchmarks: measures src/lang, libyaml's events and jansson on request.
 *
 *     lang_bench TEMPLATES DATA SECONDS
 *
 * Reads one command per line and prints one line of results for each, so that bench/run can
 * alternate samples of C and Python:
 *
 *     text NAME FILE      writes the rendered template to FILE; prints its size
 *     render NAME         seconds to render the compiled template
 *     compile NAME        seconds to compile it, including the templates it extends, and render it
 *     yaml | events FILE  seconds from the text to a value tree; libyaml's events without values
 *     json | jansson FILE seconds from the text to a value tree
 *     spawn PROGRAM       seconds of wall time of `PROGRAM help`
 *
 * A sample repeats the work until SECONDS of CPU time have passed and prints the mean. Freeing
 * memory is not measured, here and in Python. */
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yaml.h>

#include "base/buf.h"
#include "lang/json.h"
#include "lang/template/template.h"
#include "lang/yaml.h"

enum {
    TEXT_MAX = 64 << 20,
    LINE_LEN = 4096,
    BATCH_MAX = 1 << 20
};

typedef struct Bench {
    const char *templates; /* path of a directory */
    const char *data;      /* path of a directory */
    double seconds;
    Arena arena; /* holds all files that were read */
    Map *texts;  /* templates by name */

    /* The template of the last command, compiled, and its context. */
    TemplateSettings settings;
    Str name;
    Str source;
    Value context;
    Templates *compiler;
    const Template *template;
    Rendered rendered;

    Str text; /* text of a document */
} Bench;

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "lang_bench: %s: %s\n", what, why);
    exit(1);
}

static Str read_text(Arena *arena, const char *directory, Str name)
{
    char path[LINE_LEN];
    snprintf(path, sizeof path, "%s%s%" STR_FMT, directory, directory[0] == '\0' ? "" : "/",
             STR_ARG(name));
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    Buf text = buf_make_in(arena, TEXT_MAX);
    char part[1 << 16];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) {
        buf_put(&text, str_from(part, got));
    }
    fclose(file);
    return buf_str(&text);
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* --- Templates ---------------------------------------------------------------------------- */

/* Files are read once, as by the loader on the Python side. */
static bool load_template(void *context, Str name, Arena *arena, Str *text)
{
    Bench *bench = context;
    MapEntry *entry = map_find_str(bench->texts, name);
    if (entry == NULL) {
        Str read = read_text(&bench->arena, bench->templates, name);
        entry = map_set_str(&bench->arena, bench->texts, arena_copy(&bench->arena, name),
                            value_string(read));
    }
    *text = value_str(entry->value);
    return true;
}

static void compile(Bench *bench)
{
    Fault fault;
    bench->compiler = templates_new(&bench->settings);
    if (!templates_compile(bench->compiler, bench->name, bench->source, &bench->template, &fault)) {
        fail("compile", fault.message.data);
    }
}

static void render(Bench *bench)
{
    Fault fault;
    if (!template_render(bench->template, bench->context, &bench->rendered, &fault)) {
        fail("render", fault.message.data);
    }
}

/* Returns the compiled template `name`; its context is frozen, as variables of a site are. */
static void open_template(Bench *bench, Str name)
{
    if (str_eq(bench->name, name)) {
        return;
    }
    templates_free(bench->compiler);
    bench->name = arena_copy(&bench->arena, name);
    bench->source = read_text(&bench->arena, bench->templates, name);
    bench->settings = template_settings_default();
    bench->settings.syntax.trim_blocks = true;
    bench->settings.syntax.lstrip_blocks = true;
    bench->settings.autoescape = str_ends(name, STR(".html"));
    bench->settings.load = load_template;
    bench->settings.load_context = bench;
    compile(bench);

    Str stem = str_slice(name, 0, str_find(name, STR("."), 0));
    Str data = arena_format(&bench->arena, "%" STR_FMT ".json", STR_ARG(stem));
    Error err;
    if (!json_parse_text(&bench->arena, read_text(&bench->arena, bench->data, data), NULL,
                         &bench->context, &err)) {
        fail("context", err.text);
    }
    value_freeze(bench->context);
    render(bench);
}

static double time_render(Bench *bench, uint64_t batch)
{
    double start = cpu_seconds();
    for (uint64_t i = 0; i < batch; i++) {
        render(bench);
    }
    return cpu_seconds() - start;
}

/* The only measurement that includes freeing the memory, because that is part of each round. */
static double time_compile(Bench *bench, uint64_t batch)
{
    double start = cpu_seconds();
    for (uint64_t i = 0; i < batch; i++) {
        templates_free(bench->compiler);
        compile(bench);
        render(bench);
    }
    return cpu_seconds() - start;
}

static void write_text(Bench *bench, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fail(path, "cannot be written");
    }
    Str text = buf_str(&bench->rendered.text);
    fwrite(text.data, 1, text.len, file);
    fclose(file);
    printf("%zu\n", text.len);
}

/* --- Documents ---------------------------------------------------------------------------- */

typedef enum Format {
    YAML,
    JSON
} Format;

static double time_load(Bench *bench, Format format, uint64_t batch)
{
    double used = 0;
    for (uint64_t i = 0; i < batch; i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Sources sources;
        Problems problems;
        Value value;
        double start = cpu_seconds();
        sources_init(&sources, &arena);
        problems_init(&problems, &arena);
        uint16_t source = sources_add(&sources, STR("text"), bench->text);
        bool ok = format == YAML ? yaml_load(&arena, &sources, source, NULL, &value, &problems)
                                 : json_parse(&arena, &sources, source, NULL, &value, &problems);
        used += cpu_seconds() - start;
        if (!ok) {
            fail(format == YAML ? "yaml" : "json", "the text has problems");
        }
    }
    return used;
}

static double time_yaml(Bench *bench, uint64_t batch)
{
    return time_load(bench, YAML, batch);
}

static double time_json(Bench *bench, uint64_t batch)
{
    return time_load(bench, JSON, batch);
}

static double time_events(Bench *bench, uint64_t batch)
{
    double start = cpu_seconds();
    for (uint64_t i = 0; i < batch; i++) {
        yaml_parser_t parser;
        yaml_parser_initialize(&parser);
        yaml_parser_set_input_string(&parser, (const unsigned char *)bench->text.data,
                                     bench->text.len);
        for (bool last = false; !last;) {
            yaml_event_t event;
            if (yaml_parser_parse(&parser, &event) == 0) {
                fail("libyaml", parser.problem);
            }
            last = event.type == YAML_STREAM_END_EVENT;
            yaml_event_delete(&event);
        }
        yaml_parser_delete(&parser);
    }
    return cpu_seconds() - start;
}

/* Duplicate keys are not detected, which is jansson's default but not ours. */
static double time_jansson(Bench *bench, uint64_t batch)
{
    double used = 0;
    for (uint64_t i = 0; i < batch; i++) {
        json_error_t error;
        double start = cpu_seconds();
        json_t *value = json_loadb(bench->text.data, bench->text.len, 0, &error);
        used += cpu_seconds() - start;
        if (value == NULL) {
            fail("jansson", error.text);
        }
        json_decref(value);
    }
    return used;
}

/* --- Starting ----------------------------------------------------------------------------- */

static double time_spawn(const char *program)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    char path[LINE_LEN];
    snprintf(path, sizeof path, "%s", program);
    char *const argv[] = { path, (char[]){ "help" }, NULL };
    pid_t child;
    int status;
    double start = clock_seconds(CLOCK_MONOTONIC);
    if (posix_spawn(&child, path, &actions, NULL, argv, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        fail(program, "did not run");
    }
    double used = clock_seconds(CLOCK_MONOTONIC) - start;
    posix_spawn_file_actions_destroy(&actions);
    return used;
}

/* --- Commands ----------------------------------------------------------------------------- */

typedef double (*Measure)(Bench *bench, uint64_t batch);

typedef struct Command {
    const char *name;
    Measure measure;
    bool template; /* the argument names a template, not a document */
} Command;

static const Command commands[] = {
    { "render", time_render, .template = true },
    { "compile", time_compile, .template = true },
    { "yaml", time_yaml },
    { "events", time_events },
    { "json", time_json },
    { "jansson", time_jansson },
};

/* The mean of as many rounds as fit into the time. */
static double sample(Bench *bench, Measure measure)
{
    uint64_t batch = 1;
    double used = measure(bench, batch); /* also warms up caches and the allocator */
    while ((used = measure(bench, batch)) < bench->seconds && batch < BATCH_MAX) {
        double wanted = 1.2 * bench->seconds / (used > 0 ? used : 1e-9);
        batch = wanted > 100 ? batch * 100 : (uint64_t)((double)batch * wanted) + 1;
    }
    return used / (double)batch;
}

static void run_command(Bench *bench, Str line)
{
    Str name, argument;
    str_split_next(&line, ' ', &name);
    str_split_next(&line, ' ', &argument);
    if (str_eq(name, STR("spawn"))) {
        printf("%.9g\n", time_spawn(arena_copy_c(&bench->arena, argument)));
        return;
    }
    if (str_eq(name, STR("text"))) {
        open_template(bench, argument);
        write_text(bench, arena_copy_c(&bench->arena, line));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (!str_eq(name, str_from_c(commands[i].name))) {
            continue;
        }
        if (commands[i].template) {
            open_template(bench, argument);
        } else {
            bench->text = read_text(&bench->arena, "", argument);
        }
        printf("%.9g\n", sample(bench, commands[i].measure));
        return;
    }
    fail("no such command", arena_copy_c(&bench->arena, name));
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: lang_bench TEMPLATES DATA SECONDS\n");
        return 64;
    }
    Bench bench = { .templates = argv[1], .data = argv[2], .seconds = atof(argv[3]) };
    arena_init(&bench.arena, ARENA_UNLIMITED);
    bench.texts = map_new(&bench.arena, 0);
    bench.settings = template_settings_default();
    bench.rendered = rendered_make(&bench.settings.limits);
    char line[LINE_LEN];
    while (fgets(line, sizeof line, stdin) != NULL) {
        run_command(&bench, str_trim(str_from_c(line)));
        fflush(stdout);
    }
    rendered_clear(&bench.rendered);
    templates_free(bench.compiler);
    arena_clear(&bench.arena);
    return 0;
}
