/* eden dev: runs a temporary cluster on this machine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cluster_client.h"
#include "cli/contexts.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "dev/dev_cluster.h"
#include "dev/dev_directory.h"
#include "dev/dev_plan.h"
#include "lang/json.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/container.h"
#include "sys/machine.h"
#include "sys/process.h"

enum {
    COMMAND_TIMEOUT_MS = 30 * 1000, /* timeout of each command that queries the server */
    OUTPUT_MAX = 1 << 20,           /* limit on its output, in bytes */
    CLUSTERS_SHOWN_MAX = 8,         /* maximum number of clusters listed */
    NODES_DEFAULT = 3,
};

typedef struct DevRun {
    Invocation *invocation;
    DevCluster *cluster;
    uint32_t nodes;
    int64_t started_us;
    Str ca_pin;
    Str token;        /* for the API */
    const char *site; /* absolute path; NULL: none */
    bool follows_site;
    Value description;
} DevRun;

static int fail(Invocation *invocation, const Error *err)
{
    return daemon_command_fail(invocation, "E0890", err);
}

/* Prints progress on stderr; nothing with -o json. */
PRINTF_LIKE(2, 3) static void print_stage(const DevRun *run, const char *format, ...)
{
    if (invocation_wants_json(run->invocation)) {
        return;
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    va_list arguments;
    va_start(arguments, format);
    buf_put_format_v(&line, format, arguments);
    va_end(arguments);
    stream_put_format(run->invocation->err, "  %5.2f s  %s\n",
                      (double)(clock_monotonic_us() - run->started_us) / 1e6, buf_c(&line));
    (void)stream_flush(run->invocation->err);
}

/* --- Querying the server --------------------------------------------------------------------- */

/* Runs an ordinary eden command in node1; `on_output` may end it early. */
static bool run_eden(const DevRun *run, const char *const *words, ProcessSink on_output,
                     void *context, Str *output, Error *err)
{
    const char *argv[16] = { CHILD_SAME_PROGRAM };
    uint32_t count = 1;
    for (; words[count - 1] != NULL; count++) {
        argv[count] = words[count - 1];
    }
    argv[count++] = "--run-dir";
    argv[count++] = dev_cluster_run_dir(run->cluster);
    argv[count] = NULL;
    ProcessSpec spec = { .argv = argv,
                         .timeout_ms = COMMAND_TIMEOUT_MS,
                         .output_max = OUTPUT_MAX,
                         .sink = on_output,
                         .sink_context = context };
    ProcessResult result;
    if (!process_run(run->invocation->arena, &spec, &result, err)) {
        return false;
    }
    *output = result.out;
    if (result.ending == PROCESS_OUTPUT_REJECTED ||
        (result.ending == PROCESS_EXITED && result.exit_code == 0)) {
        return true;
    }
    process_failure(run->invocation->arena, &result, COMMAND_TIMEOUT_MS, err);
    return error_wrap(err, "eden %s", words[0]);
}

static bool create_api_token(DevRun *run, Error *err)
{
    static const char *const words[] = { "tokens", "create",  "--role", "admin", "--ttl",
                                         "7d",     "--label", "dev",    NULL };
    Str line;
    if (!run_eden(run, words, NULL, NULL, &line, err)) {
        return false;
    }
    run->token = str_trim(line);
    return true;
}

static bool create_join_token(DevRun *run, Str *token, Error *err)
{
    Arena *arena = run->invocation->arena;
    const char *uses = arena_format(arena, "%u", run->nodes > 1 ? run->nodes - 1 : 1).data;
    const char *const words[] = { "tokens", "create", "--uses",
                                  uses,     "-o",     "jsonpath={.status.secret} {.status.ca_pin}",
                                  NULL };
    Str line;
    if (!run_eden(run, words, NULL, NULL, &line, err)) {
        return false;
    }
    Str rest = str_trim(line);
    return (str_split_next(&rest, ' ', token) && str_split_next(&rest, ' ', &run->ca_pin)) ||
           error_set(err, ERROR_INVALID, "'eden tokens create' printed no token");
}

/* Parses one line per change of facts; a node may send its facts more than once. */
typedef struct FactsWatch {
    Arena *arena;
    Buf text;
    bool has_facts[DEV_NODES_MAX];
    uint32_t nodes;
} FactsWatch;

static bool all_have_facts(const FactsWatch *watch)
{
    for (uint32_t i = 0; i < watch->nodes; i++) {
        if (!watch->has_facts[i]) {
            return false;
        }
    }
    return true;
}

static void parse_change(FactsWatch *watch, Str line)
{
    Value change;
    Error err;
    if (!json_parse_text(watch->arena, line, NULL, &change, &err)) {
        return;
    }
    Str key = value_get_text(change, "key");
    for (uint32_t i = 0; i < watch->nodes; i++) {
        Str end = arena_format(watch->arena, "/facts/%s", dev_node_name(watch->arena, i));
        watch->has_facts[i] = watch->has_facts[i] || str_ends(key, end);
    }
}

/* Returns false, which ends the command, once the facts of all nodes have arrived. */
static bool on_output(void *context, Str chunk)
{
    FactsWatch *watch = context;
    buf_put(&watch->text, chunk);
    Str rest = buf_str(&watch->text);
    for (size_t end; (end = str_find(rest, STR("\n"), 0)) != STR_NOT_FOUND;) {
        parse_change(watch, str_slice(rest, 0, end));
        rest = str_from_offset(rest, end + 1);
    }
    Buf rest_copy = buf_make_in(watch->arena, BUF_UNLIMITED);
    buf_put(&rest_copy, rest);
    watch->text = rest_copy;
    return !all_have_facts(watch);
}

static bool wait_facts(const DevRun *run, Error *err)
{
    static const char *const words[] = { "watch", "/eden/facts/", "--prefix", "--from",
                                         "1",     "-o",           "json",     NULL };
    Arena *arena = run->invocation->arena;
    FactsWatch watch = { .arena = arena,
                         .text = buf_make_in(arena, BUF_UNLIMITED),
                         .nodes = run->nodes };
    Str output;
    return run_eden(run, words, on_output, &watch, &output, err);
}

/* --- The site -------------------------------------------------------------------------------- */

/* A repository with a working tree, or a bare one. */
static bool is_repository(Arena *arena, const char *path)
{
    static const char *const names[] = { "HEAD", "objects", "refs" };
    if (access(arena_format(arena, "%s/.git", path).data, F_OK) == 0) {
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (access(arena_format(arena, "%s/%s", path, names[i]).data, F_OK) != 0) {
            return false;
        }
    }
    return true;
}

/* The last line of 'eden sources add', which names the branch. */
static void print_branch(const DevRun *run, Str output)
{
    Str line, last = STR_EMPTY;
    while (output.len > 0 && str_split_next(&output, '\n', &line)) {
        last = line.len > 0 ? line : last;
    }
    print_stage(run, "%s: %" STR_FMT, run->site, STR_ARG(last));
}

/* The cluster follows a git repository; for any other directory, its current files are pushed
 * once. */
static bool send_site(const DevRun *run, Str *output, Error *err)
{
    const char *url = arena_format(run->invocation->arena, "file://%s", run->site).data;
    const char *const add[] = { "sources", "add", "site", url, "--interval", "5s", NULL };
    const char *const sync[] = { "sources", "sync", "site", NULL };
    const char *const push[] = { "push", run->site, NULL };
    if (!run->follows_site) {
        return run_eden(run, push, NULL, NULL, output, err);
    }
    if (!run_eden(run, add, NULL, NULL, output, err)) {
        return false;
    }
    print_branch(run, *output);
    return run_eden(run, sync, NULL, NULL, output, err);
}

/* If the site has errors, they are reported and the cluster keeps running, so that the user can fix
 * them and push again. */
static void add_site(const DevRun *run)
{
    Str output = STR_EMPTY, line = STR_EMPTY;
    Error err;
    if (run->site == NULL) {
        return;
    }
    bool is_sent = send_site(run, &output, &err);
    (void)str_split_next(&output, '\n', &line);
    if (is_sent || line.len > 0) {
        print_stage(run, "%s: %" STR_FMT, run->site, STR_ARG(line));
    } else {
        stream_put_format(run->invocation->err,
                          "%s: %s; 'eden validate' shows all errors of a site\n", run->site,
                          err.text);
    }
}

/* --- Starting -------------------------------------------------------------------------------- */

static bool start(DevRun *run, Error *err)
{
    DevCluster *cluster = run->cluster;
    Str token;
    if (!dev_cluster_wait_server(cluster, err)) {
        return false;
    }
    print_stage(run, "%s is running the server", dev_node_name(run->invocation->arena, 0));
    if (!create_join_token(run, &token, err)) {
        return false;
    }
    dev_cluster_join(cluster, token, run->ca_pin);
    if (!create_api_token(run, err) || !dev_cluster_wait_nodes(cluster, err)) {
        return false;
    }
    if (run->nodes > 1) {
        print_stage(run, "%u more %s joined", run->nodes - 1, run->nodes == 2 ? "has" : "have");
    }
    if (!wait_facts(run, err)) {
        return false;
    }
    print_stage(run, "all nodes have sent their facts");
    if (!dev_cluster_publish(cluster, run->ca_pin, run->token, &run->description, err)) {
        return false;
    }
    add_site(run);
    return true;
}

static void on_node_exit(void *context, const char *node)
{
    const DevRun *run = context;
    stream_put_format(run->invocation->err, "%s has exited; the other nodes keep running\n", node);
    (void)stream_flush(run->invocation->err);
}

static void on_interrupt_delay(void *context, pid_t process, int64_t left_ms)
{
    const DevRun *run = context;
    stream_put_format(
        run->invocation->err,
        "waiting for '%s' (process %lld) to exit; it will be killed in %lld s, or on another "
        "Ctrl-C\n",
        run->invocation->args[0], (long long)process, (long long)left_ms / 1000);
    (void)stream_flush(run->invocation->err);
}

/* --- Output ---------------------------------------------------------------------------------- */

/* Returns the program as the user would type it: just the name if it is installed. */
static const char *program_name(Arena *arena)
{
    Str path;
    Error err;
    return machine_own_program(arena, &path, &err) && !str_starts(path, STR("/usr/"))
               ? arena_copy_c(arena, path)
               : "eden";
}

static void print_ready(const DevRun *run)
{
    static const char *const words[] = { "nodes", "list", NULL };
    Stream *out = run->invocation->out;
    const char *eden = program_name(run->invocation->arena);
    const char *run_dir = dev_cluster_run_dir(run->cluster);
    Str directory = value_get_text(run->description, "directory"), table;
    Error err;
    stream_put_format(out, "\n");
    if (run_eden(run, words, NULL, NULL, &table, &err)) {
        stream_put(out, table);
    }
    stream_put_format(out,
                      "\n"
                      "  open         %" STR_FMT "/\n"
                      "  log in with  %" STR_FMT "\n"
                      "  CA           %" STR_FMT "\n"
                      "  commands     with --run-dir %s\n"
                      "  logs         %" STR_FMT "/node1/log, ...\n"
                      "  nodes have   %s; see 'eden help dev'\n"
                      "\n"
                      "Try in another terminal:\n"
                      "  %s login %" STR_FMT " --name dev --ca-pin %" STR_FMT "\n"
                      "  %s facts --node node1 --run-dir %s\n"
                      "  %s dev --directory %" STR_FMT " --in node1 -- %s doctor\n"
                      "  %s dev --directory %" STR_FMT " --in node%u -- %s apply SITE\n",
                      STR_ARG(value_get_text(run->description, "api")), STR_ARG(run->token),
                      STR_ARG(run->ca_pin), run_dir, STR_ARG(directory),
                      invocation_flag(run->invocation, "systemd")
                          ? "systemd, but none of this machine's services and no external network"
                          : "no systemd (--systemd boots one) and no external network",
                      eden, STR_ARG(value_get_text(run->description, "api")), STR_ARG(run->ca_pin),
                      eden, run_dir, eden, STR_ARG(directory), eden, eden, STR_ARG(directory),
                      run->nodes, eden);
    if (run->site != NULL) {
        stream_put_format(out,
                          "  %s sources --watch --run-dir %s\n"
                          "  %s runs --watch --run-dir %s\n",
                          eden, run_dir, eden, run_dir);
    }
    stream_put_format(out, "\nPress Ctrl-C to stop the cluster and remove it.\n");
}

/* Returns a PATH that finds this program as "eden"; NULL if its location is unknown. */
static const char *program_path(Arena *arena)
{
    const char *path = getenv("PATH");
    Str own;
    Error err;
    if (!machine_own_program(arena, &own, &err)) {
        return NULL;
    }
    size_t slash = str_find_last(own, STR("/"));
    /* An empty entry in PATH would mean the current directory. */
    Str directory = slash == 0 ? STR("/") : str_slice(own, 0, slash);
    return arena_format(arena, "PATH=%" STR_FMT ":%s", STR_ARG(directory),
                        path == NULL ? "/usr/bin:/bin" : path)
        .data;
}

/* Environment variables through which the user's command finds the cluster. */
static const char *const *variables(const DevRun *run)
{
    Arena *arena = run->invocation->arena;
    const char **environment = ARENA_ARRAY(arena, const char *, 7);
    environment[0] = arena_format(arena, "EDEN_DEV=%" STR_FMT,
                                  STR_ARG(value_get_text(run->description, "directory")))
                         .data;
    environment[1] = arena_format(arena, "EDEN_RUN_DIR=%s", dev_cluster_run_dir(run->cluster)).data;
    environment[2] =
        arena_format(arena, "EDEN_API=%" STR_FMT, STR_ARG(value_get_text(run->description, "api")))
            .data;
    environment[3] = arena_format(arena, "EDEN_CA_PIN=%" STR_FMT, STR_ARG(run->ca_pin)).data;
    environment[4] = arena_format(arena, "EDEN_TOKEN=%" STR_FMT, STR_ARG(run->token)).data;
    environment[5] = program_path(arena);
    environment[6] = NULL;
    return environment;
}

static const char *const *command_words(const Invocation *invocation)
{
    const char **words = ARENA_ARRAY(invocation->arena, const char *, invocation->arg_count + 1);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        words[i] = invocation->args[i];
    }
    words[invocation->arg_count] = NULL;
    return words;
}

