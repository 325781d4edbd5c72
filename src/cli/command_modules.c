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

typedef struct ModulesCommand {
    Invocation *invocation;
    Inputs inputs;
    const char *trust;
} ModulesCommand;

static void command_init(ModulesCommand *command, Invocation *invocation)
{
    command->invocation = invocation;
    command->trust = node_trust_path(invocation_text(invocation, "config-dir"));
    inputs_init(&command->inputs, invocation->arena);
}

static void add_error(ModulesCommand *command, const Error *err)
{
    problems_add(&command->inputs.problems, "", NULL, 0, 0, "%s", err->text);
}

static int fail(ModulesCommand *command, const Error *err)
{
    add_error(command, err);
    return inputs_report(&command->inputs, command->invocation);
}

static void set(const ModulesCommand *command, Map *map, const char *key, Value value)
{
    map_set_str(command->invocation->arena, map, str_from_c(key), value);
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

/* --- keygen ----------------------------------------------------------------------------------- */

static bool create_keys(const ModulesCommand *command, const char *path, const char *public_path,
                        char *id, Error *err)
{
    Arena *arena = command->invocation->arena;
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
    ModulesCommand command;
    const char *path = invocation->args[0];
    Str public_path = arena_format(invocation->arena, "%s.pub", path);
    char id[ED25519_ID + 1];
    Error err;
    command_init(&command, invocation);
    if (!create_keys(&command, path, arena_copy_c(invocation->arena, public_path), id, &err)) {
        return fail(&command, &err);
    }
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(invocation->arena, 4);
        set(&command, map, "format", value_string(STR("eden.key/1")));
        set(&command, map, "id", value_string(str_from_c(id)));
        set(&command, map, "private", value_string(str_from_c(path)));
        set(&command, map, "public", value_string(public_path));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(
        invocation->out,
        "key %s\n"
        "  %s is the private key for signing modules; keep it secret\n"
        "  %" STR_FMT
        " is the public key; copy it to /etc/eden/trusted-keys/ on nodes that should trust it\n",
        id, path, STR_ARG(public_path));
    return EXIT_OK;
}

/* --- Module files ----------------------------------------------------------------------------- */

typedef VEC(Str) Paths;

/* Adds a module, or all modules of a site. */
static bool add_paths(ModulesCommand *command, const char *path, Paths *out, Error *err)
{
    static const char *const everything[] = { "", NULL };
    Arena *arena = command->invocation->arena;
    if (!file_is_directory(path)) {
        VEC_PUSH(arena, out, str_from_c(path));
        return true;
    }
    const char *directory = arena_copy_c(arena, arena_format(arena, "%s/modules", path));
    FileList files;
    if (!file_is_directory(directory)) {
        return error_set(err, ERROR_NOT_FOUND, "%s: the site has no modules/", path);
    }
    if (!file_list(arena, directory, everything, SITE_FILES_MAX, &files, err)) {
        return false;
    }
    size_t prefix_len = strlen(directory) - strlen("modules");
    for (uint32_t i = 0; i < files.count; i++) {
        if (extension_path_is(str_from_offset(files.paths[i], prefix_len))) {
            VEC_PUSH(arena, out, files.paths[i]);
        }
    }
    return true;
}

static bool get_paths(ModulesCommand *command, Paths *out, Error *err)
{
    Invocation *invocation = command->invocation;
    bool ok = invocation->arg_count > 0 || add_paths(command, ".", out, err);
    for (uint32_t i = 0; ok && i < invocation->arg_count; i++) {
        ok = add_paths(command, invocation->args[i], out, err);
    }
    return ok;
}

/* Reads a module after checking its name. */
static bool read_module(ModulesCommand *command, Str path, Str *bytes, Error *err)
{
    Arena *arena = command->invocation->arena;
    Str name = base_name(path);
    if (!extension_name_is(name)) {
        return error_set(err, ERROR_INVALID,
                         "%" STR_FMT ": the file name of a module can contain only a-z, 0-9 and "
                         "'_'",
                         STR_ARG(path));
    }
    if (module_table_find_module(modules, name) != NULL) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT ": a built-in module has this name",
                         STR_ARG(path));
    }
    return file_read(arena, arena_copy_c(arena, path), SITE_FILE_MAX, bytes, err);
}

