"""Git repositories for tests: created with the real git, without the machine's configuration."""

import os
import subprocess

SITE = {
    "config.yaml": "name: shop\n",
    "jobs/base.yaml": "jobs:\n  '*':\n  - name: web\n",
    "jobs/web.yaml": "steps:\n- name: hello\n  cmd.run: [{cmd: echo hello}]\n",
    "files/motd": "welcome\n",
}
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
}


class Repository:
    """A bare repository that a server follows, and a clone for making commits."""

    def __init__(self, folder, files=None):
        self.bare, self.work = folder / "bare.git", folder / "work"
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", self.bare, at=folder)
        self.git("init", "--quiet", "--initial-branch=main", self.work, at=folder)
        self.git("remote", "add", "origin", self.bare)
        if files is not None:
            self.commit(files, "first")

    @property
    def url(self):
        return f"file://{self.bare}"

    def git(self, *words, at=None, text=True, **options):
        done = subprocess.run(["git", "-c", "protocol.file.allow=always", *map(str, words)], cwd=at or self.work,
                              env={**ENVIRONMENT, **options.pop("env", {})}, capture_output=True, text=text, **options)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def write(self, files):
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            elif isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(text)

    def commit(self, files, subject, *options):
        """Writes files (None deletes one), commits everything and pushes; returns the commit."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject, *options)
        return self.push()

    def push(self):
        self.git("push", "--quiet", "--force", "origin", "HEAD:main")
        return self.head()

    def head(self):
        return self.git("rev-parse", "HEAD")
