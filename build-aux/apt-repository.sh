#!/bin/sh
# SPDX-License-Identifier: ISC
# apt-repository.sh KEY DEBS DIRECTORY: makes a repository for apt of the Debian
# packages below DEBS, as files that any web server can give out, in a directory
# that is not there yet. KEY is who signs it, as gpg names keys. What a user needs
# is in it too: hpn-ssh.gpg (the public key) and hpn-ssh.sources.
set -eu
[ $# = 3 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 1; }
key=$1
url=https://hpn-ssh.invalid/apt

die()
{
	printf 'apt-repository.sh: %s\n' "$*" >&2
	exit 1
}

for tool in dpkg-scanpackages gpg; do
	command -v $tool >/dev/null ||
		die "$tool is missing (Debian packages: dpkg-dev, gpg)"
done
[ ! -e "$3" ] || die "$3 is there already"
made=$3.part.$$
trap 'rm -rf "$made"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$made/pool"
# dpkg-scanpackages finds packages by what their files are called.
find "$2" -name '*.deb' -type f -exec sh -ec '
	name=$(dpkg-deb --show --showformat \
		"\${Package}_\${Version}_\${Architecture}.deb" "$2")
	cp "$2" "$1/pool/$(echo "$name" | sed "s/_[0-9]*:/_/")"' sh "$made" {} \;
[ -n "$(ls "$made/pool")" ] || die "there are no packages below $2"
cd "$made"
arches=$(for deb in pool/*.deb; do dpkg-deb -f "$deb" Architecture; done |
	sort -u | grep -vx all || :)
for arch in ${arches:-amd64}; do
	list=dists/stable/main/binary-$arch
	mkdir -p "$list"
	dpkg-scanpackages -m -a "$arch" pool >"$list/Packages" 2>scan.log || {
		cat scan.log >&2
		die "dpkg-scanpackages failed"
	}
	[ -s "$list/Packages" ] || die "no package for $arch is found"
	gzip -9nk "$list/Packages"
done
rm -f scan.log
cd dists/stable
{
	cat <<END
Origin: HPN-SSH
Label: HPN-SSH
Suite: stable
Codename: stable
Date: $(LC_ALL=C date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" '+%a, %d %b %Y %H:%M:%S UTC')
Architectures: $(echo ${arches:-amd64})
Components: main
SHA256:
END
	find main -type f | LC_ALL=C sort | while read -r file; do
		printf ' %s %s %s\n' "$(sha256sum <"$file" | cut -d' ' -f1)" \
			"$(wc -c <"$file")" "$file"
	done
} >Release
gpg --batch --quiet --local-user "$key" --armor --detach-sign \
	--output Release.gpg Release
gpg --batch --quiet --local-user "$key" --clearsign --output InRelease Release
cd ../..
gpg --batch --quiet --export "$key" >hpn-ssh.gpg
[ -s hpn-ssh.gpg ] || die "gpg has no public key $key"
cat >hpn-ssh.sources <<END
Types: deb
URIs: $url
Suites: stable
Components: main
Signed-By: /usr/share/keyrings/hpn-ssh.gpg
END
cd ..
mv "$made" "$3"
