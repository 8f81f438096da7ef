#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""sbom.py BUILD-DIRECTORY: a bill of materials (SPDX 2.3, JSON) of the build
that was configured there: this suite, and each library that it links or loads,
with the version that pkg-config knows and, on Debian and its kin, the package
that it came from; or, where the build has a file `materials`, what this says:
lines of NAME VERSION LICENCE PURL. The same commit and machine give the same bytes."""
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

# A word of config.h that says it is used (None: always), its name, licence, the
# names that pkg-config has for it, and a header for dpkg to find the package by.
LIBRARIES = (
    (None, "openssl", "Apache-2.0", ("libcrypto",), "openssl/crypto.h"),
    (None, "zlib", "Zlib", ("zlib",), "zlib.h"),
    ("HAVE_SECCOMP", "libseccomp", "LGPL-2.1-only", ("libseccomp",),
     "seccomp.h"),
    ("HAVE_IPSEC_MB", "ipsec-mb", "BSD-3-Clause", (), "intel-ipsec-mb.h"),
    ("HAVE_LIBEDIT", "libedit", "BSD-3-Clause", ("libedit",), "histedit.h"),
    ("HAVE_LIBFIDO2", "libfido2", "BSD-2-Clause", ("libfido2",), "fido.h"),
    ("HAVE_PKCS11", "p11-kit", "BSD-3-Clause", ("p11-kit-1",),
     "p11-kit-1/p11-kit/pkcs11.h"),
    ("HAVE_PAM", "linux-pam", "BSD-3-Clause", ("pam",),
     "security/pam_appl.h"),
    ("HAVE_GSSAPI", "krb5", "MIT", ("krb5-gssapi", "mit-krb5-gssapi"),
     "gssapi/gssapi_krb5.h"),
    ("HAVE_LIBUNBOUND", "unbound", "BSD-3-Clause", ("libunbound",),
     "unbound.h"),
)
OURS = "SPDXRef-Package-hpn-ssh"


def answer(*command):
    """What a program says, or None where it is missing or fails."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def debian_package(header):
    """(distribution, name, version, architecture) of the package that has the
    header."""
    triplet = answer("gcc", "-print-multiarch") or ""
    for path in (f"/usr/include/{triplet}/{header}", f"/usr/include/{header}"):
        owner = os.path.exists(path) and answer("dpkg-query", "-S", path)
        if owner:
            name = owner.split(": ")[0].split(",")[0].split(":")[0]
            shown = answer("dpkg-query", "-W", "-f",
                           "${Version} ${Architecture}\n", name)
            system = platform.freedesktop_os_release()["ID"]
            return (system, name, *shown.splitlines()[0].split())
    return None


def entry(name, version, licence, purl):
    found = {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if purl:
        found["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": purl,
        }]
    return found


def library(name, licence, modules, header):
    version = next((v for v in (answer("pkg-config", "--modversion", m)
                                for m in modules) if v), None)
    package = debian_package(header)
    return entry(
        name, version or (package[2] if package else "NOASSERTION"), licence,
        package and "pkg:deb/{}/{}@{}?arch={}".format(
            *package[:2], package[2].replace(":", "%3A").replace("+", "%2B"),
            package[3]))


def libraries(build, used):
    if os.path.exists(os.path.join(build, "materials")):
        return [entry(name, version, licence, purl)
                for name, version, licence, purl in
                map(str.split, read(build, "materials").splitlines())]
    return [library(*row) for word, *row in LIBRARIES
            if word is None or word in used]


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def document(build):
    config = read(build, "include", "config.h")
    used = set(re.findall(r"^#define (\w+) ", config, re.M))
    version = re.search(r'^#define VERSION "(.*)"', config, re.M).group(1)
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    stamp = (os.environ.get("SOURCE_DATE_EPOCH") or
             answer("git", "-C", top, "log", "-1", "--format=%ct") or
             str(int(time.time())))
    packages = [{
        "SPDXID": OURS,
        "name": "hpn-ssh",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "ISC",
        "licenseDeclared": "ISC",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }] + libraries(build, used)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", OURS)] + [
        (OURS, "DEPENDS_ON", p["SPDXID"]) for p in packages[1:]]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"hpn-ssh-{version}",
        "documentNamespace":
            f"https://hpn-ssh.invalid/spdx/{version}-{digest[:32]}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                     time.gmtime(int(stamp))),
            "creators": ["Tool: hpn-ssh-sbom.py"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind,
             "relatedSpdxElement": b} for a, kind, b in relations],
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        made = document(sys.argv[1])
    except OSError as e:
        sys.exit(f"sbom.py: {sys.argv[1]} is no configured build: {e}")
    json.dump(made, sys.stdout, indent=2)
    print()


main()
