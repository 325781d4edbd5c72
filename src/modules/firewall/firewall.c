/* firewall.*: what may come in. */
#include "modules/firewall/actions.h"

static const Action actions[] = {
    { "rules", "Ensure the rules of the firewall, by nftables.", firewall_rules_params,
      firewall_rules_check, firewall_rules_apply, .claims = firewall_rules_claims,
      .id_param = "table", .waits = true, .cost_ms = 100,
      .text =
          "One table belongs to the step. It is replaced as a whole and at one moment; other\n"
          "tables are left alone. Rules are asked in their order and the first that fits decides;\n"
          "'policy' decides about the rest. Answers to what this machine asked for, its own\n"
          "loopback and ICMP come in before all rules, unless 'basics: false'.\n"
          "\n"
          "    rules:\n"
          "      - accept: {port: [80, 443]}\n"
          "      - accept: {ports: 60000-61000, protocol: udp, interface: eth0}\n"
          "      - reject: {from: [192.0.2.0/24, \"2001:db8::/32\"]}\n"
          "\n"
          "Further rules of the same chain are written in nft's own words in 'content', sets and\n"
          "other chains in 'definitions'.\n"
          "\n"
          "With 'confirm' the new rules are on trial: unless the address accepts a connection, or\n"
          "the command succeeds, within the timeout, the former rules come back and the step\n"
          "fails. They come back too when eden is killed meanwhile. Only confirmed rules are\n"
          "written to the disk. An address proves that this machine still reaches others; that\n"
          "others reach it, such as by ssh, takes a command that asks one of them.\n"
          "\n"
          "For the next boot the table is kept in /etc/nftables.d, and /etc/nftables.conf gets a\n"
          "line that includes it (not with 'boot: false'). That the service nftables is enabled\n"
          "is for another step. What others change in the table is noticed and put right.\n",
      .example = "- name: only the web and ssh\n"
                 "  firewall.rules:\n"
                 "    - rules:\n"
                 "        - accept: {port: [80, 443]}\n"
                 "        - accept: {port: 22, from: 192.0.2.0/24}\n"
                 "    - confirm: {address: 192.0.2.1, port: 22, timeout: 5s}\n" },
    { 0 },
};

const Module modules_firewall = {
    .name = "firewall",
    .help = "What may come in.",
    .actions = actions,
};
