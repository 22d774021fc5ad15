#!/usr/bin/env python3
"""Makes wheels from the archives in target/packages: each has the binary for one platform, as a script of the environment."""

import base64
import hashlib
import os
import re
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A static binary runs with any C library, so its wheel is for both kinds of Linux.
PLATFORMS = {
    "x86_64-unknown-linux-musl": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "aarch64-unknown-linux-musl": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "x86_64-apple-darwin": "macosx_10_12_x86_64",
    "aarch64-apple-darwin": "macosx_11_0_arm64",
}


def wheel(version: str, tags: str, binary: bytes, path: Path) -> None:
    info = f"threadkeep-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: threadkeep\nVersion: {version}\nSummary: A thread engine for AI agents: the binary\n"
        "License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n"
        "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    )
    files = {
        f"threadkeep-{version}.data/scripts/threadkeep": binary,
        f"{info}/METADATA": metadata.encode() + (ROOT / "packaging/pypi/README.md").read_bytes(),
        f"{info}/WHEEL": "".join(
            ["Wheel-Version: 1.0\nGenerator: threadkeep\nRoot-Is-Purelib: false\n"]
            + [f"Tag: py3-none-{tag}\n" for tag in tags.split(".")]
        ).encode(),
        f"{info}/licenses/LICENSE-MIT": (ROOT / "LICENSE-MIT").read_bytes(),
        f"{info}/licenses/LICENSE-APACHE": (ROOT / "LICENSE-APACHE").read_bytes(),
    }
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    # The same commit gives the same wheel. Times in a zip begin with 1980.
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    unfinished = path.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, content)
    unfinished.rename(path)


def main() -> None:
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    packages = Path(os.environ.get("THREADKEEP_PACKAGES", Path(target) / "packages"))
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    made = 0
    for target, tags in PLATFORMS.items():
        name = f"threadkeep-{version}-{target}"
        archive = packages / f"{name}.tar.gz"
        if not archive.exists():
            print(f"build.py: skipped the wheel for {target}: there is no archive")
            continue
        with tarfile.open(archive) as contents:
            binary = contents.extractfile(f"{name}/threadkeep").read()
        (packages / "pypi").mkdir(exist_ok=True)
        path = packages / "pypi" / f"threadkeep-{version}-py3-none-{tags}.whl"
        wheel(version, tags, binary, path)
        print(f"build.py: made {path} ({path.stat().st_size} bytes)")
        made += 1
    if not made:
        sys.exit(f"build.py: no archives of version {version} in {packages} (run packaging/binary.sh first)")


if __name__ == "__main__":
    main()
