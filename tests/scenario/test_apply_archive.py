"""Archives as real programs write them, and malicious ones."""

import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import tarfile
import zipfile

import pytest


@pytest.fixture
def world(eden, tmp_path):
    """A root below the test's folder; world(...) extracts /a into /opt/app there."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (tmp_path / "outside").write_text("precious\n")

    def run(verb="apply", archive=None, **params):
        if archive is not None:
            (root / "a").write_bytes(archive)
        wanted = {"name": "/opt/app", "source": "/a", **params}
        wanted = {key: value for key, value in wanted.items() if value is not None}
        steps = [{"name": "it", "archive.extracted": wanted}]
        (tmp_path / "steps.yaml").write_text(json.dumps({"steps": steps}))
        done = eden(verb, "steps.yaml", "--root", root, "--state-dir", tmp_path / "state",
                    "--config-dir", tmp_path / "config", "-o", "json")  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        step = json.loads(done.stdout)["steps"][0]
        assert (tmp_path / "outside").read_text() == "precious\n"
        assert not list(root.glob("opt/.eden-*")), "something is left"
        return step

    run.root = root
    run.app = root / "opt/app"
    return run


def make_tar(*members, format=tarfile.PAX_FORMAT, mode="w"):
    """Members: (name, content or None for a directory, fields)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format) as tar:
        for name, content, *fields in members:
            info = tarfile.TarInfo(name)
            info.mtime = 1600000000
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            elif isinstance(content, bytes):
                info.size = len(content)
            for key, value in (fields[0] if fields else {}).items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def link(name, target, type=tarfile.SYMTYPE):
    return (name, "", {"type": type, "linkname": target})


