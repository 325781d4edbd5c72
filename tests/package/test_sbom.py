"""The list of what the program is made of: SPDX 2.3, and true."""

import datetime
import hashlib
import json
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, tool

REQUIRED = {"SPDXID", "name", "versionInfo", "supplier", "downloadLocation", "filesAnalyzed",
            "licenseConcluded", "licenseDeclared", "copyrightText"}  # fmt: skip
# Of the list of SPDX, as far as we link anything under them.
KNOWN_LICENSES = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "GPL-3.0-or-later", "LGPL-2.1-or-later",
                  "MIT", "Zlib", "blessing"}  # fmt: skip
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


def test_it_has_what_spdx_wants(sbom):
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["dataLicense"] == "CC0-1.0"
    assert sbom["SPDXID"] == "SPDXRef-DOCUMENT" and sbom["name"]
    assert re.fullmatch(r"[a-z]+:[^#\s]+", sbom["documentNamespace"])
    datetime.datetime.strptime(sbom["creationInfo"]["created"], "%Y-%m-%dT%H:%M:%SZ")
    for creator in sbom["creationInfo"]["creators"]:
        assert re.match(r"(Tool|Organization|Person): \S", creator)
    for package in sbom["packages"]:
        assert REQUIRED <= set(package), package["name"]
        assert re.match(r"(Organization|Person): \S", package["supplier"])
        license, _, exception = package["licenseDeclared"].partition(" WITH ")
        assert license in KNOWN_LICENSES
        assert not exception or exception in KNOWN_EXCEPTIONS


def test_names_are_unique_and_relations_lead_to_them(sbom):
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


def test_it_is_about_the_program_that_is_shipped(sbom, unpacked, deb):
    eden = next(package for package in sbom["packages"] if package["name"] == "eden")
    program = unpacked / "usr/bin/eden"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    assert eden["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}]
    version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True)
    assert eden["versionInfo"] == version.stdout.strip()


def test_it_lists_every_library_with_the_version_that_is_there(sbom, unpacked):
    needed = subprocess.run(["ldd", unpacked / "usr/bin/eden"], capture_output=True, text=True).stdout
    listed = {package["name"]: package["versionInfo"] for package in sbom["packages"]}
    paths = re.findall(r"=> (/\S+)", needed)
    # dpkg may know a file by its place from before all went below /usr.
    places = [place for path in paths for place in (path, f"/usr{path}", path.removeprefix("/usr"))]
    found = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True).stdout
    names = sorted({line.split(":")[0] for line in found.splitlines()})
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names],
                           capture_output=True, text=True).stdout  # fmt: skip
    there = dict(line.split() for line in shown.splitlines() if line.split()[0] in names)
    assert len(there) > 5
    assert {name: listed.get(name) for name in there} == there


def test_it_lists_the_page_that_is_inside(sbom):
    wanted = json.loads((ROOT / "src/ui/swagger-ui.json").read_text())
    [page] = [each for each in sbom["packages"] if each["name"] == wanted["name"]]
    assert page["versionInfo"] == wanted["version"]
    assert {"spdxElementId": "SPDXRef-eden", "relationshipType": "CONTAINS",
            "relatedSpdxElement": page["SPDXID"]} in sbom["relationships"]  # fmt: skip


def test_the_same_program_makes_the_same_package(deb, tmp_path):
    again = tool("make-deb", BUILD, tmp_path)
    assert again.read_bytes() == deb.read_bytes()


def test_the_changelog_begins_with_this_version(deb, unpacked):
    version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True)
    changelog = subprocess.run(["zcat", unpacked / "usr/share/doc/eden/changelog.gz"],
                               capture_output=True, text=True)  # fmt: skip
    assert changelog.stdout.startswith(f"eden ({version.stdout.strip()}) ")
    assert "Built as" not in changelog.stdout
