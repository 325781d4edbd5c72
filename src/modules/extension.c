/* Loads extension modules and runs their actions.
 *
 * Loading: read modules/NAME and its signature, verify it, copy the verified bytes to a memory
 * file, run that once to get its description. The file on disk is never executed, so replacing
 * it after the verification has no effect. Each call is a new process with a minimal
 * environment. */
#include "modules/extension.h"

#include "base/vec.h"
#include "lang/json.h"
#include "modules/call.h"
#include "modules/extension_response.h"
#include "modules/signature.h"
#include "sys/process.h"
#include "sys/program.h"

/* --- Protocol -------------------------------------------------------------------------------- */

/* The `context` of an action's row. */
typedef struct ExtensionContext {
    const Extension *extension;
    const ExtensionAction *row;
} ExtensionContext;

/* Passed from check to apply. */
typedef struct CheckData {
    Value found;
    List *keeps;
} CheckData;

/* Modules do not inherit our environment, which may contain credentials and settings of
 * interpreters. PYTHONSAFEPATH prevents Python from importing modules from the directory of the
 * program, which runs from memory and has no directory. */
static const char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL=C.UTF-8",
    "HOME=/",
    "PYTHONSAFEPATH=1",
    NULL,
};

enum {
    ERROR_LINES_SHOWN = 3,
    ERROR_BYTES_SHOWN = 300
};

/* Returns the last lines of the module's output as one line. */
static Str last_lines(Arena *arena, Str text)
{
    text = str_trim(text);
    size_t start = text.len;
    for (int lines = 0; start > 0 && text.len - start < ERROR_BYTES_SHOWN; start--) {
        lines += text.data[start - 1] == '\n';
        if (lines == ERROR_LINES_SHOWN) {
            break;
        }
    }
    while (start < text.len && ((unsigned char)text.data[start] & 0xc0) == 0x80) {
        start++;
    }
    Buf words = buf_make_in(arena, BUF_UNLIMITED);
    Str rest = str_from_offset(text, start), line;
    while (str_split_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len > 0) {
            buf_put(&words, words.len == 0 ? STR_EMPTY : STR(" | "));
            buf_put(&words, line);
        }
    }
    return buf_str(&words);
}

static bool fail(Arena *arena, const Extension *extension, ErrorKind kind, const char *what,
                 Str error_out, Error *err)
{
    Str words = last_lines(arena, error_out);
    return error_set(err, kind, "%" STR_FMT " %s%s%" STR_FMT, STR_ARG(extension->path), what,
                     words.len > 0 ? ": " : "", STR_ARG(words));
}

/* The raw result of a call. */
typedef struct CallResult {
    Call *call; /* NULL: the call requests the module's description */
    bool started;
    bool succeeded; /* it exited with code 0 and was not killed */
    ProcessResult result;
} CallResult;

/* Returns the module's redacted standard error. */
static Str error_output(const CallResult *call_result)
{
    Str wrote = call_result->result.error_out;
    return call_result->call == NULL ? wrote : call_scrub(call_result->call, wrote);
}

static bool describe_exit(Arena *arena, const Extension *extension, const ProcessSpec *spec,
                          const CallResult *call_result, Error *err)
{
    const ProcessResult *result = &call_result->result;
    ProcessResult silent = *result;
    silent.error_out = STR_EMPTY;
    Error why;
    if (result->out_truncated || result->error_truncated) {
        error_set(&why, ERROR_LIMIT, "wrote more than %d MiB and was killed",
                  EXTENSION_OUTPUT_MAX >> 20);
        silent.error_out = STR_EMPTY;
    } else {
        process_failure(arena, &silent, spec->timeout_ms, &why);
    }
    return fail(arena, extension, why.kind, why.text, error_output(call_result), err);
}

