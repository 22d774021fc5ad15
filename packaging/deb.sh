#!/bin/sh
# Makes the Debian package from the archive of packaging/binary.sh: target/packages/threadkeep_VERSION_ARCH.deb.
# MAINTAINER='Name <address>' says who answers for it.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=packaging/common.sh
. packaging/common.sh

need dpkg-deb dpkg
target=$(this_target)
case $target in
  x86_64-unknown-linux-musl) arch=amd64 ;;
  aarch64-unknown-linux-musl) arch=arm64 ;;
  *) die "a Debian package is made on Linux" ;;
esac
maintainer=${MAINTAINER:-The Threadkeep authors <threadkeep@localhost>}
umask 022
mkdir "$scratch/archive" "$scratch/root"
unpack "$target" "$scratch/archive"
from=$scratch/archive
root=$scratch/root

install -D -m 0755 "$from/threadkeep" "$root/usr/bin/threadkeep"
install -D -m 0644 packaging/debian/threadkeep.toml "$root/etc/threadkeep.toml"
install -d "$root/usr/lib/systemd/system"
sed 's|/usr/local/bin/|/usr/bin/|' packaging/threadkeep.service >"$root/usr/lib/systemd/system/threadkeep.service"
install -D -m 0644 "$from/completions/threadkeep.bash" "$root/usr/share/bash-completion/completions/threadkeep"
install -D -m 0644 "$from/completions/_threadkeep" "$root/usr/share/zsh/vendor-completions/_threadkeep"
install -D -m 0644 "$from/completions/threadkeep.fish" "$root/usr/share/fish/vendor_completions.d/threadkeep.fish"
install -d "$root/usr/share/man/man1"
install -m 0644 "$from"/man/*.1 "$root/usr/share/man/man1/"
gzip -9n "$root"/usr/share/man/man1/*.1
doc=$root/usr/share/doc/threadkeep
install -D -m 0644 packaging/debian/copyright "$doc/copyright"
gzip -9nc "$from/CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
date=$(LC_ALL=C date -R -u -d "@$SOURCE_DATE_EPOCH")
printf 'threadkeep (%s) unstable; urgency=medium\n\n  * CHANGELOG.md.gz has the changes.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$date" | gzip -9n >"$doc/changelog.gz"
install -D -m 0644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/threadkeep"

install -d "$root/DEBIAN"
size=$(du -k -s --apparent-size "$root" | cut -f 1)
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/; s|@MAINTAINER@|$maintainer|" \
  packaging/debian/control >"$root/DEBIAN/control"
echo /etc/threadkeep.toml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
  install -m 0755 "packaging/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

package=$packages/threadkeep_${version}_$arch.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package.new" >/dev/null
mv "$package.new" "$package"
say "made $package ($(wc -c <"$package") bytes)"
packaging/checksums.sh