static int run_or_wait(const DevRun *run)
{
    Invocation *invocation = run->invocation;
    int code = EXIT_OK;
    Error err;
    if (invocation->arg_count > 0) {
        return dev_cluster_run(run->cluster, command_words(invocation), variables(run), &code, &err)
                   ? code
                   : fail(invocation, &err);
    }
    if (invocation_wants_json(invocation)) {
        Inputs inputs;
        inputs_init(&inputs, invocation->arena);
        (void)output_value(&inputs, invocation, OUTPUT_LINE, run->description);
    } else {
        print_ready(run);
    }
    (void)stream_flush(invocation->out);
    return dev_cluster_wait(run->cluster, &err) ? EXIT_OK : fail(invocation, &err);
}

static bool find_site(DevRun *run, DevOptions *options)
{
    const char *path = invocation_text(run->invocation, "site");
    struct stat info;
    if (path == NULL) {
        return true;
    }
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        usage_error(run->invocation, "--site: '%s' is not a directory", path);
        return false;
    }
    char *resolved = realpath(path, NULL);
    if (resolved == NULL) {
        usage_error(run->invocation, "--site: '%s': %s", path, strerror(errno));
        return false;
    }
    run->site = arena_copy_c(run->invocation->arena, str_from_c(resolved));
    free(resolved);
    run->follows_site = is_repository(run->invocation->arena, run->site);
    options->shared = run->follows_site ? run->site : NULL;
    return true;
}

