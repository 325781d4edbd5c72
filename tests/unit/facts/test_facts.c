#include "facts/facts.h"

#include <unistd.h>

#include "lang/json.h"
#include "scratch.h"

static Str made_up_name(Arena *arena)
{
    return STR("web1");
}

static Str made_up_arch(Arena *arena)
{
    return STR("riscv64");
}

static bool made_up_addresses(Arena *arena, NetworkAddresses *out, Error *err)
{
    static NetworkAddress all[] = {
        { STR("eth0"), STR("10.0.0.5"), false, 24 },
        { STR("lo"), STR("127.0.0.1"), false, 8 },
        { STR("eth0"), STR("fe80::1"), true, 64 },
    };
    *out = (NetworkAddresses){ all, COUNT_OF(all) };
    return true;
}

static bool no_addresses(Arena *arena, NetworkAddresses *out, Error *err)
{
    return error_set(err, ERROR_DENIED, "no sockets here");
}

/* A machine simulated by the files below the scratch directory. */
static FactSources make_sources(Scratch *scratch, bool live)
{
    FactSources sources = { .live = live,
                            .addresses = made_up_addresses,
                            .host_name = made_up_name,
                            .arch = made_up_arch };
    Error err;
    assert_true(tree_open(scratch->path, &sources.root, &err));
    assert_true(tree_open(scratch->path, &sources.kernel, &err));
    return sources;
}

/* The fact as compact JSON; "warning: ..." if there was one. */
static Str reported_by(Scratch *scratch, const FactSources *sources, const char *name)
{
    Problems problems;
    problems_init(&problems, &scratch->arena);
    const Fact *fact = fact_find(str_from_c(name));
    assert_non_null(fact);
    Value value = fact_collect(fact, sources, &scratch->arena, &problems);
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    if (problems.count > 0) {
        assert_int_equal(value.kind, VALUE_NULL);
        assert_int_equal(problems.items[0].severity, SEVERITY_WARNING);
        buf_put_c(&text, "warning: ");
        buf_put(&text, problems.items[0].message);
        return buf_str(&text);
    }
    Error err;
    assert_true(json_print(&text, value, NULL, &err));
    return buf_str(&text);
}

static Str reported(Scratch *scratch, bool live, const char *name)
{
    AUTO_CLEAR(FactSources) sources = make_sources(scratch, live);
    return reported_by(scratch, &sources, name);
}

static void every_fact_of_an_empty_root_is_null_or_empty(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(FactSources) sources = make_sources(scratch, false);
    Problems problems;
    problems_init(&problems, &scratch->arena);
    Value all = facts_collect(&sources, &scratch->arena, NULL, 0, &problems);
    assert_int_equal(problems.count, 0);
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&text, all, NULL, &err));
    assert_str(buf_str(&text),
               "{\"name\":null,\"fqdn\":null,\"os\":null,\"os_family\":null,\"os_version\":null,"
               "\"arch\":\"riscv64\",\"kernel\":null,\"cpus\":null,\"memory\":null,\"disks\":{},"
               "\"interfaces\":{},\"default_interface\":null,\"ipv4\":null,\"ipv6\":null,"
               "\"virtualization\":\"none\","
               "\"init_system\":null,\"package_manager\":null,\"timezone\":\"UTC\","
               "\"boot_id\":null,\"machine_id\":null,\"users\":{}}");
}

static void only_requested_facts_are_read_in_that_order(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(FactSources) sources = make_sources(scratch, true);
    sources.addresses = no_addresses;
    Problems problems;
    problems_init(&problems, &scratch->arena);
    const Fact *wanted[] = { fact_find(STR("arch")), fact_find(STR("name")) };
    Value some = facts_collect(&sources, &scratch->arena, wanted, 2, &problems);
    assert_int_equal(some.map->len, 2);
    assert_str(value_str(some.map->entries[0].key), "arch");
    assert_str(value_str(some.map->entries[1].value), "web1");
    assert_int_equal(problems.count, 0);
}

static void a_failing_source_is_a_warning_and_null(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "sys/class/net/eth0/flags", "0x1003\n");
    AUTO_CLEAR(FactSources) sources = make_sources(scratch, true);
    sources.addresses = no_addresses;
    assert_str(reported_by(scratch, &sources, "interfaces"),
               "warning: fact 'interfaces': no sockets here");
    scratch_put(scratch, "sys/devices/system/cpu/online", "0-x\n");
    assert_str(
        reported_by(scratch, &sources, "cpus"),
        "warning: fact 'cpus': /sys/devices/system/cpu/online: '0-x' is not a list of processors");
    scratch_put(scratch, "proc/meminfo", "Nothing: 1\n");
    assert_str(reported_by(scratch, &sources, "memory"),
               "warning: fact 'memory': MemTotal is missing in /proc/meminfo");
    mkdir(scratch_reach(scratch, "etc/os-release"), 0755);
    assert_str(reported_by(scratch, &sources, "os"),
               "warning: fact 'os': /etc/os-release: Is a directory");
}

