/* eden modules: signs, verifies and documents the modules of a site, which are executables. */
#include "cli/help_text.h"
#include "cli/output.h"
#include "cli/subject_value.h"
#include "cli/table.h"
#include "modules/extension.h"
#include "modules/modules.h"
#include "modules/signature.h"
#include "run/node_paths.h"
#include "run/site_files.h"
#include "sys/file.h"

typedef struct Work {
    Invocation *invocation;
    Inputs inputs;
    const char *trust;
} Work;

static void setup_init(Work *work, Invocation *invocation)
{
    work->invocation = invocation;
    work->trust = node_trust_path(invocation_text(invocation, "config-dir"));
    inputs_init(&work->inputs, invocation->arena);
}

static void add_error(Work *work, const Error *err)
{
    problems_add(&work->inputs.problems, "", NULL, 0, 0, "%s", err->text);
}

static int fail(Work *work, const Error *err)
{
    add_error(work, err);
    return inputs_report(&work->inputs, work->invocation);
}

static void set(const Work *work, Map *map, const char *key, Value value)
{
    map_set_str(work->invocation->arena, map, str_from_c(key), value);
}

static Value text_or_null(Str text)
{
    return text.len == 0 ? value_null() : value_string(text);
}

static Str base_name(Str path)
{
    size_t slash = str_find_last(path, STR("/"));
    return slash == STR_NOT_FOUND ? path : str_from_offset(path, slash + 1);
}

/* --- keygen ------------------------------------------------------------------------------------ */

static bool make_keys(const Work *work, const char *path, const char *public_path, char *id,
                      Error *err)
{
    Arena *arena = work->invocation->arena;
    Str name = base_name(str_from_c(path));
    Ed25519Private key;
    Ed25519Public public;
    if (file_exists(public_path)) {
        return error_set(err, ERROR_CONFLICT, "%s: already exists", public_path);
    }
    if (!ed25519_make(&key, err)) {
        return false;
    }
    bool ok = ed25519_public(&key, &public, err) &&
              file_write_new_private(path, private_key_format(arena, &key, name), err) &&
              file_write_atomic(public_path, public_key_format(arena, &public, name), err);
    ed25519_forget(&key);
    ed25519_id(&public, id);
    return ok;
}

static int run_keygen(Invocation *invocation)
{
    Work work;
    const char *path = invocation->args[0];
    Str public_path = arena_format(invocation->arena, "%s.pub", path);
    char id[ED25519_ID + 1];
    Error err;
    setup_init(&work, invocation);
    if (!make_keys(&work, path, arena_copy_c(invocation->arena, public_path), id, &err)) {
        return fail(&work, &err);
    }
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(invocation->arena, 4);
        set(&work, map, "format", value_string(STR("eden.key/1")));
        set(&work, map, "id", value_string(str_from_c(id)));
        set(&work, map, "private", value_string(str_from_c(path)));
        set(&work, map, "public", value_string(public_path));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(
        invocation->out,
        "key %s\n"
        "  %s is the private key, to sign modules with; keep it secret\n"
        "  %" STR_FMT
        " is the public key; put it in /etc/eden/trusted-keys/ of nodes that trust it\n",
        id, path, STR_ARG(public_path));
    return EXIT_OK;
}

/* --- Module files -------------------------------------------------------------------------------- */

typedef VEC(Str) Paths;

/* A site stands for all modules in it. */
static bool add_paths(Work *work, const char *given, Paths *out, Error *err)
{
    static const char *const all[] = { "", NULL };
    Arena *arena = work->invocation->arena;
    if (!file_is_directory(given)) {
        VEC_PUSH(arena, out, str_from_c(given));
        return true;
    }
    const char *folder = arena_copy_c(arena, arena_format(arena, "%s/modules", given));
    FileList files;
    if (!file_is_directory(folder)) {
        return error_set(err, ERROR_NOT_FOUND, "%s: the site has no modules/", given);
    }
    if (!file_list(arena, folder, all, SITE_FILES_MAX, &files, err)) {
        return false;
    }
    size_t lead = strlen(folder) - strlen("modules");
    for (uint32_t i = 0; i < files.count; i++) {
        if (extension_path_is(str_from_offset(files.paths[i], lead))) {
            VEC_PUSH(arena, out, files.paths[i]);
        }
    }
    return true;
}

static bool get_paths(Work *work, Paths *out, Error *err)
{
    Invocation *invocation = work->invocation;
    bool ok = invocation->arg_count > 0 || add_paths(work, ".", out, err);
    for (uint32_t i = 0; ok && i < invocation->arg_count; i++) {
        ok = add_paths(work, invocation->args[i], out, err);
    }
    return ok;
}