/* Runs the module with one line of input. Returns false unless it exited with code 0. */
static bool run_request(Arena *arena, const Extension *extension, ProcessSpec *spec, Value request,
                        CallResult *call_result, Error *err)
{
    Buf input = buf_make_in(arena, BUF_UNLIMITED);
    ProcessResult *out = &call_result->result;
    *call_result = (CallResult){ .call = call_result->call };
    if (!json_print(&input, request, NULL, err)) {
        return error_wrap(err, "cannot pass parameters to %" STR_FMT, STR_ARG(extension->path));
    }
    buf_put_char(&input, '\n');
    spec->argv = (const char *const[]){ extension->name, NULL };
    spec->program = extension->program;
    spec->env = environment;
    spec->input = buf_str(&input);
    spec->directory = "/";
    spec->set_umask = true;
    spec->umask = 022;
    spec->output_max = EXTENSION_OUTPUT_MAX;
    spec->kill_at_max = true;
    if (!process_run(arena, spec, out, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(extension->path));
    }
    call_result->started = true;
    call_result->succeeded = out->ending == PROCESS_EXITED && out->exit_code == 0 &&
                             !out->out_truncated && !out->error_truncated;
    return call_result->succeeded || describe_exit(arena, extension, spec, call_result, err);
}

static Map *new_request(Arena *arena, const char *op)
{
    Map *request = map_new(arena, 8);
    map_set_str(arena, request, STR("format"), value_string(STR(EXTENSION_FORMAT)));
    map_set_str(arena, request, STR("op"), value_string(str_from_c(op)));
    return request;
}

/* Returns the parameters as users write them, with modes as octal digits. Parameters that are not
 * set are omitted. */
static Value params_value(const Call *call)
{
    Arena *arena = call->arena;
    Map *params = map_new(arena, 8);
    for (uint32_t i = 0; call->action->params[i].name != NULL; i++) {
        const ParamSpec *spec = &call->action->params[i];
        Value value = call->params[i];
        if (value_is_missing(value)) {
            continue;
        }
        if (spec->kind == PARAM_MODE && value.kind == VALUE_INT) {
            value = value_string(arena_format(arena, "%04o", (unsigned)value.integer));
        }
        map_set_str(arena, params, str_from_c(spec->name), value);
    }
    return value_map(params);
}

static bool has_secrets(const Call *call)
{
    bool any = false;
    for (uint32_t i = 0; call->action->params[i].name != NULL; i++) {
        any = any || (!value_is_missing(call->params[i]) && value_holds_secret(call->params[i]));
    }
    return any;
}

static void show_progress(void *context, Str line)
{
    Call *call = context;
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Str text;
    if (extension_progress_read(&scratch, line, &text)) {
        call_progress(call, text);
    }
}

static int64_t timeout_of(const Call *call, const ExtensionAction *row)
{
    return call->timeout_ms > 0  ? call->timeout_ms
           : row->timeout_ms > 0 ? row->timeout_ms
                                 : EXTENSION_TIMEOUT_MS;
}

/* Prefers the module's error message, since it is more specific. If apply does not report
 * whether it changed something, assume that it did. */
static bool parse_response(Call *call, const ExtensionContext *served, ExtensionOp op,
                           const CallResult *call_result, ExtensionResponse *out, Error *err)
{
    Error why;
    const ProcessResult *result = &call_result->result;
    bool acts = op == EXTENSION_APPLY || op == EXTENSION_REACT;
    bool read = extension_response_read(call->arena, result->out, op, out, &why);
    if (read && out->failed && call_result->started && result->ending == PROCESS_EXITED) {
        return error_set(err, ERROR_OS, "%" STR_FMT,
                         STR_ARG(out->failure.len > 0 ? out->failure : STR("it failed")));
    }
    if (!call_result->succeeded || !read) {
        *out = (ExtensionResponse){ .changed = acts && call_result->started };
    }
    if (!call_result->succeeded || read) {
        return call_result->succeeded;
    }
    Str text = arena_format(call->arena, "sent an invalid response: %s", why.text);
    return fail(call->arena, served->extension, why.kind, arena_copy_c(call->arena, text),
                error_output(call_result), err);
}