static int run_cluster(DevRun *run, const DevOptions *options)
{
    Error err;
    if (!dev_cluster_open(run->invocation->arena, options, &run->cluster, &err)) {
        return fail(run->invocation, &err);
    }
    int code;
    if (start(run, &err)) {
        code = run_or_wait(run);
    } else if (dev_cluster_is_interrupted(run->cluster)) {
        code = EXIT_INTERRUPTED;
    } else {
        code = fail(run->invocation, &err);
    }
    dev_cluster_close(run->cluster);
    print_stage(run, "stopped; everything has been removed");
    return code;
}

/* --- Running in a node ----------------------------------------------------------------------- */

/* Appends a word, quoted for a shell. */
static void put_quoted(Buf *out, const char *word)
{
    bool is_plain = word[0] != '\0';
    for (const char *at = word; *at != '\0'; at++) {
        is_plain = is_plain && (ascii_is_alpha(*at) || ascii_is_digit(*at) ||
                                strchr("-_./:=@%+,", *at) != NULL);
    }
    if (is_plain) {
        buf_put_c(out, word);
        return;
    }
    buf_put_char(out, '\'');
    for (const char *at = word; *at != '\0'; at++) {
        buf_put_c(out, *at == '\'' ? "'\\''" : (char[]){ *at, '\0' });
    }
    buf_put_char(out, '\'');
}