static void names_are_read_from_the_kernel_or_the_root(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "etc/hostname", "# made by hand\n\n db7.example.org \n");
    assert_str(reported(scratch, true, "name"), "\"web1\"");
    assert_str(reported(scratch, false, "name"), "\"db7\"");
    assert_str(reported(scratch, false, "fqdn"), "\"db7.example.org\"");
    assert_str(reported(scratch, true, "fqdn"), "\"web1\"");
}

static void the_fqdn_is_read_from_hosts_then_the_resolver(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "etc/resolv.conf", "nameserver 10.0.0.1\nsearch lab.example other\n");
    assert_str(reported(scratch, true, "fqdn"), "\"web1.lab.example\"");
    scratch_put(scratch, "etc/resolv.conf", "search lab.example\ndomain main.example\n");
    assert_str(reported(scratch, true, "fqdn"), "\"web1.main.example\"");
    scratch_put(scratch, "etc/hosts",
                "10.0.0.9 web10.example.net web10\n"
                "10.0.0.8 web1.old.example # web1\n"
                "127.0.1.1 web1.example.net web1\n");
    assert_str(reported(scratch, true, "fqdn"), "\"web1.example.net\"");
}

static void the_system_is_identified_by_os_release(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "usr/lib/os-release",
                "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"
                "VERSION_ID='21.3'\n# ID=other\n");
    assert_str(reported(scratch, false, "os"), "\"linuxmint\"");
    assert_str(reported(scratch, false, "os_family"), "\"debian\"");
    assert_str(reported(scratch, false, "os_version"), "\"21.3\"");
    scratch_link(scratch, "etc/os-release", "/usr/lib/somewhere");
    scratch_put(scratch, "usr/lib/somewhere", "ID=\"a\\\"b\"\nID_LIKE=homegrown\n");
    assert_str(reported(scratch, false, "os"), "\"a\\\"b\"");
    assert_str(reported(scratch, false, "os_family"), "\"homegrown\"");
    assert_str(reported(scratch, false, "os_version"), "null");
}

static void links_in_another_root_stay_inside(void **state)
{
    Scratch *scratch = *state;
    scratch_link(scratch, "etc/passwd", "/etc/shells");
    assert_str(reported(scratch, false, "users"), "{}");
    scratch_link(scratch, "etc/hostname", "../../../../../../../../etc/passwd");
    assert_str(reported(scratch, false, "name"), "null");
}

static void processors_and_memory_are_counted(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "sys/devices/system/cpu/online", "0-3,8,10-11\n");
    assert_str(reported(scratch, true, "cpus"), "7");
    scratch_put(scratch, "proc/meminfo",
                "MemTotal:        8168864 kB\nMemFree: 12 kB\nSwapTotal:        1024 kB\n");
    assert_str(reported(scratch, true, "memory"), "{\"total\":8364916736,\"swap\":1048576}");
}

static void only_disks_with_data_are_listed(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "sys/block/sda/size", "2048\n");
    scratch_put(scratch, "sys/block/sda/queue/rotational", "1\n");
    scratch_put(scratch, "sys/block/sda/device/model", "Disk 3000  \n");
    scratch_put(scratch, "sys/block/sdb/size", "0\n");
    scratch_put(scratch, "sys/block/loop0/size", "99\n");
    scratch_put(scratch, "sys/block/sr0/size", "99\n");
    assert_str(reported(scratch, true, "disks"),
               "{\"sda\":{\"size\":1048576,\"model\":\"Disk 3000\",\"rotational\":true,"
               "\"removable\":false,\"read_only\":false}}");
}

static void interfaces_have_their_addresses(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "sys/class/net/eth0/address", "52:54:00:12:34:56\n");
    scratch_put(scratch, "sys/class/net/eth0/mtu", "1500\n");
    scratch_put(scratch, "sys/class/net/eth0/flags", "0x1003\n");
    scratch_put(scratch, "sys/class/net/eth1/flags", "0x1002\n");
    scratch_put(scratch, "sys/class/net/bonding_masters", "bond0\n");
    assert_str(reported(scratch, true, "interfaces"),
               "{\"eth0\":{\"mac\":\"52:54:00:12:34:56\",\"mtu\":1500,\"up\":true,"
               "\"ipv4\":[{\"address\":\"10.0.0.5\",\"prefix\":24}],"
               "\"ipv6\":[{\"address\":\"fe80::1\",\"prefix\":64}]},"
               "\"eth1\":{\"mac\":null,\"mtu\":null,\"up\":false,\"ipv4\":[],\"ipv6\":[]}}");
}

