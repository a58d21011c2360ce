#!/bin/sh
# Builds the Debian package into a folder: deb.sh FOLDER [COMMAND]. Without COMMAND, it builds the command itself.
set -eu
cd "$(dirname "$0")/.."
out=${1:?the folder of the package}
command -v dpkg-deb >/dev/null || { echo "dpkg-deb is not installed: this needs Debian or a system like it" >&2; exit 1; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
umask 022
chmod 0755 "$tree"
mkdir -p "$out" "$tree/DEBIAN" "$tree/usr/bin" "$tree/etc/redrive" "$tree/lib/systemd/system" "$tree/usr/share/doc/redrive"
if [ -n "${2:-}" ]; then
	install -m 0755 "$2" "$tree/usr/bin/redrive"
else
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o "$tree/usr/bin/redrive" ./cmd/redrive
fi
install -m 0644 packaging/redrive.yaml "$tree/etc/redrive/redrive.yaml"
install -m 0644 packaging/redrive.service "$tree/lib/systemd/system/redrive.service"
install -m 0644 LICENSE "$tree/usr/share/doc/redrive/copyright"
version=$(git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//' || true)
[ -n "$version" ] || version=0.0.0~$(git log -1 --format=%cd.%h --date=format:%Y%m%d 2>/dev/null || echo dev)
size=$(du -sk "$tree" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$(dpkg --print-architecture)/" -e "s/@SIZE@/$size/" packaging/deb/control >"$tree/DEBIAN/control"
install -m 0644 packaging/deb/conffiles "$tree/DEBIAN/conffiles"
install -m 0755 packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm "$tree/DEBIAN/"
dpkg-deb --root-owner-group --build -Zgzip "$tree" "$out/redrive_${version}_$(dpkg --print-architecture).deb"
