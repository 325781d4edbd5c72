/* Writes the records of many nodes to the store of a stopped server.
 *
 *     fill_nodes DIRECTORY COUNT [ANNOTATIONS]
 *
 * DIRECTORY contains the store. Nodes are called n000000 and so on; every tenth has the label
 * role=web, the others role=db, and all have a rack, facts of about 2 KB, and ANNOTATIONS
 * annotations of 4096 bytes each. */
#include <stdio.h>
#include <stdlib.h>

#include "cluster/cluster_keys.h"
#include "membership/node_record.h"
#include "store/store.h"

enum {
    BATCH = 20, /* records per transaction */
};

typedef struct Fill {
    Loop *loop;
    Store *store;
    uint32_t next, end, annotations;
} Fill;

static void write_next(Fill *fill);

static void written(void *context, const StoreReply *reply, const Error *err)
{
    if (err != NULL) {
        fprintf(stderr, "fill_nodes: %s\n", err->text);
        exit(1);
    }
    write_next(context);
}

static Value annotations_of(Arena *arena, uint32_t count)
{
    static char text[ANNOTATION_VALUE_MAX];
    Map *map = map_new(arena, count);
    memset(text, 'x', sizeof text);
    for (uint32_t i = 0; i < count; i++) {
        map_set_str(arena, map, arena_format(arena, "note%u", i),
                    value_string(str_from(text, sizeof text)));
    }
    return value_map(map);
}

static void print_record(Arena *arena, uint32_t number, uint32_t annotations, Str *name, Str *text)
{
    NodeRecord record = { .joined_ms = 1800000000000, .not_after_ms = 1900000000000 };
    Map *labels = map_new(arena, 2);
    snprintf(record.name, sizeof record.name, "n%06u", number);
    snprintf(record.enrollment, sizeof record.enrollment, "%016x", number);
    snprintf(record.serial, sizeof record.serial, "%016x%016x", number, 1);
    snprintf(record.address, sizeof record.address, "10.%u.%u.%u", number >> 16 & 255,
             number >> 8 & 255, number & 255);
    map_set_str(arena, labels, STR("role"),
                value_string(number % 10 == 0 ? STR("web") : STR("db")));
    map_set_str(arena, labels, STR("rack"), value_string(arena_format(arena, "r%u", number % 200)));
    record.labels = value_map(labels);
    record.annotations = annotations_of(arena, annotations);
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&record, &out);
    *name = arena_copy(arena, str_from_c(record.name));
    *text = buf_str(&out);
}

/* Facts as a small machine reports them, including those that servers keep in memory. */
static Str print_facts(Arena *arena, Str name, uint32_t number)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&out,
                   "{\"name\":\"%" STR_FMT "\",\"fqdn\":\"%" STR_FMT
                   ".example.com\",\"os\":\"%s\",\"os_family\":\"debian\",\"os_version\":\"%u\","
                   "\"arch\":\"x86_64\",\"kernel\":\"6.1.0-%u-amd64\",\"cpus\":%u,"
                   "\"memory\":{\"total\":%u000000,\"swap\":0},\"interfaces\":{",
                   STR_ARG(name), STR_ARG(name), number % 10 == 0 ? "ubuntu" : "debian",
                   11 + number % 3, number % 30, 2 + number % 64, 1000 + number % 1000);
    for (uint32_t i = 0; i < 12; i++) {
        buf_put_format(&out,
                       "%s\"eth%u\":{\"mac\":\"02:00:00:00:00:%02x\",\"mtu\":1500,\"up\":true,"
                       "\"ipv4\":[{\"address\":\"10.%u.%u.%u\",\"prefix\":24}],\"ipv6\":[]}",
                       i == 0 ? "" : ",", i, i, number >> 16 & 255, number >> 8 & 255,
                       number & 255);
    }
    buf_put_c(&out, "},\"default_interface\":\"eth0\",\"virtualization\":\"kvm\","
                    "\"init_system\":\"systemd\",\"package_manager\":\"apt\","
                    "\"timezone\":\"Etc/UTC\"}");
    return buf_str(&out);
}

static void write_next(Fill *fill)
{
    AUTO_CLEAR(Arena) arena;
    StoreOp ops[2 * BATCH];
    uint32_t count = 0;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    while (count < 2 * BATCH && fill->next < fill->end) {
        Str name, text;
        uint32_t number = fill->next++;
        print_record(&arena, number, fill->annotations, &name, &text);
        ops[count++] = (StoreOp){ .kind = STORE_PUT,
                                  .key = cluster_key_facts(&arena, KEYS_PREFIX, name),
                                  .value = print_facts(&arena, name, number) };
        ops[count++] = (StoreOp){ .kind = STORE_PUT,
                                  .key = cluster_key_node(&arena, KEYS_PREFIX, name),
                                  .value = text };
    }
    StoreTxn txn = { .success = ops, .success_count = count };
    if (count == 0) {
        loop_stop(fill->loop);
    } else if (!store_txn(fill->store, &txn, written, fill, &err)) {
        fprintf(stderr, "fill_nodes: %s\n", err.text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    Error err;
    Fill fill = { 0 };
    if (argc < 3) {
        fprintf(stderr, "usage: fill_nodes DIRECTORY COUNT [ANNOTATIONS]\n");
        return 64;
    }
    fill.end = (uint32_t)strtoul(argv[2], NULL, 10);
    fill.annotations = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    fill.loop = loop_new();
    if (!store_open_sqlite(fill.loop, argv[1], &(StoreSettings){ .existing = true }, &fill.store,
                           &err)) {
        fprintf(stderr, "fill_nodes: %s\n", err.text);
        return 1;
    }
    write_next(&fill);
    loop_run(fill.loop);
    store_close(fill.store);
    loop_free(fill.loop);
    return 0;
}