def tree(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith(".eden-archive-"):
            continue
        if path.is_symlink():
            found[name] = "-> " + os.readlink(path)
        else:
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


SIMPLE = [("top", None), ("top/bin", None), ("top/bin/run", b"#!/bin/sh\n", {"mode": 0o755}),
          ("top/empty", b""), ("top/data", b"x" * 2000), link("top/sbin", "bin"),
          link("top/lib/up", "../data"), link("top/again", "top/data", tarfile.LNKTYPE)]  # fmt: skip
UNPACKED = {"top": None, "top/bin": None, "top/bin/run": b"#!/bin/sh\n", "top/empty": b"",
            "top/data": b"x" * 2000, "top/sbin": "-> bin", "top/lib": None,
            "top/lib/up": "-> ../data", "top/again": b"x" * 2000}  # fmt: skip


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tar_is_unpacked_once(world, format, mode):
    archive = make_tar(*SIMPLE, format=format, mode=mode)
    planned = world("plan", archive)
    assert planned["result"] == "changed" and not world.app.exists()
    step = world()
    assert step["result"] == "changed", step
    assert step["changes"]["archive"]["new"] == "sha256:" + hashlib.sha256(archive).hexdigest()
    assert tree(world.app) == UNPACKED
    run = (world.app / "top/bin/run").stat()
    assert (stat.S_IMODE(run.st_mode), run.st_mtime) == (0o755, 1600000000)
    assert (world.app / "top/data").stat().st_ino == (world.app / "top/again").stat().st_ino
    assert world()["result"] == "ok"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip_is_unpacked_once(world, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("top/", "")
        info = zipfile.ZipInfo("top/bin/run", (2020, 9, 13, 12, 26, 40))
        info.external_attr, info.compress_type = 0o100755 << 16, method
        archive.writestr(info, "#!/bin/sh\n" * 10000)
        info = zipfile.ZipInfo("top/link")
        info.external_attr, info.create_system = 0o120777 << 16, 3
        archive.writestr(info, "bin/run")
        info = zipfile.ZipInfo("dos")
        info.external_attr, info.create_system = 0, 0
        archive.writestr(info, "")
        archive.comment = b"a comment" * 100
    assert world(archive=out.getvalue())["result"] == "changed"
    assert tree(world.app) == {"top": None, "top/bin": None, "dos": b"", "top/link": "-> bin/run",
                               "top/bin/run": b"#!/bin/sh\n" * 10000}  # fmt: skip
    run = (world.app / "top/bin/run").stat()
    assert (stat.S_IMODE(run.st_mode), run.st_mtime) == (0o755, 1600000000)
    assert stat.S_IMODE((world.app / "dos").stat().st_mode) == 0o644
    assert world()["result"] == "ok"


def test_zip64_is_read(world, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        with archive.open("large", "w", force_zip64=True) as member:
            member.write(b"x" * 100)
        archive.writestr("a", "1")
        archive.writestr("b", "2")
    assert b"PK\x06\x06" in out.getvalue()
    assert world(archive=out.getvalue())["result"] == "changed"
    assert tree(world.app) == {"large": b"x" * 100, "a": b"1", "b": b"2"}


def test_real_tar_with_long_names(world, tmp_path):
    deep = tmp_path / "in" / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    (deep / ("f" * 200)).write_text("long")
    os.symlink("e" * 120 + "/" + "f" * 200, deep.parent / "link")
    for format in ("gnu", "pax", "oldgnu"):
        archive = subprocess.run(["tar", f"--format={format}", "-cz", "-C", tmp_path / "in", "."],
                                 capture_output=True, check=True).stdout  # fmt: skip
        assert world(archive=archive, name=f"/opt/{format}")["result"] == "changed"
        assert tree(world.root / "opt" / format) == tree(tmp_path / "in")


def test_strip_and_digest(world):
    archive = make_tar(*SIMPLE)
    wrong = "sha256:" + "0" * 64
    step = world(archive=archive, strip=1, digest=wrong)
    assert "does not match 'digest'" in step["error"]["message"] and not world.app.exists()
    digest = "SHA256:".lower() + hashlib.sha256(archive).hexdigest().upper()
    assert world(strip=1, digest=digest)["result"] == "changed"
    assert tree(world.app) == {
        name.partition("/")[2]: content for name, content in UNPACKED.items() if name != "top"
    }


def test_new_archive_is_moved_into_place_and_other_files_stay(world):
    world(archive=make_tar(("a", b"1"), ("same", b"s"), ("gone", b"g"), ("conf", b"default")))
    (world.app / "own").write_text("mine")
    (world.app / "conf").write_text("changed by another step")
    same = (world.app / "same").stat().st_ino
    step = world(archive=make_tar(("a", b"2"), ("same", b"s"), ("new/b", b"3"), ("conf", b"new")),
                 keep=["con*"])  # fmt: skip
    assert step["result"] == "changed"
    assert tree(world.app) == {"a": b"2", "same": b"s", "gone": b"g", "new": None, "new/b": b"3",
                               "own": b"mine", "conf": b"changed by another step"}  # fmt: skip
    assert (world.app / "same").stat().st_ino == same
    assert world(keep=["con*"])["result"] == "ok"


def test_going_back_to_the_older_of_two_files(world):
    """Each release in a separate file, and shared files have different content."""
    (world.root / "one").write_bytes(make_tar(("f", b"one"), ("s", b"same")))
    (world.root / "two").write_bytes(make_tar(("f", b"two"), ("s", b"same")))
    for source in ("/one", "/two", "/one", "/two"):
        assert world(source=source)["result"] == "changed"
        assert (world.app / "f").read_text() == source[1:]
        assert world(source=source)["result"] == "ok"


def test_another_file_with_the_same_size_and_time_is_detected(world):
    assert world(archive=make_tar(("f", b"one")))["result"] == "changed"
    before, other = os.stat(world.root / "a"), world.root / "b"
    other.write_bytes(make_tar(("f", b"two")))
    assert other.stat().st_size == before.st_size
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, world.root / "a")
    assert world()["result"] == "changed"
    assert (world.app / "f").read_bytes() == b"two"


def test_a_digest_covers_the_unpacked_content(world):
    """The owner of the archive replaces its content and resets its mtime."""
    good, other = make_tar(("f", b"good")), make_tar(("f", b"evil"))
    digest = "sha256:" + hashlib.sha256(good).hexdigest()
    assert len(good) == len(other)
    assert world(archive=good, digest=digest)["result"] == "changed"
    archive = world.root / "a"
    os.chown(archive, 1234, 1234)
    before = archive.stat()
    with open(archive, "r+b") as file:
        file.write(other)
    os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))
    (world.app / "f").unlink()
    step = world(digest=digest)
    assert step["result"] == "failed" and "changed while it was being read" in str(step["error"]), step
    assert tree(world.app) == {}
    with open(archive, "r+b") as file:
        file.write(good)
    os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert world(digest=digest)["result"] == "changed"
    assert tree(world.app) == {"f": b"good"}


def test_two_archives_share_a_directory(world):
    (world.root / "base").write_bytes(make_tar(("f", b"base"), ("g", b"base"), ("d", None)))
    (world.root / "over").write_bytes(make_tar(("g", b"over"), ("d", None), ("d/h", b"over")))
    for result in ("changed", "ok", "ok"):
        assert world(source="/base", keep=["g"])["result"] == result
        assert world(source="/over")["result"] == result
    assert (world.app / "g").read_text() == "over"
    (world.app / "f").unlink()
    for result in ("changed", "ok"):
        assert world(source="/base", keep=["g"])["result"] == result
        assert world(source="/over")["result"] == "ok"


