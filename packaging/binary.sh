#!/bin/sh
# Builds threadkeep for this machine and packs it with its manual pages and completions:
# target/packages/threadkeep-VERSION-TARGET.tar.gz. On Linux the binary is static and runs on any distribution.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=packaging/common.sh
. packaging/common.sh
# The aim for the size of the binary.
BYTES_AIM=30000000

need cargo 'rustup, from another place than Debian'
target=$(this_target)
# Optimisation across all crates makes the binary smaller. Cargo forgets to strip a package with a profile of its own.
set -- -C lto=fat -C strip=symbols
case $target in
  *-musl)
    # C dependencies (SQLite, ring) are compiled against musl, too.
    need musl-gcc musl-tools
    need readelf binutils
    export "CC_$(echo "$target" | tr - _)=${MUSL_CC:-musl-gcc}"
    # Addresses in one bit each: 1 MB less.
    set -- "$@" -C link-arg=-Wl,-z,pack-relative-relocs
    ;;
esac
libraries=$(rustc --print target-libdir --target "$target")
if [ ! -d "$libraries" ]; then
  need rustup rustup
  say "adding the Rust target $target"
  rustup target add "$target"
fi

say "building threadkeep $version for $target (profile dist)"
cargo rustc --locked --profile dist --target "$target" -p threadkeep-cli --bin threadkeep -- "$@"
binary=$cargo_target/$target/dist/threadkeep

bytes=$(wc -c <"$binary" | tr -d ' ')
[ "$bytes" -le "$BYTES_AIM" ] || say "$binary has $bytes bytes; the aim is $BYTES_AIM"
case $target in
  *-musl)
    if readelf -d "$binary" | grep -q NEEDED; then die "$binary needs shared libraries"; fi
    ;;
esac
[ "$("$binary" --version)" = "threadkeep $version" ] || die "$binary does not say that it is version $version"

name=threadkeep-$version-$target
inside=$scratch/$name
mkdir -p "$inside/completions"
cp "$binary" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$inside/"
"$binary" man --to "$inside/man" >/dev/null
"$binary" completions bash >"$inside/completions/threadkeep.bash"
"$binary" completions zsh >"$inside/completions/_threadkeep"
"$binary" completions fish >"$inside/completions/threadkeep.fish"
mkdir -p "$packages"
pack "$scratch" "$name" "$packages/$name.tar.gz"
say "made $packages/$name.tar.gz (binary: $bytes bytes)"
packaging/checksums.sh
