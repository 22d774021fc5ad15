#!/bin/sh
# Writes target/packages/SHA256SUMS: the checksum of every archive and Debian package there.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=packaging/common.sh
. packaging/common.sh

[ -d "$packages" ] || die "missing: $packages (run packaging/binary.sh first)"
cd "$packages"
: >SHA256SUMS.new
for file in threadkeep-*.tar.gz threadkeep_*.deb; do
  [ -f "$file" ] || continue
  if command -v sha256sum >/dev/null; then
    sha256sum "$file" >>SHA256SUMS.new
  else
    shasum -a 256 "$file" >>SHA256SUMS.new
  fi
done
mv SHA256SUMS.new SHA256SUMS
say "wrote SHA256SUMS ($(wc -l <SHA256SUMS | tr -d ' ') files)"
