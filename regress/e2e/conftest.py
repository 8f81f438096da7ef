# SPDX-License-Identifier: ISC
"""Fixtures of the tests of whole programs that several files use."""

import pytest

from sshwire import load_key


@pytest.fixture
def key(keys):
    """The user's key, for clients that speak the protocol themselves."""
    return load_key(keys.path("ed25519"))