/* Reads a module after checking its name. */
static bool read_module(Work *work, Str path, Str *bytes, Error *err)
{
    Arena *arena = work->invocation->arena;
    Str name = base_name(path);
    if (!extension_name_is(name)) {
        return error_set(err, ERROR_INVALID,
                         "%" STR_FMT ": the file name of a module may have only a-z, 0-9 and '_'",
                         STR_ARG(path));
    }
    if (module_table_find_module(modules, name) != NULL) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT ": there is a built-in module of this name", STR_ARG(path));
    }
    return file_read(arena, arena_copy_c(arena, path), SITE_FILE_MAX, bytes, err);
}

static const char *signature_path(const Work *work, Str path)
{
    Arena *arena = work->invocation->arena;
    return arena_copy_c(arena, arena_format(arena, "%" STR_FMT ".sig", STR_ARG(path)));
}

/* --- sign -------------------------------------------------------------------------------------- */

static bool sign_one(Work *work, const Ed25519Private *key, Str path, Error *err)
{
    Str bytes, signature;
    return read_module(work, path, &bytes, err) &&
           signature_make(work->invocation->arena, key, base_name(path), bytes, &signature, err) &&
           file_write_atomic(signature_path(work, path), signature, err);
}

static int run_sign(Invocation *invocation)
{
    Work work;
    const char *key_path = invocation_text(invocation, "key");
    Paths paths = { 0 };
    Ed25519Private key;
    Error err;
    Str text;
    setup_init(&work, invocation);
    if (key_path == NULL) {
        return usage_error(invocation, "--key FILE is required");
    }
    if (!get_paths(&work, &paths, &err) ||
        !file_read(invocation->arena, key_path, KEY_FILE_MAX, &text, &err)) {
        return fail(&work, &err);
    }
    if (!private_key_parse(text, &key, &err)) {
        (void)error_wrap(&err, "%s", key_path);
        return fail(&work, &err);
    }
    List *signed_ones = list_new(invocation->arena, paths.len);
    for (uint32_t i = 0; i < paths.len; i++) {
        if (!sign_one(&work, &key, paths.items[i], &err)) {
            add_error(&work, &err);
            continue;
        }
        list_push(invocation->arena, signed_ones, value_string(paths.items[i]));
        if (invocation_prints(invocation, "text")) {
            stream_put_format(invocation->out, "signed %" STR_FMT "\n", STR_ARG(paths.items[i]));
        }
    }
    ed25519_forget(&key);
    if (invocation_prints(invocation, "json") && work.inputs.problems.errors == 0) {
        Map *map = map_new(invocation->arena, 2);
        set(&work, map, "format", value_string(STR("eden.signed/1")));
        set(&work, map, "signed", value_list(signed_ones));
        return output_json(invocation, value_map(map));
    }
    return inputs_report(&work.inputs, invocation);
}

/* --- verify ------------------------------------------------------------------------------------ */

/* A module, as `verify` and `list` print it. */
typedef struct Entry {
    Str path;
    Str name;
    Str signer;           /* id of the key; may be empty */
    Str signer_name;      /* name of the key if it is trusted, else empty */
    Str reason;           /* why it cannot be used; empty if it can */
    const Module *module; /* NULL: not loaded */
} Entry;

static Entry verify_one(Work *work, const TrustedKeys *keys, Str path)
{
    Arena *arena = work->invocation->arena;
    Entry entry = { .path = path, .name = base_name(path) };
    Str bytes, signature;
    Error err;
    const PublicKey *key;
    if (!read_module(work, path, &bytes, &err)) {
        entry.reason = arena_copy(arena, str_from_c(err.text));
    } else if (!file_read(arena, signature_path(work, path), KEY_FILE_MAX, &signature, &err)) {
        entry.reason = err.kind == ERROR_NOT_FOUND ? STR("not signed")
                                                   : arena_copy(arena, str_from_c(err.text));
    } else if (!signature_verify(keys, entry.name, bytes, signature, &entry.signer, &key, &err)) {
        entry.reason = arena_copy(arena, str_from_c(err.text));
    } else {
        entry.signer_name = key->name;
    }
    return entry;
}

static Value entry_value(const Work *work, const Entry *entry)
{
    Arena *arena = work->invocation->arena;
    Map *map = map_new(arena, 8);
    set(work, map, "name", value_string(entry->name));
    set(work, map, "path", value_string(entry->path));
    set(work, map, "key", text_or_null(entry->signer));
    set(work, map, "signed_by", text_or_null(entry->signer_name));
    set(work, map, "usable", value_bool(entry->reason.len == 0));
    set(work, map, "reason", text_or_null(entry->reason));
    if (entry->module != NULL) {
        List *actions = list_new(arena, 4);
        for (const Action *action = entry->module->actions; action->name != NULL; action++) {
            list_push(arena, actions, value_string(str_from_c(action->name)));
        }
        set(work, map, "help", text_or_null(str_from_c(entry->module->help)));
        set(work, map, "actions", value_list(actions));
    }
    return value_map(map);
}

