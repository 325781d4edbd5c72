"""Archives, packed by the programs of the container."""

from lab.contract import Case

MAKE = ("mkdir -p /srv/in/top/bin && echo run > /srv/in/top/bin/app && "
        "chmod 750 /srv/in/top/bin/app && ln -s bin/app /srv/in/top/link && cd /srv/in && ")  # fmt: skip
DONE = ("test $(stat -c %a%U /opt/app/bin/app) = 750www-data && test $(cat /opt/app/link) = run")  # fmt: skip
PACKED = {
    "gzip": "tar -czf /srv/a top",
    "xz": "tar -cJf /srv/a top",
    "zstd": "tar --zstd -cf /srv/a top",
    "bzip2": "tar -cjf /srv/a top",
    "zip": "zip -qry /srv/a.zip top && mv /srv/a.zip /srv/a",
}

CASES = [
    Case("archive.extracted", {"name": "/opt/app", "source": "/srv/a", "strip": 1,
                               "owner": "www-data", "group": "www-data"}, name=name,
         release=("bookworm", "trixie"), before=MAKE + pack, after=DONE)
    for name, pack in PACKED.items()
]  # fmt: skip