/* Returns "eden dev --directory /tmp/eden-dev-x --in node1 -- true  (3 nodes,
 * https://127.0.0.1:1338)": the typed command, completed for one of several clusters. */
static Str command_for(const Invocation *invocation, Value description)
{
    Arena *arena = invocation->arena;
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    put_quoted(&line, program_name(arena));
    buf_put_c(&line, " dev --directory ");
    put_quoted(&line, arena_copy_c(arena, value_get_text(description, "directory")));
    buf_put_c(&line, " --in ");
    put_quoted(&line, invocation_text(invocation, "in"));
    buf_put_c(&line, " --");
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        buf_put_char(&line, ' ');
        put_quoted(&line, invocation->args[i]);
    }
    Str nodes = output_count(arena, value_get_list(description, "nodes")->len, "node", "nodes");
    buf_put_format(&line, "  (%" STR_FMT ", %" STR_FMT ")", STR_ARG(nodes),
                   STR_ARG(value_get_text(description, "api")));
    return buf_str(&line);
}

/* Lists the commands to choose from, one for each cluster. */
static int report_choices(const Invocation *invocation, const List *descriptions, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    problems_add(&inputs.problems, "E0890", NULL, 0, 0, "%s", err->text);
    for (uint32_t i = 0; i < descriptions->len && i < CLUSTERS_SHOWN_MAX; i++) {
        problem_add_note(invocation->arena, &inputs.problems.items[0],
                         command_for(invocation, descriptions->items[i]), STR_EMPTY, 0);
    }
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

static bool find_cluster(const Invocation *invocation, Value *description, Error *err)
{
    const char *directory = invocation_text(invocation, "directory"),
               *env_directory = getenv("EDEN_DEV");
    if (directory != NULL || env_directory == NULL) {
        return dev_directory_find(invocation->arena, directory, description, err);
    }
    return dev_directory_find(invocation->arena, env_directory, description, err) ||
           error_wrap(err, "EDEN_DEV");
}

static bool find_node(Value description, const char *name, pid_t *process, Error *err)
{
    const List *nodes = value_get_list(description, "nodes");
    for (uint32_t i = 0; i < nodes->len; i++) {
        if (str_eq_c(value_get_text(nodes->items[i], "name"), name)) {
            *process = (pid_t)value_get_int(nodes->items[i], "process");
            return true;
        }
    }
    return error_set(err, ERROR_NOT_FOUND,
                     nodes->len == 1 ? "node '%s' not found; the only node is node%u"
                                     : "node '%s' not found; the nodes are node1 to node%u",
                     name, nodes->len);
}

static int run_inside(Invocation *invocation, const char *node)
{
    /* Commands in the node use the server there, regardless of the user's contexts, even if this
     * command itself runs in another temporary cluster. */
    static const char *const own[] = { "EDEN_CONTEXT=" CONTEXT_LOCAL, "EDEN_RUN_DIR=", NULL };
    Value description = value_null();
    pid_t process = 0;
    int code;
    Error err;
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "--in requires a command after '--'");
    }
    if (!find_cluster(invocation, &description, &err)) {
        return description.kind == VALUE_LIST ? report_choices(invocation, description.list, &err)
                                              : fail(invocation, &err);
    }
    return find_node(description, node, &process, &err) &&
                   container_run(process, command_words(invocation),
                                 process_environment(invocation->arena, own), &code, &err)
               ? code
               : fail(invocation, &err);
}

