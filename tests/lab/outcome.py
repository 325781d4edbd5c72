"""The output of `eden plan` and `eden apply`, as objects."""

import json


class Thing:
    """A JSON map whose keys are attributes; nested maps are Things too, except free-form ones."""

    FREE = {"changes"}

    def __init__(self, given):
        for key, value in given.items():
            if isinstance(value, dict) and key not in self.FREE:
                value = Thing(value)
            setattr(self, key, value)

    def __repr__(self):
        return f"{type(self).__name__}({self.__dict__!r})"


class Step(Thing):
    """Fields as in eden's JSON: result, changed, changes, error (None, or with .code, .message),
    state, cause, reason, stdout, stderr, exit_code, diff, reacted, tries and so on."""


class Run:
    """A finished `eden plan` or `eden apply`.

    exit     its exit code
    result   "ok", "changed", "failed" and so on; None if there was no run
    steps    name to Step; `listed` has all in order, also several with the same name (foreach)
    owed     reactions still owed after it
    problems errors in the site, if there was no run
    stdout, stderr, json
    """

    def __init__(self, done):
        self.exit = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        try:
            self.json = json.loads(done.stdout)
        except ValueError:
            self.json = {}
        self.result = self.json.get("result")
        self.counts = self.json.get("counts", {})
        self.owed = self.json.get("owed", [])
        self.problems = [Thing(problem) for problem in self.json.get("problems", [])]
        self.listed = [Step(step) for step in self.json.get("steps", [])]
        self.steps = {step.name: step for step in self.listed}

    @property
    def errors(self):
        """All error messages: of steps, of the site, or of the command."""
        texts = [step.error.message for step in self.listed if step.error is not None]
        texts += [problem.message for problem in self.problems]
        if not self.json:
            texts.append(self.stderr.strip())
        return "\n".join(texts)

    def __repr__(self):
        steps = ", ".join(f"{step.name}: {step.result}" for step in self.listed)
        return f"<Run exit {self.exit} {self.result} [{steps}] {self.errors or ''}>"