static bool call_extension(Call *call, ExtensionOp op, Outcome *outcome,
                           ExtensionResponse *response, Error *err)
{
    const ExtensionContext *served = call->action->context;
    *response = (ExtensionResponse){ 0 };
    if (!host_is_live(call->host) && !served->row->roots) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%" STR_FMT
                         " requires the running system and cannot be used in the root '%s'",
                         STR_ARG(served->extension->path), host_root(call->host));
    }
    Arena *arena = call->arena;
    const CheckData *found = outcome->check_data;
    Map *request = new_request(arena, extension_op_names[op]);
    map_set_str(arena, request, STR("action"), value_string(str_from_c(served->row->name)));
    map_set_str(arena, request, STR("params"), params_value(call));
    map_set_str(arena, request, STR("root"), value_string(str_from_c(host_root(call->host))));
    map_set_str(arena, request, STR("planning"), value_bool(call->planning));
    map_set_str(arena, request, STR("found"), found == NULL ? value_null() : found->found);
    ProcessSpec spec = { .timeout_ms = timeout_of(call, served->row),
                         .canceled = call->canceled,
                         .line = show_progress,
                         .line_context = call };
    CallResult call_result = { .call = call };
    (void)!run_request(arena, served->extension, &spec, value_map(request), &call_result, err);
    outcome->error_out = call_result.result.error_out;
    return parse_response(call, served, op, &call_result, response, err);
}

/* --- Actions --------------------------------------------------------------------------------- */

/* Adds the response to the result of the check. */
static void add_response(Call *call, Outcome *outcome, const ExtensionResponse *response)
{
    outcome->comment = response->comment.len > 0 ? response->comment : outcome->comment;
    outcome->state = response->state.len > 0 ? response->state : outcome->state;
    outcome->diff = response->diff.len > 0 ? response->diff : outcome->diff;
    outcome->changes = response->changes != NULL ? response->changes : outcome->changes;
    if (response->value.kind != VALUE_NULL) {
        outcome->value = has_secrets(call) ? value_with_secret(response->value) : response->value;
    }
}

static bool extension_check(Call *call, Outcome *outcome, Error *err)
{
    ExtensionResponse response;
    if (!call_extension(call, EXTENSION_CHECK, outcome, &response, err)) {
        return false;
    }
    add_response(call, outcome, &response);
    outcome->changed = response.changed;
    outcome->unknown = response.unknown;
    CheckData *found = ARENA_NEW(call->arena, CheckData);
    *found = (CheckData){ response.found, response.keeps };
    outcome->check_data = found;
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    if (response.found.kind != VALUE_NULL && json_print(&text, response.found, NULL, err)) {
        outcome_observe(call, outcome, buf_str(&text));
    }
    return true;
}

static bool extension_apply(Call *call, Outcome *outcome, Error *err)
{
    const CheckData *found = outcome->check_data;
    for (uint32_t i = 0; found != NULL && found->keeps != NULL && i < found->keeps->len; i++) {
        if (!call_journal(call, value_str(found->keeps->items[i]), err)) {
            return false;
        }
    }
    ExtensionResponse response;
    bool ok = call_extension(call, EXTENSION_APPLY, outcome, &response, err);
    outcome->changed = response.changed;
    if (ok) {
        add_response(call, outcome, &response);
    }
    return ok;
}

static bool extension_react(Call *call, Outcome *outcome, Error *err)
{
    ExtensionResponse response;
    bool ok = call_extension(call, EXTENSION_REACT, outcome, &response, err);
    outcome->changed = response.changed;
    if (ok) {
        add_response(call, outcome, &response);
    }
    return ok;
}