/* --- Command --------------------------------------------------------------------------------- */

static bool read_number(Invocation *invocation, const char *option, uint64_t from, uint64_t to,
                        uint64_t *out)
{
    const char *text = invocation_text(invocation, option);
    if (!str_to_u64(str_from_c(text), out) || *out < from || *out > to) {
        usage_error(invocation, "--%s must be a number from %llu to %llu, not '%s'", option,
                    (unsigned long long)from, (unsigned long long)to, text);
        return false;
    }
    return true;
}

static int dev_run(Invocation *invocation)
{
    const char *node = invocation_text(invocation, "in");
    uint64_t nodes = NODES_DEFAULT, port = DEV_API_PORT;
    bool is_new =
        invocation_flag(invocation, "systemd") || invocation_text(invocation, "port") != NULL ||
        invocation_text(invocation, "site") != NULL || invocation_text(invocation, "nodes") != NULL;
    if (node != NULL && is_new) {
        return usage_error(
            invocation,
            "--nodes, --port, --site and --systemd apply to a new cluster, --in to a running one");
    }
    if (node != NULL) {
        return run_inside(invocation, node);
    }
    if (invocation_text(invocation, "directory") != NULL) {
        return usage_error(
            invocation,
            "--directory requires --in: a new cluster chooses its own directory in /tmp");
    }
    if ((invocation_text(invocation, "nodes") != NULL &&
         !read_number(invocation, "nodes", 1, DEV_NODES_MAX, &nodes)) ||
        (invocation_text(invocation, "port") != NULL &&
         !read_number(invocation, "port", 0, UINT16_MAX, &port))) {
        return EXIT_USAGE;
    }
    DevRun run = { .invocation = invocation,
                   .nodes = (uint32_t)nodes,
                   .started_us = clock_monotonic_us() };
    DevOptions options = { .nodes = run.nodes,
                           .port = (uint16_t)port,
                           .is_port_fixed = invocation_text(invocation, "port") != NULL,
                           .systemd = invocation_flag(invocation, "systemd"),
                           .on_node_exit = on_node_exit,
                           .on_interrupt_delay = on_interrupt_delay,
                           .context = &run };
    return find_site(&run, &options) ? run_cluster(&run, &options) : EXIT_USAGE;
}

