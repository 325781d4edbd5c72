#include "modules/accounts.h"

#include <stdlib.h>

#include "base/buf.h"
#include "modules/tool.h"

enum {
    FILE_MAX = 16 << 20,
    NAME_MAX_LEN = 32
};

const AccountKind account_kind_user = { "user", "a user", STR("/etc/passwd") };
const AccountKind account_kind_group = { "group", "a group", STR("/etc/group") };

static void split(Str line, AccountRow *out)
{
    for (uint32_t i = 0; i < ACCOUNT_FIELDS_MAX; i++) {
        out->fields[i] = STR_EMPTY;
    }
    for (uint32_t i = 0; i < ACCOUNT_FIELDS_MAX && str_split_next(&line, ':', &out->fields[i]);
         i++) {
    }
}

static bool read_file(Call *call, Str path, Str *out, Error *err)
{
    *out = STR_EMPTY;
    return host_read(call->host, call->arena, path, FILE_MAX, out, err) ||
           err->kind == ERROR_NOT_FOUND;
}

bool accounts_find(Call *call, Str path, uint32_t field, Str name, AccountRow *out, Error *err)
{
    Str text, line;
    *out = (AccountRow){ 0 };
    if (!read_file(call, path, &text, err)) {
        return false;
    }
    while (!out->found && str_split_next(&text, '\n', &line)) {
        split(line, out);
        out->found = str_eq(out->fields[field], name);
    }
    return true;
}

static int compare_values(const void *a, const void *b)
{
    return str_compare(value_str(*(const Value *)a), value_str(*(const Value *)b));
}

static List *sort(List *names)
{
    uint32_t unique = 0;
    if (names->len > 1) {
        qsort(names->items, names->len, sizeof(Value), compare_values);
    }
    for (uint32_t i = 0; i < names->len; i++) {
        if (unique == 0 ||
            !str_eq(value_str(names->items[unique - 1]), value_str(names->items[i]))) {
            names->items[unique++] = names->items[i];
        }
    }
    names->len = unique;
    return names;
}

List *accounts_split_names(Arena *arena, Str text)
{
    List *names = list_new(arena, 4);
    Str name;
    while (str_split_next(&text, ',', &name)) {
        if (name.len > 0) {
            list_push(arena, names, value_string(name));
        }
    }
    return sort(names);
}

List *accounts_sort_names(Arena *arena, Value names)
{
    List *copy = list_new(arena, 4);
    for (uint32_t i = 0; value_is_sequence(names) && i < names.list->len; i++) {
        list_push(arena, copy, value_string(value_str(names.list->items[i])));
    }
    return sort(copy);
}

static bool has_name(const List *names, Str name)
{
    for (uint32_t i = 0; i < names->len; i++) {
        if (str_eq(value_str(names->items[i]), name)) {
            return true;
        }
    }
    return false;
}

bool accounts_groups_of(Call *call, Str user, List **out, Error *err)
{
    Str text, line;
    List *groups = list_new(call->arena, 4);
    if (!read_file(call, account_kind_group.path, &text, err)) {
        return false;
    }
    while (str_split_next(&text, '\n', &line)) {
        AccountRow row;
        split(line, &row);
        if (row.fields[3].len > 0 &&
            has_name(accounts_split_names(call->arena, row.fields[3]), user)) {
            list_push(call->arena, groups, value_string(row.fields[0]));
        }
    }
    *out = sort(groups);
    return true;
}

bool accounts_same_names(const List *a, const List *b)
{
    bool same = a->len == b->len;
    for (uint32_t i = 0; same && i < a->len; i++) {
        same = str_eq(value_str(a->items[i]), value_str(b->items[i]));
    }
    return same;
}

Str accounts_join_names(Arena *arena, const List *names)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < names->len; i++) {
        buf_put_c(&text, i == 0 ? "" : ",");
        buf_put(&text, value_str(names->items[i]));
    }
    return buf_str(&text);
}

bool account_check_name(Str name, const char *what, Error *err)
{
    if (!tool_check_word(name, what, err)) {
        return false;
    }
    bool fits = name.len <= NAME_MAX_LEN && !ascii_is_digit(name.data[0]);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool dollar = c == '$' && i + 1 == name.len;
        fits = fits && (ascii_is_name(c) || c == '-' || c == '.' || dollar);
    }
    return fits ||
           error_set(err, ERROR_INVALID,
                     "'%" STR_FMT "' is not a valid name for %s: use up to %d letters, digits, "
                     "'_', '-' and '.', not starting with a digit",
                     STR_ARG(name), what, NAME_MAX_LEN);
}