static void the_default_interface_has_the_route_of_least_metric(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "proc/net/ipv6_route",
                "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
                "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n"
                "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
                "fe800000000000000000000000000001 00000400 00000001 00000000 00000003 wlan0\n");
    assert_str(reported(scratch, true, "default_interface"), "\"wlan0\"");
    scratch_put(scratch, "proc/net/route",
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
                "eth1\t00000000\t0100000A\t0003\t0\t0\t200\t00000000\t0\t0\t0\n"
                "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                "eth2\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    assert_str(reported(scratch, true, "default_interface"), "\"eth0\"");
}

static bool several_addresses(Arena *arena, NetworkAddresses *out, Error *err)
{
    static NetworkAddress all[] = {
        { STR("lo"), STR("127.0.0.1"), false, 8 },      { STR("lo"), STR("::1"), true, 128 },
        { STR("eth0"), STR("169.254.1.1"), false, 16 }, { STR("eth0"), STR("fe80::1"), true, 64 },
        { STR("eth0"), STR("10.0.0.5"), false, 24 },    { STR("eth1"), STR("10.0.1.5"), false, 24 },
        { STR("eth1"), STR("10.0.1.6"), false, 24 },
    };
    *out = (NetworkAddresses){ all, COUNT_OF(all) };
    return true;
}

static void the_address_is_that_of_the_default_interface(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(FactSources) sources = make_sources(scratch, true);
    assert_str(reported_by(scratch, &sources, "ipv4"), "null");
    scratch_put(scratch, "sys/class/net/eth0/flags", "0x1003\n");
    sources.addresses = several_addresses;
    assert_str(reported_by(scratch, &sources, "ipv4"), "\"10.0.0.5\"");
    assert_str(reported_by(scratch, &sources, "ipv6"), "null");
    scratch_put(scratch, "proc/net/route",
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
                "eth1\t00000000\t0100000A\t0003\t0\t0\t200\t00000000\t0\t0\t0\n");
    assert_str(reported_by(scratch, &sources, "ipv4"), "\"10.0.1.5\"");
}

static void virtualization_is_detected(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "proc/cpuinfo", "processor: 0\nflags\t\t: fpu hypervisor lm\n");
    assert_str(reported(scratch, true, "virtualization"), "\"vm\"");
    scratch_put(scratch, "sys/class/dmi/id/sys_vendor", "QEMU\n");
    scratch_put(scratch, "sys/class/dmi/id/product_name", "Standard PC\n");
    assert_str(reported(scratch, true, "virtualization"), "\"qemu\"");
    scratch_put(scratch, "sys/class/dmi/id/sys_vendor", "Dell Inc.\n");
    assert_str(reported(scratch, true, "virtualization"), "\"none\"");
    scratch_put(scratch, ".dockerenv", "");
    assert_str(reported(scratch, true, "virtualization"), "\"docker\"");
    scratch_put(scratch, "run/systemd/container", "lxc\n");
    assert_str(reported(scratch, true, "virtualization"), "\"lxc\"");
}

static void the_init_system_is_the_running_or_the_installed_one(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "proc/1/comm", "tini\n");
    scratch_put(scratch, "etc/inittab", "");
    assert_str(reported(scratch, true, "init_system"), "\"tini\"");
    assert_str(reported(scratch, false, "init_system"), "\"sysvinit\"");
    scratch_link(scratch, "sbin/init", "../lib/systemd/systemd");
    assert_str(reported(scratch, false, "init_system"), "\"systemd\"");
    scratch_put(scratch, "run/systemd/system/placeholder", "");
    assert_str(reported(scratch, true, "init_system"), "\"systemd\"");
}

static void the_package_manager_is_the_one_the_system_was_built_with(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "usr/bin/apt-get", "");
    scratch_put(scratch, "usr/bin/dnf", "");
    assert_str(reported(scratch, false, "package_manager"), "\"dnf\"");
    scratch_put(scratch, "var/lib/dpkg/status", "");
    assert_str(reported(scratch, false, "package_manager"), "\"apt\"");
}

