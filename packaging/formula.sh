#!/bin/sh
# Prints the Homebrew formula of a release: the version and the checksums come from its SHA256SUMS.
# Usage: packaging/formula.sh URL HOMEPAGE > threadkeep.rb     URL is the folder that has the archives
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=packaging/common.sh
. packaging/common.sh

[ $# -eq 2 ] || die "usage: packaging/formula.sh URL HOMEPAGE"
url=${1%/}
sums=$packages/SHA256SUMS
[ -f "$sums" ] || die "missing: $sums"

sed "s|@VERSION@|$version|g; s|@URL@|$url|g; s|@HOMEPAGE@|$2|g" packaging/threadkeep.rb.in >"$scratch/formula"
for target in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
  sum=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]threadkeep-$version-$target\.tar\.gz\$/\1/p" "$sums")
  [ -n "$sum" ] || die "$sums has no checksum of threadkeep-$version-$target.tar.gz"
  sed "s/@SHA256 $target@/$sum/" "$scratch/formula" >"$scratch/filled"
  mv "$scratch/filled" "$scratch/formula"
done
cat "$scratch/formula"