/* As a step, a query changes nothing. */
static bool extension_query(Call *call, Outcome *outcome, Error *err)
{
    ExtensionResponse response;
    if (!call_extension(call, EXTENSION_QUERY, outcome, &response, err)) {
        return false;
    }
    add_response(call, outcome, &response);
    return true;
}

/* A site's module may do anything. */
static void extension_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("provides:*")));
}

static const Module *serve(Arena *arena, const Extension *extension, const ExtensionRows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const ExtensionAction *row = &rows->extras[i];
        Action *action = &rows->actions[i];
        ExtensionContext *served = ARENA_NEW(arena, ExtensionContext);
        *served = (ExtensionContext){ extension, row };
        action->context = served;
        action->cost_ms = EXTENSION_COST_MS;
        action->check = row->does[EXTENSION_CHECK] ? extension_check : extension_query;
        action->apply = row->does[EXTENSION_APPLY] ? extension_apply : NULL;
        action->react = row->does[EXTENSION_REACT] ? extension_react : NULL;
        action->query = row->does[EXTENSION_QUERY] ? extension_query : NULL;
        action->claims = row->does[EXTENSION_APPLY] ? extension_claims : NULL;
    }
    Module *module = ARENA_NEW(arena, Module);
    *module = rows->module;
    return module;
}

/* --- Loader --------------------------------------------------------------------------------- */

bool extension_path_is(Str path)
{
    return str_starts(path, STR("modules/")) &&
           extension_name_is(str_from_offset(path, STR("modules/").len));
}

static void reject(Arena *arena, Extension *extension, const Error *err)
{
    extension->unusable_reason = arena_copy_c(arena, str_from_c(err->text));
}

static bool read_description(Arena *arena, Extension *extension, Error *err)
{
    if (!program_seal(extension->name, extension->bytes, &extension->program, err)) {
        return false;
    }
    Map *request = new_request(arena, "describe");
    ProcessSpec spec = { .timeout_ms = EXTENSION_DESCRIBE_MS };
    CallResult call_result = { .call = NULL };
    Value description;
    ExtensionRows rows;
    if (!run_request(arena, extension, &spec, value_map(request), &call_result, err)) {
        return error_wrap(err, "cannot get its description");
    }
    if (!extension_object_read(arena, call_result.result.out, &description, err) ||
        !extension_rows_read(arena, extension->name, description, &rows, err)) {
        return error_wrap(err, "%" STR_FMT " has an invalid description", STR_ARG(extension->path));
    }
    extension->module = serve(arena, extension, &rows);
    return true;
}

typedef struct Loader {
    Arena *arena;
    const SiteReader *reader;
    bool describes;
    ModuleTable built_in;
    bool has_keys; /* the keys were read; that is done when they are first needed */
    bool keys_failed;
    TrustedKeys keys;
    Error keys_error;
    const char *config;
} Loader;

static bool load_keys(Loader *l, Error *err)
{
    if (!l->has_keys) {
        l->has_keys = true;
        l->keys_failed = !trusted_keys_load(l->arena, l->config, &l->keys, &l->keys_error);
    }
    if (l->keys_failed) {
        *err = l->keys_error;
    }
    return !l->keys_failed;
}

static bool verify(Loader *l, Extension *extension, Error *err)
{
    const SiteReader *reader = l->reader;
    Str path = arena_format(l->arena, "%" STR_FMT ".sig", STR_ARG(extension->path)), signature;
    if (!reader->read(reader->context, extension->path, &extension->bytes, err)) {
        return false;
    }
    if (!reader->read(reader->context, path, &signature, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_DENIED, "%" STR_FMT " is not signed",
                               STR_ARG(extension->path))
                   : false;
    }
    const PublicKey *key;
    if (!load_keys(l, err)) {
        return false;
    }
    if (!signature_verify(&l->keys, str_from_c(extension->name), extension->bytes, signature,
                          &extension->signer, &key, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(extension->path));
    }
    extension->signer_name = key->name;
    extension->verified = true;
    return true;
}

