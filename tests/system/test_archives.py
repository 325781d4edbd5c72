"""Archives on complete systems: full disks, killed runs, missing programs."""

STEPS = [{"name": "it", "archive.extracted": {"name": "/opt/app", "source": "/srv/a"}}]


def leftovers(host):
    return host.run("ls -A /opt").out.split()


def test_full_disk_leaves_existing_files_unchanged(light):
    host = light(disk="8M")
    host.run("mkdir -p /srv/in && cd /srv/in && echo old > f && tar -cf /srv/a f")
    assert host.apply(STEPS).result == "changed"
    host.run("cd /tmp && echo new > f && head -c 20M /dev/zero > z && tar -czf /srv/a f z")
    done = host.apply(STEPS)
    assert "No space left on device" in done.steps["it"].error.message
    assert host.read("/opt/app/f") == "old\n"
    assert leftovers(host) == ["app"]


def test_killed_run_is_completed_by_the_next(light):
    host = light()
    host.run("cd /tmp && mkdir in && for i in $(seq 2000); do echo $i > in/$i; done && "
             "tar -cJf /srv/a in")  # fmt: skip
    # An xz that hangs halfway until it is killed.
    host.write("/usr/local/bin/xz", "#!/bin/sh\n/usr/bin/xz \"$@\" | head -c 100000\n"
               "touch /tmp/stopped; exec sleep 1000\n", mode=0o755)  # fmt: skip
    host.write("/srv/steps.yaml", "steps:\n- archive.extracted: {name: /opt/app, source: /srv/a}\n")
    run = host.popen("echo $$ > /tmp/pid; exec eden apply /srv/steps.yaml")
    host.wait_for("test -e /tmp/stopped", 30, "the run to be in the middle")
    host.run("kill -9 $(cat /tmp/pid)")
    run.wait()
    assert not host.exists("/opt/app") and len(leftovers(host)) == 1
    host.run("rm /usr/local/bin/xz")
    assert host.apply(STEPS).result == "changed"
    assert leftovers(host) == ["app"]
    assert host.run("ls /opt/app/in | wc -l").out == "2000"
    assert host.apply(STEPS).result == "ok"


def test_missing_program_is_named_with_its_package(light):
    host = light()
    host.run("cd /tmp && echo x > f && tar --zstd -cf /srv/a f && rm /usr/bin/zstd")
    message = host.apply(STEPS).steps["it"].error.message
    assert "zstd" in message and "package zstd" in message
    assert leftovers(host) == []


def test_unpack_errors_are_quoted(light):
    host = light()
    host.run("cd /tmp && head -c 100000 /dev/urandom > f && tar -cJf /srv/a f && "
             "truncate -s 50000 /srv/a")  # fmt: skip
    message = host.apply(STEPS).steps["it"].error.message
    assert "xz exited with 1" in message and "Unexpected end of input" in message
    assert leftovers(host) == []
