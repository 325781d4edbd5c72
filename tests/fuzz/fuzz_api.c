/* Input: an API request, "METHOD PATH[?QUERY]", a newline, a body. Invariants: the path resolves to
 * a route or an error; its variable part is a single plain word. The body is parsed as every type
 * of request body. */
#include "api/bodies.h"
#include "api/object_draft.h"
#include "api/routes.h"
#include "base/bug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const RouteMatch *match)
{
    bool varies = strchr(match->row->pattern, '<') != NULL;
    BUG_IF(varies != (match->part.len > 0));
    BUG_IF(str_find(match->part, STR("/"), 0) != STR_NOT_FOUND);
    BUG_IF(str_eq_c(match->part, ".") || str_eq_c(match->part, ".."));
}

static void read_line(Arena *arena, Str line)
{
    size_t space = str_find(line, STR(" "), 0);
    Str target = space == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(line, space + 1);
    size_t question = str_find(target, STR("?"), 0);
    Str query = question == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(target, question + 1);
    RouteMatch match;
    Error err = { 0 };
    if (!route_match(arena, str_slice(line, 0, space), str_slice(target, 0, question), &match,
                     &err)) {
        BUG_IF(err.kind != ERROR_INVALID || match.row != NULL);
        return;
    }
    if (match.row == NULL) {
        return;
    }
    check_part(&match);
    RouteQuery values;
    size_t total = 0;
    bool ok = route_query(arena, match.row, query, &values, &err);
    for (size_t i = 0; ok && i < COUNT_OF(values.values); i++) {
        total += values.values[i].len;
    }
    BUG_IF(ok && (query.len > 0) != (total > 0));
    BUG_IF(ok && total > query.len);
}

static void read_pki_bodies(Arena *arena, Str body)
{
    Str name, csr, serial;
    OwnCertificateKind own;
    RotateAction rotate;
    Error err = { 0 };
    if (issue_body_read(arena, body, &name, &csr, &err)) {
        BUG_IF(name.len > body.len || csr.len > body.len);
    }
    if (revoke_body_read(arena, body, &name, &serial, &err)) {
        BUG_IF((name.len > 0) == (serial.len > 0));
    }
    if (rotate_body_read(arena, body, &rotate, &name, &err)) {
        BUG_IF((rotate == ROTATE_SKIP_NODE) != (name.len > 0));
    }
    if (!renew_body_read(arena, body, &own, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
    }
}

static void read_body(Arena *arena, Str body)
{
    Str text;
    Error err = { 0 };
    if (session_body_read(arena, body, &text, &err)) {
        BUG_IF(text.len > body.len);
    }
    BUG_IF(body_subject(arena, body).len > body.len);
    for (size_t i = 0; kinds[i] != NULL; i++) {
        ObjectBody object;
        FieldProblems problems = { .count = 0 };
        KindDraft draft;
        if (object_body_read(arena, kinds[i], body, &object, &problems, &err)) {
            object_draft(arena, kinds[i], &object, i % 2 == 0, NULL, &draft, &problems);
            BUG_IF(draft.labels.kind != VALUE_MAP || draft.spec.kind != VALUE_MAP);
        }
    }
    ApproveRequest approve;
    if (approve_body_read(arena, body, &approve, &err)) {
        BUG_IF(approve.key.len > body.len);
        BUG_IF(approve.key.len == 0 && (approve.trust.count > 0) == approve.trust.accept_new);
        BUG_IF(approve.target.user[0] == '-' || approve.target.address.host[0] == '-');
    }
    read_pki_bodies(arena, body);
    if (archive_body_read(arena, body, &text, &err)) {
        BUG_IF(text.len != 64);
    }
    if (value_body_read(arena, body, &text, &err)) {
        BUG_IF(text.len > body.len);
    } else {
        BUG_IF(err.text[0] == '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 << 20);
    Str text = str_from((const char *)data, size);
    size_t end = str_find(text, STR("\n"), 0);
    read_line(&arena, str_slice(text, 0, end));
    read_body(&arena, end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(text, end + 1));
    return 0;
}
