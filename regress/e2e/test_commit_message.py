# SPDX-License-Identifier: ISC
"""What build-aux/commit-message.sh, a hook of git, takes and refuses."""

import pytest

from harness import TOP, run

GOOD = "base: what it does"
BODY = "The problem, the reason, how it was checked."


@pytest.mark.parametrize("text,wrong", [
    (f"{GOOD}\n\n{BODY}\n", None),
    (f"{GOOD}\n\n# a comment\n{BODY}\n\nSigned-off-by: A <a@b>\n", None),
    (f"client, server: {'x' * 56}\n\n{BODY}\n", None),
    (f"base: {'ö' * 66}\n\n{BODY}\n", None),
    ("Merge branch 'x'\n", None),
    (f"base: {'x' * 67}\n\n{BODY}\n", "73 columns"),
    (f"base: {'ö' * 67}\n\n{BODY}\n", "73 columns"),
    (f"what it does\n\n{BODY}\n", "area: what it does"),
    (f"base:\n\n{BODY}\n", "area: what it does"),
    (f"{GOOD}\n{BODY}\n{BODY}\n", "second line"),
    (f"{GOOD}\n", "no body"),
    (f"{GOOD}\n\n# {BODY}\n", "no body"),
    (f"{GOOD}\n\nSigned-off-by: A <a@b>\n", "no body"),
    (f"{GOOD}\n\n# ------------------------ >8 ------------------------\n"
     f"+{BODY}\n", "no body"),
    ("", "no body"),
])
def test_message(tmp_path, text, wrong):
    (tmp_path / "m").write_text(text)
    done = run(["sh", TOP / "build-aux/commit-message.sh", tmp_path / "m"])
    assert (done.rc == 0) == (wrong is None), done
    assert (wrong or "") in done.errors
    assert wrong or not done.errors