@pytest.mark.parametrize("sources", [("/a", "/a"), ("/one", "/two")], ids=["same file", "other file"])
def test_obsolete_files_are_removed_on_request(world, sources):
    old = make_tar(("f", b"1"), ("gone", b"2"), ("d", None), ("d/e", None), ("d/e/gone", b"3"),
                   ("mine", None), ("mine/gone", b"4"), ("conf", b"5"), ("now", b"6"),
                   ("link", None, {"type": tarfile.SYMTYPE, "linkname": "f"}))  # fmt: skip
    new = make_tar(("f", b"1"), ("new", b"7"))
    for source, archive in zip(sources, (old, new)):
        (world.root / source[1:]).write_bytes(archive)
        if archive is old:
            assert world(source=source)["result"] == "changed"
            (world.app / "mine/own").write_text("by hand")
            (world.app / "now").unlink()
            (world.app / "now").mkdir()
    assert world("plan", source=sources[1], clean=True, keep=["conf"])["result"] == "changed"
    assert (world.app / "gone").exists()
    assert world(source=sources[1], clean=True, keep=["conf"])["result"] == "changed"
    left = {str(path.relative_to(world.app)) for path in world.app.rglob("*")}
    assert {name for name in left if not name.startswith(".eden")} == {
        "f", "new", "mine", "mine/own", "conf", "now"}  # fmt: skip
    assert len([name for name in left if name.startswith(".eden")]) == 1
    assert world(source=sources[1], clean=True, keep=["conf"])["result"] == "ok"


def test_forged_note_has_no_effect(world):
    """A user who can write to the directory could name files of others there."""
    world(archive=make_tar(("f", b"1")))
    [stamp] = world.app.glob(".eden-archive-*")
    note = json.loads(stamp.read_text())
    note["members"] += [["../../../outside", "f", 9, 0, 420], ["../a", "f", 9, 0, 420], ["/etc/passwd", "f", 9, 0, 420]]
    stamp.write_text(json.dumps(note))
    (world.app / "evil").symlink_to("/etc")
    assert world(archive=make_tar(("g", b"1")), clean=True)["result"] == "changed"
    assert (world.root / "a").exists() and (world.root / "etc/passwd").exists()
    assert not (world.app / "f").exists()


def test_missing_or_changed_files_are_restored(world):
    world(archive=make_tar(*SIMPLE))
    (world.app / "top/data").write_text("other")
    assert world()["result"] == "ok"
    step = world(restore="changed")
    assert step["changes"]["members"]["old"] == ["top/data", "top/again"]
    assert tree(world.app) == UNPACKED
    (world.app / "top/bin/run").unlink()
    (world.app / "top/sbin").unlink()
    step = world("plan")
    assert step["changes"]["members"]["old"] == ["top/bin/run", "top/sbin"]
    assert world()["result"] == "changed"
    assert tree(world.app) == UNPACKED
    assert world(restore="changed")["result"] == "ok"


def test_creates_is_all_that_counts(world):
    archive = make_tar(*SIMPLE)
    assert world(archive=archive, creates="/opt/app/top/bin/run")["result"] == "changed"
    assert world(archive=b"broken", creates="/opt/app/top/bin/run")["result"] == "ok"
    (world.app / "top/bin/run").unlink()
    assert world(archive=archive, creates="/opt/app/top/bin/run")["result"] == "changed"
    assert tree(world.app) == UNPACKED


def test_everything_belongs_to_the_owner(world):
    (world.root / "etc/passwd").open("a").write("app:x:1234:4321::/:/bin/sh\n")
    (world.root / "etc/group").open("a").write("app:x:4321:\n")
    world(archive=make_tar(*SIMPLE, ("implied/x", b"")), owner="app", group="app")
    owners = {(p.lstat().st_uid, p.lstat().st_gid) for p in world.app.rglob("[!.]*")}
    assert owners == {(1234, 4321)}
    assert world.app.stat().st_uid == 1234
    os.chown(world.app / "top/data", 0, 0)
    assert world(owner="app", group="app")["result"] == "changed"
    assert world(owner="app", group="app")["result"] == "ok"


def test_modes_are_preserved_except_set_id_bits(world):
    world(archive=make_tar(("s", b"", {"mode": 0o6755}), ("closed", None, {"mode": 0o500}),
                           ("closed/in", b"", {"mode": 0o400})))  # fmt: skip
    assert stat.S_IMODE((world.app / "s").stat().st_mode) == 0o755
    assert stat.S_IMODE((world.app / "closed").stat().st_mode) == 0o500
    assert stat.S_IMODE((world.app / "closed/in").stat().st_mode) == 0o400


