"""The software bill of materials: SPDX 2.3, and accurate."""

import datetime
import hashlib
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import zlib

import pytest

from conftest import BUILD, ROOT, tool

REQUIRED = {"SPDXID", "name", "versionInfo", "supplier", "downloadLocation", "filesAnalyzed",
            "licenseConcluded", "licenseDeclared", "copyrightText"}  # fmt: skip
# From the SPDX license list, as far as libraries that we link use them.
KNOWN_LICENSES = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "GPL-3.0-or-later", "LGPL-2.1-or-later",
                  "MIT", "MPL-2.0", "Zlib", "blessing"}  # fmt: skip
KNOWN_EXCEPTIONS = {"GCC-exception-3.1"}
RELATIONS = {"DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK", "CONTAINS", "OPTIONAL_DEPENDENCY_OF"}


@pytest.fixture(scope="module")
def unpacked(deb, tmp_path_factory):
    place = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["dpkg-deb", "-x", deb, place], check=True)
    return place


@pytest.fixture(scope="module")
def sbom(unpacked):
    return json.loads((unpacked / "usr/share/doc/eden/eden.spdx.json").read_text())


@pytest.fixture(scope="module")
def static_sbom(static_link):
    """For the portable program, made by its build tool."""
    loader = importlib.machinery.SourceFileLoader("make_sbom", str(ROOT / "tools/make-sbom"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_sbom", loader))
    loader.exec_module(tool)
    command, place = static_link
    return tool.document(BUILD, "0.1.0", place / "eden", command)


def test_it_has_the_fields_spdx_requires(sbom):
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["dataLicense"] == "CC0-1.0"
    assert sbom["SPDXID"] == "SPDXRef-DOCUMENT" and sbom["name"]
    assert re.fullmatch(r"[a-z]+:[^#\s]+", sbom["documentNamespace"])
    datetime.datetime.strptime(sbom["creationInfo"]["created"], "%Y-%m-%dT%H:%M:%SZ")
    for creator in sbom["creationInfo"]["creators"]:
        assert re.match(r"(Tool|Organization|Person): \S", creator)
    for package in sbom["packages"]:
        assert REQUIRED <= set(package), package["name"]
        assert re.match(r"(Organization|Person): \S", package["supplier"])
        for choice in package["licenseDeclared"].split(" OR "):
            license, _, exception = choice.partition(" WITH ")
            assert license in KNOWN_LICENSES
            assert not exception or exception in KNOWN_EXCEPTIONS


def test_names_are_unique_and_relations_refer_to_them(sbom):
    ids = [sbom["SPDXID"], *(package["SPDXID"] for package in sbom["packages"])]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in ids)
    met = set()
    for relation in sbom["relationships"]:
        ends = {relation["spdxElementId"], relation["relatedSpdxElement"]}
        assert ends <= set(ids) and relation["relationshipType"] in RELATIONS
        met |= ends
    assert met == set(ids), "what belongs to nothing"
    assert sbom["documentDescribes"] == ["SPDXRef-eden"]


def test_it_describes_the_shipped_program(sbom, unpacked, deb):
    eden = next(package for package in sbom["packages"] if package["name"] == "eden")
    program = unpacked / "usr/bin/eden"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    assert eden["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}]
    version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True)
    assert eden["versionInfo"] == version.stdout.strip()


def installed_versions(paths):
    """The packages that own files, with their versions. dpkg may know a file by its path before the
    merge into /usr."""
    places = [place for path in paths for place in (path, f"/usr{path}", path.removeprefix("/usr"))]
    found = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True).stdout
    names = sorted({line.split(":")[0] for line in found.splitlines()})
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names],
                           capture_output=True, text=True).stdout  # fmt: skip
    return dict(line.split() for line in shown.splitlines() if line.split()[0] in names)


def related_to_eden(sbom, kind):
    versions = {package["SPDXID"]: (package["name"], package["versionInfo"])
                for package in sbom["packages"]}  # fmt: skip
    return dict(versions[each["relatedSpdxElement"]] for each in sbom["relationships"]
                if each["spdxElementId"] == "SPDXRef-eden" and each["relationshipType"] == kind)  # fmt: skip


def test_it_lists_every_library_with_the_installed_version(sbom, unpacked):
    needed = subprocess.run(["ldd", unpacked / "usr/bin/eden"], capture_output=True, text=True).stdout
    listed = {package["name"]: package["versionInfo"] for package in sbom["packages"]}
    paths = re.findall(r"=> (/\S+)", needed)
    there = installed_versions(paths)
    assert len(there) > 5
    assert {name: listed.get(name) for name in there} == there


def test_it_lists_exactly_what_is_in_the_portable_program(static_sbom, static_link):
    _, place = static_link
    placed = (place / "map").read_text().partition("Linker script and memory map")[2]
    # Everything with an address and a size in the program.
    files = {path for address, size, path in re.findall(
                 r"\s0x([0-9a-f]+)\s+0x([0-9a-f]+) (/[^()\s]+\.[ao])\b", placed)
             if int(address, 16) and int(size, 16)}  # fmt: skip
    there = installed_versions([str(pathlib.Path(path).resolve()) for path in files])
    assert len(there) > 8
    assert related_to_eden(static_sbom, "STATIC_LINK") == there
    assert related_to_eden(static_sbom, "DYNAMIC_LINK") == {}
    # Libraries that contain their version confirm it.
    program = (place / "eden").read_bytes()
    for name, words in (("libc6-dev", rb"GNU C Library \(Debian GLIBC ([^)]+)\)"),
                        ("zlib1g-dev", rb" inflate (\d+\.\d+\.\d+) Copyright")):  # fmt: skip
        [version] = set(re.findall(words, program))
        assert re.fullmatch(rf"(\d+:)?{re.escape(version.decode())}(\D.*)?", there[name]), name


def packed_texts(program):
    """gzip streams embedded in a program."""
    for found in re.finditer(rb"\x1f\x8b\x08", program):
        try:
            yield zlib.decompressobj(wbits=31).decompress(program[found.start() :])
        except zlib.error:
            continue


def test_it_lists_the_embedded_pages(sbom, unpacked):
    wanted = json.loads((ROOT / "src/ui/swagger-ui.json").read_text())
    assert related_to_eden(sbom, "CONTAINS") == {wanted["name"]: wanted["version"]}
    texts = list(packed_texts((unpacked / "usr/bin/eden").read_bytes()))
    inside = dict.fromkeys(re.findall(rb'PACKAGE_VERSION:"([^"]+)"', b"\n".join(texts)))
    assert [version.decode() for version in inside] == [wanted["version"]]
    # Everything in the sources of those that contains their version.
    output = {name.decode().lower(): version.decode()
              for name, version in re.findall(rb"@license (\w+) ([\d.]+\d)", b"\n".join(texts))}  # fmt: skip
    assert "dompurify" in output
    listed = {package["name"]: package["versionInfo"] for package in sbom["packages"]}
    assert {name: listed.get(name) for name in output} == output


def test_the_same_program_gives_the_same_sbom(deb, tmp_path):
    again = tool("make-deb", BUILD, tmp_path)
    assert again.read_bytes() == deb.read_bytes()


def test_the_changelog_begins_with_this_version(deb, unpacked):
    version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True)
    changelog = subprocess.run(["zcat", unpacked / "usr/share/doc/eden/changelog.gz"],
                               capture_output=True, text=True)  # fmt: skip
    assert changelog.stdout.startswith(f"eden ({version.stdout.strip()}) ")
    assert "Built as" not in changelog.stdout