static const char *signature_path(const ModulesCommand *command, Str path)
{
    Arena *arena = command->invocation->arena;
    return arena_copy_c(arena, arena_format(arena, "%" STR_FMT ".sig", STR_ARG(path)));
}

/* --- sign ------------------------------------------------------------------------------------- */

static bool sign_one(ModulesCommand *command, const Ed25519Private *key, Str path, Error *err)
{
    Str bytes, signature;
    return read_module(command, path, &bytes, err) &&
           signature_make(command->invocation->arena, key, base_name(path), bytes, &signature,
                          err) &&
           file_write_atomic(signature_path(command, path), signature, err);
}

static int run_sign(Invocation *invocation)
{
    ModulesCommand command;
    const char *key_path = invocation_text(invocation, "key");
    Paths paths = { 0 };
    Ed25519Private key;
    Error err;
    Str text;
    command_init(&command, invocation);
    if (key_path == NULL) {
        return usage_error(invocation, "--key FILE is required");
    }
    if (!get_paths(&command, &paths, &err) ||
        !file_read(invocation->arena, key_path, KEY_FILE_MAX, &text, &err)) {
        return fail(&command, &err);
    }
    if (!private_key_parse(text, &key, &err)) {
        (void)error_wrap(&err, "%s", key_path);
        return fail(&command, &err);
    }
    List *signed_paths = list_new(invocation->arena, paths.len);
    for (uint32_t i = 0; i < paths.len; i++) {
        if (!sign_one(&command, &key, paths.items[i], &err)) {
            add_error(&command, &err);
            continue;
        }
        list_push(invocation->arena, signed_paths, value_string(paths.items[i]));
        if (invocation_prints(invocation, "text")) {
            stream_put_format(invocation->out, "signed %" STR_FMT "\n", STR_ARG(paths.items[i]));
        }
    }
    ed25519_forget(&key);
    if (invocation_prints(invocation, "json") && command.inputs.problems.errors == 0) {
        Map *map = map_new(invocation->arena, 2);
        set(&command, map, "format", value_string(STR("eden.signed/1")));
        set(&command, map, "signed", value_list(signed_paths));
        return output_json(invocation, value_map(map));
    }
    return inputs_report(&command.inputs, invocation);
}

/* --- verify ----------------------------------------------------------------------------------- */

/* A row of `verify` and `list`. */
typedef struct Entry {
    Str path;
    Str name;
    Str signer;           /* ID of the key; may be empty */
    Str signer_name;      /* name of the key if it is trusted; otherwise empty */
    Str reason;           /* why it cannot be used; empty if it can */
    const Module *module; /* NULL: not loaded */
} Entry;

static Entry verify_one(ModulesCommand *command, const TrustedKeys *keys, Str path)
{
    Arena *arena = command->invocation->arena;
    Entry entry = { .path = path, .name = base_name(path) };
    Str bytes, signature;
    Error err;
    const PublicKey *key;
    if (!read_module(command, path, &bytes, &err)) {
        entry.reason = arena_copy(arena, str_from_c(err.text));
    } else if (!file_read(arena, signature_path(command, path), KEY_FILE_MAX, &signature, &err)) {
        entry.reason = err.kind == ERROR_NOT_FOUND ? STR("not signed")
                                                   : arena_copy(arena, str_from_c(err.text));
    } else if (!signature_verify(keys, entry.name, bytes, signature, &entry.signer, &key, &err)) {
        entry.reason = arena_copy(arena, str_from_c(err.text));
    } else {
        entry.signer_name = key->name;
    }
    return entry;
}

static Value entry_value(const ModulesCommand *command, const Entry *entry)
{
    Arena *arena = command->invocation->arena;
    Map *map = map_new(arena, 8);
    set(command, map, "name", value_string(entry->name));
    set(command, map, "path", value_string(entry->path));
    set(command, map, "key", text_or_null(entry->signer));
    set(command, map, "signed_by", text_or_null(entry->signer_name));
    set(command, map, "usable", value_bool(entry->reason.len == 0));
    set(command, map, "reason", text_or_null(entry->reason));
    if (entry->module != NULL) {
        List *actions = list_new(arena, 4);
        for (const Action *action = entry->module->actions; action->name != NULL; action++) {
            list_push(arena, actions, value_string(str_from_c(action->name)));
        }
        set(command, map, "help", text_or_null(str_from_c(entry->module->help)));
        set(command, map, "actions", value_list(actions));
    }
    return value_map(map);
}

