"""The package cryptography: loaded by the sources that need it alone, and missed in time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LOADED = "assert not [name for name in sys.modules if name.partition('.')[0] == 'cryptography'], 'it is loaded'"
CHECK = """
import sys
from tidemill import Refused, Request, senders
sources = [preset() for preset in senders.PRESETS]
needing = {"discord", "sendgrid", "sns", "paypal"}
for source in sources:
    if source.name not in needing:
        assert isinstance(source.check(Request("POST", "", [], b"{}"), {}, 0), Refused)
"""
DISCORD = """
headers = [("X-Signature-Ed25519", "00" * 64), ("X-Signature-Timestamp", "1")]
verdict = senders.discord().check(Request("POST", "", headers, b"{}"), {"DISCORD_PUBLIC_KEY": "00" * 32}, 0)
assert verdict == Refused("the signature in X-Signature-Ed25519 does not match"), verdict
assert "cryptography" in sys.modules
"""
# As where it is not installed.
HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cryptography":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "cryptography" else real(name, package)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT / "layers/tidemill/python")}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_it_is_loaded_by_a_source_that_needs_it_and_by_no_other() -> None:
    done = run(f"{CHECK}\n{LOADED}\n{DISCORD}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("preset", ["discord", "sendgrid", "sns", "paypal"])
def test_without_it_a_source_that_needs_it_says_at_load_what_to_add(preset: str) -> None:
    done = run(f"{HIDDEN}\nfrom tidemill import senders\nsenders.github()\nsenders.{preset}()")
    assert done.returncode == 1
    assert "ConfigurationError" in done.stderr
    assert "needs the package cryptography" in done.stderr
    assert "layers/dependencies/requirements.in" in done.stderr