static const Option options[] = {
    { .name = "nodes",
      .letter = 'n',
      .argument = "NUMBER",
      .help = "number of nodes, the first of which runs the server; default: 3" },
    { .name = "port",
      .argument = "PORT",
      .help = "port of the API, on 127.0.0.1; default: 1338, or any free port if that is in use" },
    { .name = "site",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "apply this site to all nodes; if it is a git repository, also each new commit" },
    { .name = "systemd",
      .help = "boot systemd in each node, for services, timers and journals; requires root" },
    { .name = "in",
      .argument = "NODE",
      .help = "run the command in this node of a running cluster" },
    { .name = "directory",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "with --in: the directory of the cluster; default: $EDEN_DEV, or the only running "
              "cluster" },
    OUTPUT_OPTION("text|json", "text",
                  "output format when the cluster is ready; json prints one line"),
    { 0 },
};

static const Example examples[] = {
    { "eden dev --nodes 5", "run five nodes until Ctrl-C" },
    { "eden dev --nodes 5 --site site/", "apply a site, and each new commit, to five nodes" },
    { "eden dev --in node2 -- eden apply examples/shop",
      "from another terminal: apply a site on one node" },
    { "eden dev --nodes 1 --systemd", "test services in a node with systemd" },
    { "eden dev -- sh -c 'eden nodes list; eden facts --node node2 os'",
      "run a command with a cluster, then stop both" },
    { 0 },
};

