"""The guarantees of every action, tested in a host: see tests/contract/README.md.

A module has a file tests/contract/system/<module>.py with a list CASES.
"""

import dataclasses
import json
import re

from . import outcome, snapshot

IMAGE = "/srv/image"
# eden's own records of runs; a plan writes none.
RECORDS = "/var/lib/eden"
# Not on the disk in a host either.
PASSING = ("/tmp", "/run")


@dataclasses.dataclass(frozen=True)
class Case:
    """An action with parameters, and a host on which it has something to do.

    action   such as "user.present"
    params   a map, or a list of maps with one key
    name     distinguishes cases of the same action
    host     "light" or "systemd"
    release  a root of roots.py, or several
    options  of the host, such as {"repos": True}
    before   a command, or a function of the host: prepares it
    look     a command whose output, or a function of the host whose result, shows state that is not
             in files: of the kernel, of services
    after    a command that must succeed after applying, or a function that asserts
    below    with --root DIR it acts only under DIR; False: then it is rejected
    repeats  it is never unchanged
    asks     it only queries something, and is never changed
    without  paths that others write to meanwhile
    leaves   "reboot" or "poweroff": what the host does after an apply; the step then waits, and is
             unchanged when the run was continued
    refused  a pattern: why this is impossible in a host
    """

    action: str
    params: object
    name: str = ""
    host: str = "light"
    release: object = "bookworm"
    options: dict = dataclasses.field(default_factory=dict)
    before: object = None
    look: object = None
    after: object = None
    below: bool = True
    repeats: bool = False
    asks: bool = False
    without: tuple = ()
    leaves: str = ""
    refused: str = ""

    def releases(self):
        return [self.release] if isinstance(self.release, str) else list(self.release)

    def steps(self):
        params = self.params
        if isinstance(params, dict):
            params = [{key: value} for key, value in params.items()]
        return [{"name": "case", self.action: params}]


def do(host, what):
    """Runs a command, or a function of the host; None: nothing."""
    if what is None:
        return None
    return what(host) if callable(what) else host.run(what).stdout


# Modules tested well enough in the small root of test_modules.c, and swap: it is global to the
# kernel, so a host cannot enable its own.
PROVED_BELOW_A_ROOT = {"cmd", "file", "net", "swap", "template", "test", "time"}


def actions_in_need(explained):
    """Names of the actions that need a case, from the output of `eden explain -o json`."""
    names = [row["name"] for row in json.loads(explained) if row["kind"] == "action"]
    return [name for name in names if name.split(".")[0] not in PROVED_BELOW_A_ROOT]


class Trial:
    """One case in its host."""

    def __init__(self, case, host):
        self.case = case
        self.host = host
        self.steps = case.steps()

    def run(self, verb, *options):
        done = getattr(self.host, verb)(self.steps, *options)
        assert len(done.listed) == 1, f"{verb}: {done} {done.stderr}"
        return done

    def state(self, image, records=True):
        """Everything that must not change: the disk with its timestamps, and other state as the
        case sees it.
        """
        without = self.case.without if records else (*self.case.without, RECORDS)
        return {
            "disk": self.host.snapshot(without=(*without, IMAGE), times=True),
            "look": do(self.host, self.case.look),
            "image": self.image_state(without) if image else {},
        }

    def image_state(self, without):
        inside = f"/proc/{self.host.pid}/root"
        upper = f"{inside}/run/image/upper"
        found = snapshot.take(upper, [inside], without={*PASSING, *without}, times=True)
        # The first records create their directory.
        return {path: entry for path, entry in found.items() if path not in ("/var", "/var/lib")}

    def assert_same(self, before, after, when):
        for part in ("disk", "image"):
            changed = snapshot.differences(before[part], after[part])
            assert changed == [], f"{when}, the {part} changed: {changed}"
        looks = (before["look"], after["look"])
        assert looks[0] == looks[1], f"{when}, the system changed: {looks}"

    def assert_result(self, done, result, when):
        step = done.listed[0]
        assert step.error is None, f"{when}: {step.error.message}"
        assert (done.exit, step.result) == (0, result), f"{when}: {done}"

    def first(self):
        return "ok" if self.case.asks else "changed"

    def unchanged(self):
        return "changed" if self.case.repeats else "ok"

    # --- the parts

    def plan_changes_nothing(self):
        before = self.state(image=False)
        done = self.run("plan")
        self.assert_same(before, self.state(image=False), "in a plan")
        self.assert_result(done, self.first(), "plan")

    def root_is_respected(self):
        """The image is another instance of this system, in memory, with nothing running."""
        self.host.make_image(IMAGE)
        before = self.state(image=True)
        done = self.run("plan", "--root", IMAGE)
        self.assert_same(before, self.state(image=True), "in a plan with --root")
        if self.case.below:
            self.assert_result(done, "changed", "plan with --root")
            self.assert_result(self.run("apply", "--root", IMAGE), "changed", "apply with --root")
            after = self.state(image=True)
            assert after["image"] != before["image"], "with --root, nothing happened below it"
            self.assert_same({**before, "image": {}}, {**after, "image": {}}, "with --root")
            done = self.run("apply", "--root", IMAGE)
            self.assert_result(done, self.unchanged(), "apply with --root again")
        else:
            self.assert_refused(done, "plan")
            before = self.state(image=True, records=False)
            self.assert_refused(self.run("apply", "--root", IMAGE), "apply")
            after = self.state(image=True, records=False)
            self.assert_same(before, after, "refused with --root")
        self.host.run(["umount", IMAGE])

    def assert_refused(self, done, verb):
        error = done.listed[0].error
        assert done.exit != 0 and error is not None, f"{verb} with --root is not refused: {done}"
        assert re.search(r"\broot\b", error.message), f"{verb} does not say why: {error.message}"

    def apply_changes_once(self):
        self.assert_result(self.run("apply"), self.first(), "apply")
        do(self.host, self.case.after)
        before = self.state(image=False, records=False)
        if self.case.repeats:
            return
        self.assert_result(self.run("plan"), "ok", "plan after apply")
        self.assert_same(before, self.state(False, records=False), "in a plan after apply")
        self.assert_result(self.run("apply"), "ok", "apply after apply")
        self.assert_same(before, self.state(False, records=False), "in an apply after apply")
        do(self.host, self.case.after)

    def apply_leaves(self):
        """The host shuts down, and the data the run left for this is removed once it has continued.
        """
        path = self.host.put_site(self.steps, "/srv/case")  # /tmp is not persistent
        argv = ["apply", path, "-o", "json", "--progress", "none"]
        if self.case.leaves == "reboot":
            with self.host.expect_reboot():
                self.assert_result(outcome.Run(self.host.eden(*argv)), "waiting", "apply")
        else:
            self.assert_result(outcome.Run(self.host.eden(*argv)), "waiting", "apply")
            self.host.wait_down()
            self.host.start()
        self.host.wait_for("! ls /etc/systemd/system/eden-resume.service")
        do(self.host, self.case.after)
        if not self.case.repeats:
            self.assert_result(self.run("plan"), "ok", "plan after apply")

    def is_refused(self):
        before = self.state(image=False)
        for verb in ("plan", "apply"):
            error = self.run(verb).listed[0].error
            assert error is not None and re.search(self.case.refused, error.message), error
            if verb == "plan":
                self.assert_same(before, self.state(image=False), "refused")

    def keep(self):
        do(self.host, self.case.before)
        if self.case.refused:
            self.is_refused()
            return
        self.plan_changes_nothing()
        self.root_is_respected()
        if self.case.leaves:
            self.apply_leaves()
        else:
            self.apply_changes_once()
