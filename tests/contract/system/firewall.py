"""The firewall."""

from lab.contract import Case

RULES = [{"accept": {"port": [22, 80]}}, {"accept": {"port": "6000-6010", "protocol": ["tcp", "udp"],
                                                     "from": ["10.0.0.0/8", "2001:db8::/32"]}}]  # fmt: skip
LOOK = "nft list ruleset"

CASES = [
    Case("firewall.rules", {"rules": RULES}, release=("bookworm", "trixie"), below=False, look=LOOK,
         after="nft list chain inet eden input | grep -q 'tcp dport { 22, 80 } accept' && "
               "nft list chain inet eden input | grep -q 'policy drop'"),
    Case("firewall.rules", {"table": "ip web", "rules": RULES[:1], "policy": "accept",
                            "content": 'tcp dport 81 counter log prefix "web: " drop',
                            "definitions": "set bad { type ipv4_addr; flags dynamic; timeout 1h; }",
                            "confirm": {"cmd": ["true"]}, "boot": False},
         name="expert", below=False, look=LOOK,
         after="nft list table ip web | grep -q 'set bad' && ! grep include /etc/nftables.conf"),
    Case("firewall.rules", {"state": "absent"}, name="absent", below=False, look=LOOK,
         before="nft add table inet eden", after="! nft list table inet eden"),
]  # fmt: skip