const Command command_dev = {
    .name = "dev",
    .group = GROUP_CLUSTER,
    .args = { { "[COMMAND...]" } },
    .help = "Run a temporary cluster on this machine.",
    .text =
        "Starts a server and agents, each in a copy of this machine with its own files,\n"
        "processes, name and address. Changes inside do not affect this machine or its network.\n"
        "Ctrl-C stops the cluster and removes everything. If 'eden dev' is killed, a directory\n"
        "in /tmp may be left behind; the next 'eden dev' removes it.\n"
        "\n"
        "With --site, the nodes apply this site. If the directory is a git repository, the\n"
        "cluster follows it: each commit is checked and applied within five seconds, or\n"
        "immediately after 'eden sources sync site'. Otherwise, run 'eden push DIR' after making\n"
        "changes.\n"
        "\n"
        "The copies are overlays: software installed on this machine is available in every node,\n"
        "and changes are stored in memory. Later changes to this machine's files are visible to\n"
        "new commands immediately and to running ones within a second, unless the node has\n"
        "changed the file or has it open. Without root, user namespaces are required; then root\n"
        "is the only user in a node, installed files are read-only except in /etc and /var, and\n"
        "/etc is copied when the node starts.\n"
        "\n"
        "Limitations: the kernel is shared, so kernel modules, the clock, swap and most sysctl\n"
        "parameters cannot be changed; net.*, the host name and IPC limits can be set per node.\n"
        "Nodes can reach only each other; they cannot download packages. Without --systemd no\n"
        "init runs, and modules that need systemd fail.\n"
        "\n"
        "--systemd boots systemd in each node, so that services, timers, the journal and D-Bus\n"
        "work. Units enabled on this machine are not started automatically. The node has its own\n"
        "devices, /run and /etc/fstab; it has no udev, and memory and CPU limits work only if\n"
        "this machine delegates those cgroup controllers. Requires root, systemd on this machine\n"
        "and a cgroup2 file system.\n"
        "\n"
        "COMMAND, after '--', runs on this machine once the cluster is ready. When it exits, its\n"
        "remaining processes are killed and the cluster stops, with the same exit code. After\n"
        "Ctrl-C, COMMAND has ten seconds to exit; after that, or on another Ctrl-C, it is\n"
        "killed, and the exit code is 130. Programs that use the terminal in raw mode, such as\n"
        "shells and editors, receive Ctrl-C themselves. eden commands run by COMMAND use this\n"
        "cluster, because $EDEN_RUN_DIR is set. $EDEN_API, $EDEN_TOKEN and $EDEN_CA_PIN give\n"
        "access to the API; $EDEN_DEV is the directory of the cluster.\n"
        "\n"
        "--in runs COMMAND in a node of a cluster that the same user is running. If several are\n"
        "running, select one with --directory or $EDEN_DEV; the directory is printed when a\n"
        "cluster is ready.",
    .options = options,
    .examples = examples,
    .run = dev_run,
};