static bool check_name_available(Loader *l, const Extension *extension, Error *err)
{
    Str name = str_from_c(extension->name);
    if (module_table_find_module(l->built_in, name) != NULL) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " has the name of a built-in module",
                         STR_ARG(extension->path));
    }
    return (!str_eq(name, STR("step")) && !str_eq(name, STR("job"))) ||
           error_set(err, ERROR_CONFLICT, "%" STR_FMT " has the name of a kind of reference",
                     STR_ARG(extension->path));
}

static Extension *load_one(Loader *l, Str path)
{
    Extension *extension = ARENA_NEW(l->arena, Extension);
    Error err;
    *extension = (Extension){ .path = path };
    extension->name = arena_copy_c(l->arena, str_from_offset(path, STR("modules/").len));
    if (!verify(l, extension, &err) || !check_name_available(l, extension, &err) ||
        (l->describes && !read_description(l->arena, extension, &err))) {
        reject(l->arena, extension, &err);
    }
    if (extension->module == NULL) {
        static const Action none[] = { { 0 } };
        Module *module = ARENA_NEW(l->arena, Module);
        *module = (Module){ .name = extension->name,
                            .help = "",
                            .actions = none,
                            .unusable_reason = extension->unusable_reason };
        extension->module = module;
    }
    return extension;
}

/* Built-in modules come first, so that they cannot be replaced. */
static ModuleTable join(Arena *arena, ModuleTable built_in, const Extensions *extensions)
{
    if (extensions->count == 0) {
        return built_in;
    }
    VEC(const Module *) table = { 0 };
    for (; *built_in != NULL; built_in++) {
        VEC_PUSH(arena, &table, *built_in);
    }
    for (uint32_t i = 0; i < extensions->count; i++) {
        VEC_PUSH(arena, &table, extensions->items[i]->module);
    }
    VEC_PUSH(arena, &table, NULL);
    return table.items;
}

void extensions_load(Arena *arena, const SiteReader *reader, const char *config, bool describes,
                     ModuleTable built_in, Extensions *out)
{
    Loader l = { .arena = arena,
                 .reader = reader,
                 .describes = describes,
                 .built_in = built_in,
                 .config = config };
    List *paths = list_new(arena, 0);
    VEC(Extension *) all = { 0 };
    if (reader->list != NULL) {
        reader->list(reader->context, STR("modules"), arena, paths);
    }
    for (uint32_t i = 0; i < paths->len && all.len < EXTENSIONS_MAX; i++) {
        if (extension_path_is(value_str(paths->items[i]))) {
            VEC_PUSH(arena, &all, load_one(&l, value_str(paths->items[i])));
        }
    }
    *out = (Extensions){ .items = all.items, .count = all.len };
    out->table = join(arena, built_in, out);
}

void extensions_close(Extensions *extensions)
{
    for (uint32_t i = 0; i < extensions->count; i++) {
        if (extensions->items[i]->program != 0) {
            program_close(extensions->items[i]->program);
        }
    }
    *extensions = (Extensions){ 0 };
}

static bool is_reported(const Problems *problems, const char *refused)
{
    bool reported = false;
    for (uint32_t i = 0; !reported && i < problems->count; i++) {
        reported = str_ends(problems->items[i].message, str_from_c(refused));
    }
    return reported;
}

void extensions_warn(const Extensions *extensions, Problems *problems)
{
    for (uint32_t i = 0; i < extensions->count; i++) {
        const Extension *extension = extensions->items[i];
        if (extension->unusable_reason != NULL &&
            !is_reported(problems, extension->unusable_reason)) {
            problems_add_severity(problems, SEVERITY_WARNING, "E0324", NULL, 0, 0,
                                  "module '%s' cannot be used: %s", extension->name,
                                  extension->unusable_reason);
        }
    }
}
