"""Machines that reboot and power off."""

from lab.contract import Case

CASES = [
    Case("machine.reboot", {"allow": True, "when": "needed"}, host="systemd",
         release=("bookworm", "trixie"), below=False, leaves="reboot",
         before="touch /run/reboot-required", look="cat /proc/sys/kernel/random/boot_id"),
    Case("machine.poweroff", {"allow": True}, host="systemd", below=False, leaves="poweroff",
         repeats=True, look="cat /proc/sys/kernel/random/boot_id"),
    # The container shares the kernel of the machine.
    Case("machine.kexec", {"allow": True}, host="systemd", refused="container cannot kexec"),
]  # fmt: skip
