#!/bin/sh
# Makes npm packages from the archives in target/packages: one for each platform with its binary, and the launcher
# `threadkeep`, which depends on them.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=packaging/common.sh
. packaging/common.sh

need npm npm
mkdir -p "$packages/npm"
out=$(cd "$packages/npm" && pwd)
common="\"version\": \"$version\", \"description\": \"A thread engine for AI agents: the binary\", \"license\": \"MIT OR Apache-2.0\""

# publishable FOLDER: the package in FOLDER as a file.
publishable() { say "made $out/$(cd "$1" && npm pack --silent --pack-destination "$out")"; }

made=0
platforms=
for row in 'linux x64 x86_64-unknown-linux-musl' 'linux arm64 aarch64-unknown-linux-musl' \
  'darwin x64 x86_64-apple-darwin' 'darwin arm64 aarch64-apple-darwin'; do
  # shellcheck disable=SC2086 # three words
  set -- $row
  platforms="$platforms${platforms:+, }\"@threadkeep/$1-$2\": \"$version\""
  if [ ! -f "$packages/threadkeep-$version-$3.tar.gz" ]; then
    say "skipped @threadkeep/$1-$2: there is no archive for $3"
    continue
  fi
  folder=$scratch/$1-$2
  mkdir -p "$scratch/$3" "$folder/bin"
  unpack "$3" "$scratch/$3"
  install -m 0755 "$scratch/$3/threadkeep" "$folder/bin/threadkeep"
  cp LICENSE-MIT LICENSE-APACHE "$folder/"
  echo "The binary of \`threadkeep\` for $1 on $2. Install \`threadkeep\` instead." >"$folder/README.md"
  echo "{ \"name\": \"@threadkeep/$1-$2\", $common, \"os\": [\"$1\"], \"cpu\": [\"$2\"], \"files\": [\"bin\"] }" >"$folder/package.json"
  publishable "$folder"
  made=$((made + 1))
done
[ "$made" -gt 0 ] || die "no archives of version $version in $packages (run packaging/binary.sh first)"

folder=$scratch/launcher
mkdir "$folder"
install -m 0755 packaging/npm/threadkeep.js "$folder/threadkeep.js"
cp packaging/npm/README.md LICENSE-MIT LICENSE-APACHE "$folder/"
cat >"$folder/package.json" <<JSON
{ "name": "threadkeep", $common, "bin": { "threadkeep": "threadkeep.js" }, "files": ["threadkeep.js", "LICENSE-*"],
  "engines": { "node": ">=20" }, "optionalDependencies": { $platforms } }
JSON
publishable "$folder"