static Str signer_cell(const Work *work, const Entry *entry)
{
    return entry->signer_name.len > 0 ? entry->signer_name
           : entry->signer.len > 0
               ? arena_format(work->invocation->arena, "key %" STR_FMT, STR_ARG(entry->signer))
               : STR("-");
}

static Str actions_cell(const Work *work, const Module *module)
{
    Buf names = buf_make_in(work->invocation->arena, BUF_UNLIMITED);
    for (const Action *action = module->actions; action->name != NULL; action++) {
        buf_put_format(&names, "%s%s", names.len == 0 ? "" : " ", action->name);
    }
    return names.len == 0 ? STR("-") : buf_str(&names);
}

static int print_entries(Work *work, const Entry *entries, uint32_t count, bool with_actions)
{
    static const char *const verified[] = { "MODULE", "SIGNED BY", "VERDICT", NULL };
    static const char *const listed[] = { "MODULE", "ACTIONS", "SIGNED BY", "VERDICT", NULL };
    Invocation *invocation = work->invocation;
    if (invocation_prints(invocation, "json")) {
        List *list = list_new(invocation->arena, count);
        for (uint32_t i = 0; i < count; i++) {
            list_push(invocation->arena, list, entry_value(work, &entries[i]));
        }
        Map *map = map_new(invocation->arena, 2);
        set(work, map, "format", value_string(STR("eden.modules/1")));
        set(work, map, "modules", value_list(list));
        return output_json(invocation, value_map(map));
    }
    Table table;
    table_init(&table, invocation->arena, with_actions ? listed : verified);
    for (uint32_t i = 0; i < count; i++) {
        table_add(&table, with_actions ? entries[i].name : entries[i].path);
        if (with_actions) {
            table_add(&table, actions_cell(work, entries[i].module));
        }
        table_add(&table, signer_cell(work, &entries[i]));
        table_add(&table, entries[i].reason.len == 0 ? STR("trusted") : entries[i].reason);
    }
    table_print(&table, invocation->out);
    if (count == 0) {
        stream_put_format(invocation->err, "eden modules: no modules found\n");
    }
    return EXIT_OK;
}

static int run_verify(Invocation *invocation)
{
    Work work;
    Arena *arena = invocation->arena;
    Paths paths = { 0 };
    TrustedKeys keys;
    Error err;
    setup_init(&work, invocation);
    if (!get_paths(&work, &paths, &err) || !trusted_keys_load(arena, work.trust, &keys, &err)) {
        return fail(&work, &err);
    }
    VEC(Entry) entries = { 0 };
    bool all = true;
    for (uint32_t i = 0; i < paths.len; i++) {
        VEC_PUSH(arena, &entries, verify_one(&work, &keys, paths.items[i]));
        all = all && VEC_LAST(&entries).reason.len == 0;
    }
    (void)print_entries(&work, entries.items, entries.len, false);
    return all ? EXIT_OK : EXIT_DENIED;
}

/* --- list and doc ------------------------------------------------------------------------------ */

static bool load_site(Work *work, const char *path, Extensions *out, Error *err)
{
    Arena *arena = work->invocation->arena;
    SiteFiles *files;
    Str file;
    if (!site_files_open(arena, path, &files, &file, err)) {
        return false;
    }
    SiteReader reader = site_files_reader(files);
    extensions_load(arena, &reader, work->trust, true, modules, out);
    return true;
}

static int run_list(Invocation *invocation)
{
    Work work;
    AUTO_CLEAR(Extensions) extensions = { 0 };
    Error err;
    setup_init(&work, invocation);
    if (!load_site(&work, invocation->arg_count > 0 ? invocation->args[0] : ".", &extensions,
                   &err)) {
        return fail(&work, &err);
    }
    VEC(Entry) entries = { 0 };
    for (uint32_t i = 0; i < extensions.count; i++) {
        const Extension *extension = extensions.items[i];
        Entry entry = { .path = extension->path,
                        .name = str_from_c(extension->name),
                        .signer = extension->signer,
                        .signer_name = extension->signer_name,
                        .reason = str_from_c(extension->refused),
                        .module = extension->module };
        VEC_PUSH(invocation->arena, &entries, entry);
    }
    return print_entries(&work, entries.items, entries.len, true);
}

