"""Units for tests: the files they write show how often they were started."""

import itertools

numbers = itertools.count(1)


def fresh(prefix="app"):
    """A name that no other test of this process uses."""
    return f"{prefix}{next(numbers)}"


def text(command="/usr/bin/sleep infinity", *lines, unit=(), install="multi-user.target"):
    """A service; `lines` go to [Service], `unit` to [Unit]."""
    parts = ["[Unit]", *unit, "[Service]", f"ExecStart={command}", *lines]
    if install:
        parts += ["[Install]", f"WantedBy={install}"]
    return "\n".join(parts) + "\n"


def counted(name, *lines, **more):
    """A service that records every start ("start") and reload ("reload") in /run/<name>."""
    note = f"/bin/sh -c 'echo {{}} >> /run/{name}.log'"
    return text(
        "/usr/bin/sleep infinity",
        f"ExecStartPre={note.format('start')}", f"ExecReload={note.format('reload')}", *lines,
        **more,
    )  # fmt: skip


def log(host, name):
    return host.run(f"cat /run/{name}.log 2>/dev/null || true").stdout.split()


def put(host, name, content):
    """Stops and removes a unit without eden."""
    name = name if "." in name else f"{name}.service"
    host.write(f"/etc/systemd/system/{name}", content)
    host.run(["systemctl", "daemon-reload"])


def show(host, name, prop):
    return host.run(["systemctl", "show", "--value", "-p", prop, name]).out


def ensure(name, *, step=None, **params):
    requisites = {key: params.pop(key) for key in ("watch", "listen", "require") if key in params}
    given = [{"name": name}, *({key: value} for key, value in params.items())]
    return {"name": step or name, "service.ensure": given, **requisites}


def unit(name, content, *, step=None, **params):
    given = [{"name": name}, {"content": content}, *({k: v} for k, v in params.items())]
    return {"name": step or f"{name} file", "service.unit": given}


def file(path, content, *, step="conf"):
    return {"name": step, "file.managed": [{"name": path}, {"content": content}]}
