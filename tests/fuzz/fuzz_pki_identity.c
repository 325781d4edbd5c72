/* Input: the identity in a certificate, a name, and API server names. Invariants: an accepted name
 * has exactly one spelling, and is safe to use in keys, files and arguments. */
#include "base/bug.h"
#include "base/identity.h"
#include "pki/handle.h"
#include "pki/serving_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(Str name)
{
    BUG_IF(name.len == 0 || name.len > NODE_NAME_MAX);
    BUG_IF(name.data[0] == '-' || name.data[0] == '.');
    BUG_IF(str_find(name, STR(".."), 0) != STR_NOT_FOUND);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        BUG_IF(!(c >= 'a' && c <= 'z') && !ascii_is_digit(c) && c != '-' && c != '.');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    Identity identity;
    Error err = { 0 };
    if (identity_parse(text, &identity, &err)) {
        char again[IDENTITY_URI_MAX + 1];
        identity_uri(&identity, again);
        BUG_IF(!str_eq_c(text, again));
        check_name(str_from_c(identity.cluster));
        check_name(str_from_c(identity.node));
        BUG_IF(strchr(identity.cluster, '.') != NULL);
    } else {
        BUG_IF(err.kind != ERROR_INVALID || err.text[0] == '\0');
    }
    UserIdentity user;
    if (user_identity_parse(text, &user, &err)) {
        char again[IDENTITY_URI_MAX + 1];
        user_identity_uri(&user, again);
        BUG_IF(!str_eq_c(text, again));
        check_name(str_from_c(user.cluster));
        check_name(str_from_c(user.user));
        BUG_IF(identity_parse(text, &identity, &err));
    }
    if (node_name_check(text, &err)) {
        check_name(text);
        BUG_IF(!identity_make(STR("home"), text, &identity, &err));
        BUG_IF(!str_eq_c(text, identity.node));
    }
    /* API server names, separated by commas. */
    Str names[8], rest = text;
    uint32_t count = 0;
    while (count < COUNT_OF(names) && str_split_next(&rest, ',', &names[count])) {
        count++;
    }
    AUTO(GENERAL_NAMES) *made = NULL;
    if (serving_names_make(names, count, &made, &err)) {
        BUG_IF(sk_GENERAL_NAME_num(made) != (int)count);
    }
    return 0;
}