static Str signer_cell(const ModulesCommand *command, const Entry *entry)
{
    return entry->signer_name.len > 0 ? entry->signer_name
           : entry->signer.len > 0
               ? arena_format(command->invocation->arena, "key %" STR_FMT, STR_ARG(entry->signer))
               : STR("-");
}

static Str actions_cell(const ModulesCommand *command, const Module *module)
{
    Buf names = buf_make_in(command->invocation->arena, BUF_UNLIMITED);
    for (const Action *action = module->actions; action->name != NULL; action++) {
        buf_put_format(&names, "%s%s", names.len == 0 ? "" : " ", action->name);
    }
    return names.len == 0 ? STR("-") : buf_str(&names);
}

static int print_entries(ModulesCommand *command, const Entry *entries, uint32_t count,
                         bool with_actions)
{
    static const char *const verified[] = { "MODULE", "SIGNED BY", "VERDICT", NULL };
    static const char *const listed[] = { "MODULE", "ACTIONS", "SIGNED BY", "VERDICT", NULL };
    Invocation *invocation = command->invocation;
    if (invocation_prints(invocation, "json")) {
        List *list = list_new(invocation->arena, count);
        for (uint32_t i = 0; i < count; i++) {
            list_push(invocation->arena, list, entry_value(command, &entries[i]));
        }
        Map *map = map_new(invocation->arena, 2);
        set(command, map, "format", value_string(STR("eden.modules/1")));
        set(command, map, "modules", value_list(list));
        return output_json(invocation, value_map(map));
    }
    Table table;
    table_init(&table, invocation->arena, with_actions ? listed : verified);
    for (uint32_t i = 0; i < count; i++) {
        table_add(&table, with_actions ? entries[i].name : entries[i].path);
        if (with_actions) {
            table_add(&table, actions_cell(command, entries[i].module));
        }
        table_add(&table, signer_cell(command, &entries[i]));
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
    ModulesCommand command;
    Arena *arena = invocation->arena;
    Paths paths = { 0 };
    TrustedKeys keys;
    Error err;
    command_init(&command, invocation);
    if (!get_paths(&command, &paths, &err) ||
        !trusted_keys_load(arena, command.trust, &keys, &err)) {
        return fail(&command, &err);
    }
    VEC(Entry) entries = { 0 };
    bool all_trusted = true;
    for (uint32_t i = 0; i < paths.len; i++) {
        VEC_PUSH(arena, &entries, verify_one(&command, &keys, paths.items[i]));
        all_trusted = all_trusted && VEC_LAST(&entries).reason.len == 0;
    }
    (void)print_entries(&command, entries.items, entries.len, false);
    return all_trusted ? EXIT_OK : EXIT_DENIED;
}

/* --- list and doc ----------------------------------------------------------------------------- */

static bool load_site(ModulesCommand *command, const char *path, Extensions *out, Error *err)
{
    Arena *arena = command->invocation->arena;
    SiteFiles *files;
    Str file;
    if (!site_files_open(arena, path, &files, &file, err)) {
        return false;
    }
    SiteReader reader = site_files_reader(files);
    extensions_load(arena, &reader, command->trust, true, modules, out);
    return true;
}

static int run_list(Invocation *invocation)
{
    ModulesCommand command;
    AUTO_CLEAR(Extensions) extensions = { 0 };
    Error err;
    command_init(&command, invocation);
    if (!load_site(&command, invocation->arg_count > 0 ? invocation->args[0] : ".", &extensions,
                   &err)) {
        return fail(&command, &err);
    }
    VEC(Entry) entries = { 0 };
    for (uint32_t i = 0; i < extensions.count; i++) {
        const Extension *extension = extensions.items[i];
        Entry entry = { .path = extension->path,
                        .name = str_from_c(extension->name),
                        .signer = extension->signer,
                        .signer_name = extension->signer_name,
                        .reason = str_from_c(extension->unusable_reason),
                        .module = extension->module };
        VEC_PUSH(invocation->arena, &entries, entry);
    }
    return print_entries(&command, entries.items, entries.len, true);
}

/* `name` is a module or an action of one; empty: all. */
static void add_subjects(ModulesCommand *command, const Extension *extension, Str name,
                         Subjects *out)
{
    Arena *arena = command->invocation->arena;
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
    ModulesCommand command;
    AUTO_CLEAR(Extensions) extensions = { 0 };
    Subjects subjects = { 0 };
    Error err;
    command_init(&command, invocation);
    if (!load_site(&command, invocation->arg_count > 0 ? invocation->args[0] : ".", &extensions,
                   &err)) {
        return fail(&command, &err);
    }
    Str name = invocation->arg_count > 1 ? str_from_c(invocation->args[1]) : STR_EMPTY;
    Str module_name = str_slice(name, 0, str_find(name, STR("."), 0));
    bool is_found = name.len == 0;
    for (uint32_t i = 0; i < extensions.count; i++) {
        const Extension *extension = extensions.items[i];
        if (module_name.len > 0 && !str_eq_c(module_name, extension->name)) {
            continue;
        }
        is_found = true;
        if (extension->unusable_reason != NULL) {
            problems_add_severity(&command.inputs.problems,
                                  name.len > 0 ? SEVERITY_ERROR : SEVERITY_WARNING, "E0324", NULL,
                                  0, 0, "module '%s' cannot be used: %s", extension->name,
                                  extension->unusable_reason);
        }
        add_subjects(&command, extension, name, &subjects);
    }
    if (!is_found || (subjects.len == 0 && name.len > module_name.len)) {
        error_set(&err, ERROR_NOT_FOUND, "the site has no module or action '%" STR_FMT "'",
                  STR_ARG(name));
        return fail(&command, &err);
    }
    int code = inputs_report(&command.inputs, invocation);
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
      .help = "configuration directory with trusted-keys/; default: /etc/eden" },
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "keygen",
      .args = { { "FILE", WORD_FILE } },
      .help = "Create a key for signing modules.",
      .text = "Writes the private key to FILE and the public key to FILE.pub.",
      .examples = { { "eden modules keygen ~/.eden-key",
                      "create ~/.eden-key, and ~/.eden-key.pub for nodes to trust" } },
      .run = run_keygen },
    { .name = "sign",
      .args = { { "PATH...", WORD_FILE } },
      .help = "Sign modules.",
      .text = "PATH is a module, or a site to sign all of its modules.",
      .options = sign_options,
      .examples = { { "eden modules sign --key ~/.eden-key site/modules/motd", "sign a module" } },
      .run = run_sign },
    { .name = "verify",
      .args = { { "[PATH...]", WORD_FILE } },
      .help = "Check whether modules would run on this machine.",
      .text = "PATH is a module, or a site to check all of its modules; default: the current\n"
              "directory. The exit code is 4 if a module would not run.",
      .examples = { { "eden modules verify site",
                      "check whether this machine would run the modules" } },
      .run = run_verify },
    { .name = "list",
      .args = { { "[SITE]", WORD_FILE } },
      .help = "List a site's modules and their actions.",
      .text = "Runs only modules that this machine trusts.",
      .examples = { { "eden modules list site", "list a site's modules and their actions" } },
      .run = run_list },
    { .name = "doc",
      .args = { { "[SITE]", WORD_FILE }, { "[NAME]" } },
      .help = "Show the documentation of a site's modules.",
      .text = "NAME is a module or one of its actions. Runs only modules that this machine\n"
              "trusts.",
      .examples = { { "eden modules doc site motd", "show the documentation of a module" } },
      .run = run_doc },
    { 0 },
};

const Command command_modules = {
    .name = "modules",
    .group = GROUP_AUTHOR,
    .help = "Sign, verify and list a site's modules.",
    .text = "A module is an executable in a site's modules/ directory, written in any\n"
            "language; see docs/extensions.md. It runs only on machines that trust its\n"
            "signature, which is stored next to it as NAME.sig: the public key must be in\n"
            "trusted-keys/ in the configuration directory, /etc/eden. SITE is a directory;\n"
            "default: the current one.",
    .options = options,
    .verbs = verbs,
};
