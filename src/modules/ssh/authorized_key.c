/* ssh.authorized_key: who may log in as a user. */
#include "base/buf.h"
#include "modules/people.h"
#include "modules/ssh/actions.h"
#include "modules/ssh/home_file.h"
#include "modules/ssh/key.h"

enum {
    FILE_MODE = 0600
};

typedef struct KeyChange {
    SshKey key;
    bool absent, has_options, has_comment;
    bool edited;  /* lines differ */
    Value before; /* the key as it was there; missing: not */
} KeyChange;

/* Options as one word: a blank outside of quotes would end them. */
static bool read_options(Call *call, KeyChange *change, Error *err)
{
    Value given = call_param(call, "options");
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    change->has_options = value_is_sequence(given);
    for (uint32_t i = 0; change->has_options && i < given.list->len; i++) {
        buf_put_c(&text, i == 0 ? "" : ",");
        buf_put(&text, value_str(given.list->items[i]));
    }
    change->key.options = buf_str(&text);
    SshKey parsed;
    Str line = ssh_key_format(call->arena, &change->key);
    bool ok = str_find(line, STR("\n"), 0) == STR_NOT_FOUND && ssh_key_parse(line, &parsed) &&
              str_eq(parsed.options, change->key.options) && ssh_key_same(&parsed, &change->key) &&
              str_eq(parsed.comment, change->key.comment);
    return ok || error_set(err, ERROR_INVALID,
                           "'options' and 'comment' must fit into one line; blanks in options "
                           "stand in double quotes, as in 'command=\"...\"'");
}

static bool read_change(Call *call, KeyChange *change, Error *err)
{
    *change = (KeyChange){ .absent = str_eq(call_str(call, "state"), STR("absent")),
                           .has_comment = call_has(call, "comment"),
                           .before = value_missing() };
    if (!people_check_name(call_str(call, "user"), "a user", err) ||
        !ssh_key_read(call->arena, call_str(call, "key"), call_str(call, "type"), &change->key,
                      err)) {
        return false;
    }
    if (change->has_comment) {
        change->key.comment = str_trim(call_str(call, "comment"));
    }
    return read_options(call, change, err);
}

/* The line as it shall be; what the step does not speak of stays as it is there. */
static Str settle_line(Call *call, const KeyChange *change, Str line, const SshKey *found)
{
    SshKey wanted = change->key;
    wanted.options = change->has_options ? wanted.options : found->options;
    wanted.comment = change->has_comment ? wanted.comment : found->comment;
    bool same = str_eq(wanted.options, found->options) && str_eq(wanted.comment, found->comment);
    return same ? line : ssh_key_format(call->arena, &wanted);
}

/* The whole file as it shall be. */
static Str edit(Call *call, KeyChange *change, Str content)
{
    Buf out = buf_make_in(call->arena, BUF_UNLIMITED);
    bool placed = change->absent;
    Str rest = content, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        SshKey found;
        Str now = line;
        if (ssh_key_parse(line, &found) && ssh_key_same(&found, &change->key)) {
            change->before = value_string(ssh_key_words(call, &found));
            if (placed) {
                change->edited = true;
                continue;
            }
            now = settle_line(call, change, line, &found);
            change->edited = change->edited || !str_eq(now, line);
            placed = true;
        }
        buf_put(&out, now);
        buf_put_char(&out, '\n');
    }
    if (!placed) {
        buf_put(&out, ssh_key_format(call->arena, &change->key));
        buf_put_char(&out, '\n');
        change->edited = true;
    }
    return buf_str(&out);
}

static void tell(Call *call, const KeyChange *change, const HomeFile *file, bool loose,
                 Outcome *outcome)
{
    outcome->changed = change->edited || loose;
    outcome->state = change->absent ? STR("absent") : STR("present");
    if (change->edited) {
        outcome_change(call, outcome, "key", change->before,
                       change->absent ? value_missing()
                                      : value_string(ssh_key_words(call, &change->key)));
    }
    if (loose) {
        outcome_change(call, outcome, arena_copy_c(call->arena, file->shown), value_missing(),
                       value_string(STR("for the user alone")));
    }
    outcome->comment = !outcome->changed
                           ? (change->absent ? STR("not there") : STR("already there"))
                       : change->absent ? STR("removed")
                                        : STR("may log in");
}

bool authorized_key_check(Call *call, Outcome *outcome, Error *err)
{
    KeyChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_change(call, &change, err) ||
        !home_file_open(call, call_str(call, "user"), STR("authorized_keys"), &file, err)) {
        return false;
    }
    if (file.missing && !change.absent) {
        if (!home_file_comes(&file, err)) {
            return false;
        }
        change.edited = true;
        tell(call, &change, &file, false, outcome);
        return true;
    }
    (void)edit(call, &change, file.content);
    tell(call, &change, &file, !change.absent && home_file_is_loose(&file, FILE_MODE), outcome);
    return true;
}

/* Looks once more: the file is another's, who may have changed it meanwhile. */
bool authorized_key_apply(Call *call, Outcome *outcome, Error *err)
{
    KeyChange change;
    AUTO_CLEAR(HomeFile) file = { 0 };
    if (!read_change(call, &change, err) ||
        !home_file_open(call, call_str(call, "user"), STR("authorized_keys"), &file, err)) {
        return false;
    }
    if (file.missing) {
        return change.absent || error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(file.why));
    }
    Str content = edit(call, &change, file.content);
    if (!change.edited && !home_file_is_loose(&file, FILE_MODE)) {
        return true;
    }
    outcome->changed = home_file_write(&file, content, FILE_MODE, err);
    return outcome->changed;
}

const ParamSpec authorized_key_params[] = {
    { "user", PARAM_STRING, .required = true, .help = "as whom its owner may log in",
      .claims = "needs:user" },
    { "key", PARAM_STRING, .required = true,
      .help = "the public key, as a .pub file has it, or its base64 alone" },
    { "type", PARAM_STRING, .help = "its type, such as ssh-ed25519, when 'key' does not say it" },
    { "options", PARAM_STRINGS,
      .help = "what holds for it, such as restrict; as they are there, when not given" },
    { "comment", PARAM_STRING, .help = "whose it is, for people" },
    { "state", PARAM_STRING, .decides = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it may be used" },
    { 0 },
};

void authorized_key_claims(Arena *arena, const Value *params, List *claims)
{
    if (value_is_string(params[0])) {
        Str user = value_str(params[0]);
        list_push(arena, claims,
                  value_string(arena_join(arena, STR("ssh:"), user, STR(":authorized_keys"))));
    }
}
