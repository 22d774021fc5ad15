#!/bin/sh
# Installs threadkeep for the current user, without root: downloads the archive for this platform, compares its SHA-256
# checksum, and puts the binary into ~/.local/bin.
#
# Usage: install.sh [--from URL] [--to DIR]
#   --from URL   the folder that has SHA256SUMS and the archives (or THREADKEEP_FROM)
#   --to DIR     the folder for the binary (or THREADKEEP_TO) [default: ~/.local/bin]
set -eu

# A release sets its own address here.
default_from=

say() { echo "threadkeep: $*"; }
die() {
  echo "threadkeep: $*" >&2
  exit 1
}

main() {
  from=${THREADKEEP_FROM:-$default_from}
  to=${THREADKEEP_TO:-}
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --to)
        [ $# -ge 2 ] || die "$1 needs a value"
        if [ "$1" = --from ]; then from=$2; else to=$2; fi
        shift 2
        ;;
      -h | --help)
        echo "Usage: install.sh [--from URL] [--to DIR]"
        echo "Installs threadkeep for the current user: by default into ~/.local/bin."
        exit 0
        ;;
      *) die "unknown argument: $1 (usage: install.sh [--from URL] [--to DIR])" ;;
    esac
  done
  [ -n "$from" ] || die "no address to install from: name one with --from URL"
  [ -n "$to" ] || to=${HOME:?HOME is not set: name a folder with --to DIR}/.local/bin
  from=${from%/}
  target=$(platform)

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  download "$from/SHA256SUMS" "$work/SHA256SUMS"
  # Lines of `sha256sum`: the checksum, two characters, the name. The name has the version.
  line=$(grep -E "^[0-9a-f]{64} [ *]threadkeep-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz\$" "$work/SHA256SUMS" || true)
  [ -n "$line" ] || die "$from has no build for $target"
  [ "$(echo "$line" | wc -l)" -eq 1 ] || die "$from has several versions for $target: name the folder of one"
  expected=${line%% *}
  archive=${line#*[ *]}
  archive=${archive#[ *]}

  say "downloading $from/$archive"
  download "$from/$archive" "$work/$archive"
  found=$(sha256 "$work/$archive")
  [ "$found" = "$expected" ] ||
    die "the checksum of $archive is wrong: $found instead of $expected. Nothing was installed."
  tar -xzf "$work/$archive" -C "$work" || die "$archive cannot be unpacked. Nothing was installed."
  binary=$work/${archive%.tar.gz}/threadkeep
  [ -f "$binary" ] || die "$archive has no binary. Nothing was installed."
  chmod 0755 "$binary"
  said=$("$binary" --version) || die "the binary does not run on this machine. Nothing was installed."

  mkdir -p "$to" || die "cannot make the folder $to: name another one with --to DIR"
  # A running threadkeep keeps its old file: the name changes over in one step.
  cp "$binary" "$to/.threadkeep.new" || die "cannot write to $to: name another folder with --to DIR"
  mv -f "$to/.threadkeep.new" "$to/threadkeep"
  say "installed $said to $to/threadkeep"
  case ":${PATH:-}:" in
    *":$to:"*) say "try: threadkeep new \"My first thread\" --message \"Hello!\"" ;;
    *) say "$to is not on your PATH; add it in the profile of your shell: export PATH=\"$to:\$PATH\"" ;;
  esac
}

platform() {
  case "$(uname -s) $(uname -m)" in
    'Linux x86_64' | 'Linux amd64') echo x86_64-unknown-linux-musl ;;
    'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-musl ;;
    'Darwin x86_64') echo x86_64-apple-darwin ;;
    'Darwin arm64') echo aarch64-apple-darwin ;;
    *) die "there is no build for $(uname -s) on $(uname -m); build it from source with cargo" ;;
  esac
}

# download URL FILE
download() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" "$1" || die "cannot download $1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1" || die "cannot download $1"
  else
    die "missing: curl or wget"
  fi
}

sha256() {
  if command -v sha256sum >/dev/null; then
    sum=$(sha256sum "$1")
  elif command -v shasum >/dev/null; then
    sum=$(shasum -a 256 "$1")
  else
    die "missing: sha256sum or shasum"
  fi
  echo "${sum%% *}"
}

# The whole script is read before anything is done, so a download of it that breaks off does nothing.
main "$@"
