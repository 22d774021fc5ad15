# Shared by the scripts in this folder, which source it from the root of the project.
# shellcheck shell=sh

say() { echo "$(basename "$0"): $*"; }
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}
# need PROGRAM PACKAGE: stops unless PROGRAM is installed; PACKAGE is its name in Debian.
need() { command -v "$1" >/dev/null || die "missing: $1 (Debian package: $2)"; }

cargo_target=${CARGO_TARGET_DIR:-target}
# All packages go here, whatever their kind.
packages=${THREADKEEP_PACKAGES:-$cargo_target/packages}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
[ -n "$version" ] || die "no version in Cargo.toml"
# Files in packages get the time of the commit, so that the same commit gives the same packages.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=0
  export SOURCE_DATE_EPOCH
fi

# The target that is built on this machine.
this_target() {
  case "$(uname -s) $(uname -m)" in
    'Linux x86_64') echo x86_64-unknown-linux-musl ;;
    'Linux aarch64') echo aarch64-unknown-linux-musl ;;
    'Darwin x86_64') echo x86_64-apple-darwin ;;
    'Darwin arm64') echo aarch64-apple-darwin ;;
    *) die "no packages are made on $(uname -s) $(uname -m)" ;;
  esac
}

# unpack TARGET FOLDER: the contents of the archive of TARGET, without its outer folder.
unpack() {
  archive=$packages/threadkeep-$version-$1.tar.gz
  [ -f "$archive" ] || die "missing: $archive (run packaging/binary.sh first)"
  tar -xzf "$archive" -C "$2" --strip-components 1
}

# pack FOLDER NAME ARCHIVE: FOLDER/NAME as a .tar.gz that depends only on the contents.
pack() {
  if tar --version | grep -q GNU; then
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf "$scratch/tar" -C "$1" "$2"
  else
    tar -cf "$scratch/tar" -C "$1" "$2"
  fi
  gzip -9nc "$scratch/tar" >"$3.new"
  mv "$3.new" "$3"
}

# A folder that is removed when the script ends.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