def test_later_members_replace_earlier_ones(world):
    world(archive=make_tar(("a", b"old"), ("l", b"file"), ("a", b"new"), link("l", "a")))
    assert tree(world.app) == {"a": b"new", "l": "-> a"}
    assert world()["result"] == "ok"


def sparse():
    data = bytearray(make_tar(("a", b"x" * 512), format=tarfile.GNU_FORMAT))
    data[156] = ord("S")
    data[148:156] = b" " * 8
    data[148:155] = b"%06o\0" % sum(data[:512])
    return bytes(data)


HOSTILE = {
    "an absolute name": ([("/etc/passwd", b"x")], "the name is absolute"),
    "a name that climbs": ([("a/../../../outside", b"x")], "is outside the directory"),
    "dots alone": ([("..", None)], "is outside the directory"),
    "an absolute link": ([link("l", "/etc/passwd")], "is a link to"),
    "a link that climbs": ([link("a/l", "../../x")], "is a link to"),
    "a link that climbs later": ([link("l", "a/../../x")], "is a link to"),
    "a name through a link": ([link("l", "d"), ("d", None), ("l/x", b"x")], "is not a directory"),
    "a name through a file": ([("f", b"x"), ("f/x", b"x")], "is not a directory"),
    "a directory over a link": ([link("l", "d"), ("l", None)], "once as a directory"),
    "a hard link to outside": ([link("h", "../../outside", tarfile.LNKTYPE)], "is outside the directory"),
    "a hard link to an absolute name": ([link("h", "/a", tarfile.LNKTYPE)], "is absolute"),
    "a hard link to a link": ([link("l", "x"), link("h", "l", tarfile.LNKTYPE)], "to a file that does not precede it"),
    "a hard link to nothing": ([link("h", "x", tarfile.LNKTYPE)], "to a file that does not precede it"),
    "a device": ([("d", "", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5})], "type '3'"),
    "a pipe": ([("p", "", {"type": tarfile.FIFOTYPE})], "type '6'"),
    "a file over a directory": ([("d", None), ("d", b"x")], "once as a directory"),
    "a name that is too deep": ([("/".join("d" * 70), b"x")], "too long"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("there", [False, True])
def test_hostile_tar_leaves_nothing(world, what, there):
    members, output = HOSTILE[what]
    if there:
        world.app.mkdir(parents=True)
    step = world(archive=make_tar(("before", b"fine"), *members))
    assert step["result"] == "failed"
    assert output in step["error"]["message"], step["error"]
    assert (tree(world.app) == {}) if there else (not world.app.exists())


def test_existing_link_is_not_followed(world):
    """Neither a file in the directory, nor the directory itself."""
    world.app.mkdir(parents=True)
    (world.root / "elsewhere").mkdir()
    os.symlink("/elsewhere", world.app / "d")
    step = world(archive=make_tar(("d/x", b"x")))
    assert step["result"] == "failed" and os.listdir(world.root / "elsewhere") == []
    os.unlink(world.app / "d")
    world.app.rmdir()
    os.symlink("/elsewhere", world.app)
    step = world()
    assert "is a link, not a directory" in step["error"]["message"]
    assert os.listdir(world.root / "elsewhere") == []


def zip_of(*members, **fields):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for key, value in fields.items():
                setattr(info, key, value)
            archive.writestr(info, content)
    return bytearray(out.getvalue())


def test_hostile_zip_leaves_nothing(world):
    crc = zip_of(("a", "x" * 100))
    crc[14] ^= 1
    crc[crc.rindex(b"PK\x01\x02") + 16] ^= 1
    smaller = zip_of(("a", "x" * 100))
    smaller[smaller.rindex(b"PK\x01\x02") + 24] -= 50
    encrypted = zip_of(("a", "x"))
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    method = zip_of(("a", "x"))
    method[method.rindex(b"PK\x01\x02") + 10] = 12
    count = zip_of(("a", "x"))
    count[-14:-10] = b"\xff\x7f\xff\x7f"
    cases = {
        "its checksum differs": crc,
        "larger than its directory entry": smaller,
        "encrypted": encrypted,
        "method 12": method,
        "it is truncated": count,
        "its directory is missing": zip_of(("a", "x"))[:-1],
        "the name is absolute": zip_of(("/a", "x")),
        "is outside the directory": zip_of(("../a", "x")),
        "is a link to": zip_of(("l", "/etc"), external_attr=0o120777 << 16, create_system=3),
        "is not a file, directory or link": zip_of(("d", ""), external_attr=0o020666 << 16, create_system=3),
    }  # fmt: skip
    for output, archive in cases.items():
        step = world(archive=bytes(archive))
        assert step["result"] == "failed" and output in step["error"]["message"], (output, step)
        assert not world.app.exists()


def test_bombs_hit_the_limits(world):
    bomb = gzip.compress(make_tar(("zeros", b"\0" * 50_000_000)))
    assert len(bomb) < 60_000
    assert "'max_size'" in world(archive=bomb, max_size=1_000_000)["error"]["message"]
    zipped = bytes(zip_of(("zeros", b"\0" * 50_000_000)))
    assert "'max_size'" in world(archive=zipped, max_size=1_000_000)["error"]["message"]
    # Data after the end of a tar archive is not read, but it is decompressed.
    tail = gzip.compress(make_tar(("a", b"x")) + b"\0" * 50_000_000)
    assert "'max_size'" in world(archive=tail, max_size=1_000_000)["error"]["message"]
    many = make_tar(*[(f"f{i}", b"") for i in range(101)])
    assert "more than 100 members" in world(archive=many, max_members=100)["error"]["message"]
    assert not world.app.exists()


def test_damaged_archives_leave_nothing(world):
    whole = make_tar(*SIMPLE)
    cases = {
        "neither a zip nor a tar": b"hello",
        "neither a zip": b"",
        "it is truncated": whole[:1600],
        "a header is damaged": whole[:512] + b"x" * 512,
        "the archive is truncated": gzip.compress(whole)[:-6],
        "damaged (gzip": gzip.compress(whole)[:-8] + b"\0" * 8,
        "not a tar archive: no header at its start": gzip.compress(b"x" * 1000),
        "not a tar archive: it is empty": gzip.compress(b""),
        "type 'S'": sparse(),
        "is not UTF-8": make_tar(("n\udcff", b""), format=tarfile.GNU_FORMAT),
    }
    for output, archive in cases.items():
        step = world(archive=archive)
        assert step["result"] == "failed" and output in step["error"]["message"], (output, step)
        assert not world.app.exists()


def test_concatenated_compressed_files_are_one_text(world):
    whole = make_tar(*SIMPLE)
    packed = gzip.compress(whole[:700]) + gzip.compress(whole[700:]) + b"\0" * 100
    assert world(archive=packed)["result"] == "changed"
    assert tree(world.app) == UNPACKED


def test_archive_of_the_site(eden, tmp_path):
    root = tmp_path / "root"
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/files").mkdir()
    root.mkdir()
    (tmp_path / "site/files/app.tgz").write_bytes(make_tar(*SIMPLE, mode="w:gz"))
    (tmp_path / "site/jobs/base.yaml").write_text("jobs:\n  '*':\n    - name: app\n")
    (tmp_path / "site/jobs/app.yaml").write_text(
        "steps:\n- name: it\n  archive.extracted: {name: /opt/app, site_file: app.tgz}\n"
    )
    for expected in ("changed", "ok"):
        done = eden("apply", "site", "--root", root, "--state-dir", tmp_path / "state",
                    "--config-dir", tmp_path / "config", "-o", "json")  # fmt: skip
        assert json.loads(done.stdout)["steps"][0]["result"] == expected, done.stdout
    assert tree(root / "opt/app") == UNPACKED


def test_two_archives_of_the_site_share_a_directory(eden, tmp_path):
    root = tmp_path / "root"
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/files").mkdir()
    root.mkdir()
    for name in ("one", "two"):
        (tmp_path / "site/files" / name).write_bytes(make_tar((name, name.encode())))
    (tmp_path / "site/jobs/base.yaml").write_text("jobs:\n  '*':\n    - name: app\n")
    (tmp_path / "site/jobs/app.yaml").write_text(
        "steps:\n- name: a\n  archive.extracted: {name: /opt/app, site_file: one}\n"
        "- name: b\n  archive.extracted: {name: /opt/app, site_file: two}\n"
    )
    for expected in ("changed", "ok"):
        done = eden("apply", "site", "--root", root, "--state-dir", tmp_path / "state",
                    "--config-dir", tmp_path / "config", "-o", "json")  # fmt: skip
        assert [step["result"] for step in json.loads(done.stdout)["steps"]] == [expected] * 2


def test_missing_archive_fails_plan_and_apply(world):
    assert "no file '/a' on the machine" in world("plan")["error"]["message"]
    assert "no file '/a'" in world()["error"]["message"]