bool account_check_id(int64_t id, Error *err)
{
    return (id >= 0 && id < UINT32_MAX) ||
           error_set(err, ERROR_INVALID, "%lld is not a valid user or group ID", (long long)id);
}

bool account_read(Call *call, const AccountKind *kind, AccountRow *now, Error *err)
{
    Str name = call_str(call, "name");
    return account_check_name(name, kind->noun, err) &&
           accounts_find(call, kind->path, ACCOUNT_NAME, name, now, err);
}

static bool exists(Call *call, const AccountKind *kind, Str name, Error *err)
{
    uid_t uid;
    gid_t gid;
    return kind == &account_kind_user ? host_find_user(call->host, name, &uid, NULL, err)
                                      : host_find_group(call->host, name, &gid, err);
}

bool accounts_check_exist(Call *call, const AccountKind *kind, const char *param, const List *names,
                          Error *err)
{
    for (uint32_t i = 0; i < names->len; i++) {
        Str name = value_str(names->items[i]);
        if (!account_check_name(name, kind->noun, err)) {
            return call_blame(call, param);
        }
        if (!exists(call, kind, name, err) &&
            (err->kind != ERROR_NOT_FOUND ||
             !call_report_missing(call, param, kind->class, name))) {
            return false;
        }
    }
    return true;
}

bool accounts_check_names(Call *call, const AccountKind *kind, const char *param, Error *err)
{
    Value names = call_param(call, param);
    for (uint32_t i = 0; value_is_sequence(names) && i < names.list->len; i++) {
        if (!account_check_name(value_str(names.list->items[i]), kind->noun, err)) {
            return call_blame(call, param);
        }
    }
    return true;
}

static bool check_id_is_free(Call *call, const AccountKind *kind, const char *param, int64_t number,
                             Error *err)
{
    AccountRow holder;
    Str text = arena_format(call->arena, "%lld", (long long)number);
    if (!accounts_find(call, kind->path, ACCOUNT_ID, text, &holder, err)) {
        return false;
    }
    if (!holder.found) {
        return true;
    }
    Str name = holder.fields[ACCOUNT_NAME], before = call->provided_by;
    if (!call_report_missing(call, param, kind->class, name)) {
        return error_set(err, ERROR_CONFLICT, "%s %lld already belongs to %s '%" STR_FMT "'", param,
                         (long long)number, kind->class, STR_ARG(name));
    }
    /* The account exists but conflicts: report that instead of saying that it is missing. */
    call->provided_by = before.len > 0
                            ? before
                            : arena_format(call->arena,
                                           "%s %lld belongs to %s '%" STR_FMT
                                           "', unless an earlier step changes that",
                                           param, (long long)number, kind->class, STR_ARG(name));
    return true;
}

bool account_compare_id(Call *call, const AccountKind *kind, const char *param,
                        const AccountRow *now, Outcome *outcome, bool *differs, Error *err)
{
    int64_t wanted = call_int(call, param, 0), number = -1;
    *differs = false;
    if (!call_has(call, param)) {
        return true;
    }
    if (!account_check_id(wanted, err)) {
        return false;
    }
    (void)str_to_i64(now->fields[ACCOUNT_ID], &number);
    if (wanted == number) {
        return true;
    }
    *differs = true;
    outcome_change(call, outcome, param, account_old_value(now, value_int(number)),
                   value_int(wanted));
    return check_id_is_free(call, kind, param, wanted, err);
}

Value account_old_value(const AccountRow *row, Value now)
{
    return row->found ? now : value_missing();
}

void account_report_present(const AccountRow *now, Outcome *outcome)
{
    outcome->state = STR("present");
    outcome->changed = outcome->changes != NULL;
    outcome->comment = !outcome->changed ? STR("already present")
                       : now->found      ? STR("updated")
                                         : STR("created");
}

void account_report_absent(Call *call, const AccountKind *kind, const AccountRow *now,
                           Outcome *outcome)
{
    outcome->changed = now->found;
    outcome->state = STR("absent");
    outcome->comment = now->found ? STR("removed") : STR("already absent");
    if (now->found) {
        outcome_change(call, outcome, kind->class, call_param(call, "name"), value_missing());
    }
}