/* `name` is a module or an action of one; empty: all. */
static void add_subjects(Work *work, const Extension *extension, Str name, Subjects *out)
{
    Arena *arena = work->invocation->arena;
    const Module *module = extension->module;
    for (const Action *action = module->actions; action->name != NULL; action++) {
        Subject subject = { .kind = SUBJECT_ACTION,
                            .name = arena_format(arena, "%s.%s", module->name, action->name),
                            .action = action };
        if (name.len == 0 || str_eq_c(name, module->name) || str_eq(name, subject.name)) {
            VEC_PUSH(arena, out, subject);
        }
    }
}

static int print_subjects(const Invocation *invocation, const Subjects *subjects)
{
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, subjects_value(invocation->arena, subjects));
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < subjects->len; i++) {
        buf_put_c(&text, i == 0 ? "" : "\n");
        help_write_subject(&subjects->items[i], &text);
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static int run_doc(Invocation *invocation)
{
    Work work;
    AUTO_CLEAR(Extensions) extensions = { 0 };
    Subjects subjects = { 0 };
    Error err;
    setup_init(&work, invocation);
    if (!load_site(&work, invocation->arg_count > 0 ? invocation->args[0] : ".", &extensions,
                   &err)) {
        return fail(&work, &err);
    }
    Str name = invocation->arg_count > 1 ? str_from_c(invocation->args[1]) : STR_EMPTY;
    Str of = str_slice(name, 0, str_find(name, STR("."), 0));
    bool known = name.len == 0;
    for (uint32_t i = 0; i < extensions.count; i++) {
        const Extension *extension = extensions.items[i];
        if (of.len > 0 && !str_eq_c(of, extension->name)) {
            continue;
        }
        known = true;
        if (extension->refused != NULL) {
            problems_add_as(&work.inputs.problems, name.len > 0 ? SEVERITY_ERROR : SEVERITY_WARNING,
                            "E0324", NULL, 0, 0, "module '%s' cannot be used: %s", extension->name,
                            extension->refused);
        }
        add_subjects(&work, extension, name, &subjects);
    }
    if (!known || (subjects.len == 0 && name.len > of.len)) {
        error_set(&err, ERROR_NOT_FOUND, "the site has no module or action '%" STR_FMT "'",
                  STR_ARG(name));
        return fail(&work, &err);
    }
    int code = inputs_report(&work.inputs, invocation);
    return code == EXIT_OK ? print_subjects(invocation, &subjects) : code;
}

static const Option sign_options[] = {
    { .name = "key",
      .letter = 'k',
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "private key created by keygen" },
    { 0 },
};

static const Option options[] = {
    { .name = "config-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "configuration directory that has trusted-keys/; default: /etc/eden" },
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "keygen",
      .args = { { "FILE", WORD_FILE } },
      .help = "Create a key to sign modules with.",
      .text = "Writes the private key to FILE and the public one to FILE.pub.",
      .examples = { { "eden modules keygen ~/.eden-key",
                      "creates ~/.eden-key, and ~/.eden-key.pub for nodes to trust" } },
      .run = run_keygen },
    { .name = "sign",
      .args = { { "PATH...", WORD_FILE } },
      .help = "Sign modules.",
      .text = "PATH is a module, or a site for all modules in it.",
      .options = sign_options,
      .examples = { { "eden modules sign --key ~/.eden-key site/modules/motd", "sign a module" } },
      .run = run_sign },
    { .name = "verify",
      .args = { { "[PATH...]", WORD_FILE } },
      .help = "Check whether modules would run on this machine.",
      .text = "PATH is a module, or a site for all modules in it; default: the current\n"
              "directory. The exit code is 4 if a module would not run.",
      .examples = { { "eden modules verify site", "check whether this machine would run them" } },
      .run = run_verify },
    { .name = "list",
      .args = { { "[SITE]", WORD_FILE } },
      .help = "List the modules of a site and their actions.",
      .text = "Runs only modules that this machine trusts.",
      .examples = { { "eden modules list site", "modules of a site and their actions" } },
      .run = run_list },
    { .name = "doc",
      .args = { { "[SITE]", WORD_FILE }, { "[NAME]" } },
      .help = "Show the documentation of the modules of a site.",
      .text = "NAME is a module or an action of one. Runs only modules that this machine\n"
              "trusts.",
      .examples = { { "eden modules doc site motd", "the documentation of a module" } },
      .run = run_doc },
    { 0 },
};

const Command command_modules = {
    .name = "modules",
    .group = GROUP_AUTHOR,
    .help = "Sign, verify and list the modules of a site.",
    .text = "An executable in modules/ of a site is a module, in any language; see\n"
            "docs/extensions.md. It runs only on machines that trust its signature, NAME.sig\n"
            "next to it: the public key must be in trusted-keys/ of the configuration\n"
            "directory, /etc/eden. SITE is a directory; default: the current one.",
    .options = options,
    .verbs = verbs,
};
