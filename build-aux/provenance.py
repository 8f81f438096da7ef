# SPDX-License-Identifier: ISC
"""provenance.py TAG COMMIT <SHA256SUMS: which commit the files were made from, by
what and where, as a statement of in-toto with a predicate of SLSA, version 1.
The workflow that it runs in says where that is; elsewhere it is "by hand"."""

import json
import os
import re
import sys

KIND = "https://hpn-ssh.invalid/build-aux/release.sh"


def subjects(lines):
    for line in lines:
        found = re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line.rstrip("\n"))
        if not found:
            sys.exit(f"provenance.py: no line of sha256sum: {line!r}")
        yield {"name": found[2], "digest": {"sha256": found[1]}}


def builder():
    env = os.environ
    if "GITHUB_RUN_ID" not in env:
        return {"id": "by hand"}, {}
    here = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}"
    return ({"id": f"{here}/.github/workflows/release.yml"},
            {"invocationId": f"{here}/actions/runs/{env['GITHUB_RUN_ID']}"})


def main(tag, commit):
    who, run = builder()
    json.dump({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": list(subjects(sys.stdin)),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": KIND,
                "externalParameters": {"tag": tag},
                "resolvedDependencies": [{
                    "name": "source", "digest": {"gitCommit": commit}}],
            },
            "runDetails": {"builder": who, "metadata": run},
        },
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