static void the_time_zone_is_the_link_and_then_the_file(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "etc/timezone", "Asia/Tokyo\n");
    assert_str(reported(scratch, false, "timezone"), "\"Asia/Tokyo\"");
    scratch_link(scratch, "etc/localtime", "/usr/share/zoneinfo/Europe/Berlin");
    assert_str(reported(scratch, false, "timezone"), "\"Europe/Berlin\"");
}

static void ids_are_read(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "proc/sys/kernel/random/boot_id", "5d1e4c59\n");
    scratch_put(scratch, "proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
    scratch_put(scratch, "var/lib/dbus/machine-id", "b08d\n");
    assert_str(reported(scratch, true, "boot_id"), "\"5d1e4c59\"");
    assert_str(reported(scratch, true, "kernel"), "\"6.1.0-28-amd64\"");
    assert_str(reported(scratch, true, "machine_id"), "\"b08d\"");
    scratch_put(scratch, "etc/machine-id", "uninitialized\n");
    assert_str(reported(scratch, true, "machine_id"), "null");
}

static void users_are_read_from_passwd(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "etc/passwd",
                "root:x:0:0:root:/root:/bin/bash\n# remark\n+::::::\nweb:x:1001:100::/srv\n"
                "bad:x:one:2:::\n");
    assert_str(reported(scratch, false, "users"),
               "{\"root\":{\"uid\":0,\"gid\":0,\"comment\":\"root\",\"home\":\"/root\","
               "\"shell\":\"/bin/bash\"},\"web\":{\"uid\":1001,\"gid\":100,\"comment\":\"\","
               "\"home\":\"/srv\",\"shell\":\"\"}}");
}

static void every_row_is_complete_and_found_by_name(void **state)
{
    Scratch *scratch = *state;
    for (size_t i = 0; facts[i] != NULL; i++) {
        Str help = str_from_c(facts[i]->help);
        assert_true(str_ends(help, STR(".")));
        assert_ptr_equal(fact_find(str_from_c(facts[i]->name)), facts[i]);
        Value example;
        Error err;
        assert_true(
            json_parse_text(&scratch->arena, str_from_c(facts[i]->example), NULL, &example, &err));
    }
    Str near;
    assert_null(fact_find(STR("os_famly")));
    assert_true(fact_suggest(STR("os_famly"), &near));
    assert_str(near, "os_family");
}

static void this_machine_has_facts(void **state)
{
    Scratch *scratch = *state;
    FactSources sources;
    Error err;
    assert_true(fact_sources_open("/", &sources, &err));
    Problems problems;
    problems_init(&problems, &scratch->arena);
    Value all = facts_collect(&sources, &scratch->arena, NULL, 0, &problems);
    fact_sources_close(&sources);
    assert_true(value_get(all, STR("cpus"))->integer > 0);
    assert_true(value_get(*value_get(all, STR("memory")), STR("total"))->integer > 0);
    assert_non_null(value_get(*value_get(all, STR("interfaces")), STR("lo")));
    assert_non_null(value_get(*value_get(all, STR("users")), STR("root")));
    assert_false(fact_sources_open("/nowhere/at/all", &sources, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(every_fact_of_an_empty_root_is_null_or_empty),
        SCRATCH_TEST(only_requested_facts_are_read_in_that_order),
        SCRATCH_TEST(a_failing_source_is_a_warning_and_null),
        SCRATCH_TEST(names_are_read_from_the_kernel_or_the_root),
        SCRATCH_TEST(the_fqdn_is_read_from_hosts_then_the_resolver),
        SCRATCH_TEST(the_system_is_identified_by_os_release),
        SCRATCH_TEST(links_in_another_root_stay_inside),
        SCRATCH_TEST(processors_and_memory_are_counted),
        SCRATCH_TEST(only_disks_with_data_are_listed),
        SCRATCH_TEST(interfaces_have_their_addresses),
        SCRATCH_TEST(the_default_interface_has_the_route_of_least_metric),
        SCRATCH_TEST(the_address_is_that_of_the_default_interface),
        SCRATCH_TEST(virtualization_is_detected),
        SCRATCH_TEST(the_init_system_is_the_running_or_the_installed_one),
        SCRATCH_TEST(the_package_manager_is_the_one_the_system_was_built_with),
        SCRATCH_TEST(the_time_zone_is_the_link_and_then_the_file),
        SCRATCH_TEST(ids_are_read),
        SCRATCH_TEST(users_are_read_from_passwd),
        SCRATCH_TEST(every_row_is_complete_and_found_by_name),
        SCRATCH_TEST(this_machine_has_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
