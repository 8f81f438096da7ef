#!/bin/sh
# SPDX-License-Identifier: ISC
# release.sh TAG DIRECTORY: what is published for a tag (v1.2.3): the source
# tarball, a bill of materials of a build of it, where it all comes from, and
# SHA256SUMS of all files in the directory, packages that are there already too.
# Beside them NOTES.md, the text of the release: its section of CHANGELOG.md.
# It refuses a tree with changes, a tag that is not the commit that is checked
# out, a tag that is not the version of configure.ac, and a version that
# CHANGELOG.md does not have or calls unreleased.
# release.sh -c TAG: only checks
# release.sh -s KEY DIRECTORY: signs SHA256SUMS, by ssh-keygen (KEY is a file; for
#   one in an agent its public half), to SHA256SUMS.sig
# release.sh -v SIGNERS DIRECTORY: checks the signature (SIGNERS is a file of
#   allowed signers) and that the files are those of SHA256SUMS, no more, no less
# release.sh -a KEY DEBS DIRECTORY: a repository for apt of the packages below DEBS,
#   signed by gpg (build-aux/apt-repository.sh)
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
check=
[ "${1:-}" != -c ] || { check=yes; shift; }

die()
{
	printf 'release.sh: %s\n' "$*" >&2
	exit 1
}

# notes VERSION: what stands below its heading in CHANGELOG.md.
notes()
{
	awk -v version="$1" '
		/^## / { mine = ($2 == version); next }
		mine' "$top/CHANGELOG.md" |
		sed -e '/./,$!d'
}

namespace=hpn-ssh-release
keygen=${SSH_KEYGEN:-ssh-keygen}

# files: those of the directory that are published, but for SHA256SUMS and what
# follows from it.
files()
{
	find . -type f ! -name NOTES.md ! -name 'SHA256SUMS*' -printf '%P\0' |
		LC_ALL=C sort -z
}

sign()
{
	cd "$2" && [ -s SHA256SUMS ] || die "there is no SHA256SUMS in $2"
	sha256sum -c --quiet --strict SHA256SUMS || die "a file has changed"
	rm -f SHA256SUMS.sig
	"$keygen" -q -Y sign -n "$namespace" -f "$1" SHA256SUMS &&
		[ -s SHA256SUMS.sig ] || die "SHA256SUMS is not signed"
}

verify()
{
	signers=$(realpath "$1") || exit 1
	cd "$2" || exit 1
	who=$("$keygen" -Y find-principals -f "$signers" -s SHA256SUMS.sig |
		head -n 1) && [ -n "$who" ] || die "nobody of $1 has signed this"
	"$keygen" -Y verify -f "$signers" -I "$who" -n "$namespace" \
		-s SHA256SUMS.sig <SHA256SUMS || die "the signature is wrong"
	sha256sum -c --quiet --strict SHA256SUMS || die "a file has changed"
	[ "$(files | xargs -0 -n 1 printf '%s\n')" = "$(sed 's/^[0-9a-f]* [ *]//' \
		SHA256SUMS)" ] || die "there are files that are not in SHA256SUMS"
}

case ${1:-} in
-a)
	shift
	exec sh "$top/build-aux/apt-repository.sh" "$@" ;;
-s | -v)
	[ $# = 3 ] || { sed -n '3,18s/^# \{0,1\}//p' "$0" >&2; exit 1; }
	case $1 in
	-s) key=$(realpath "$2") && sign "$key" "$3" ;;
	-v) verify "$2" "$3" ;;
	esac
	exit 0 ;;
esac

[ -n "$check" ] && [ $# = 1 ] || [ $# = 2 ] || { sed -n '3,18s/^# \{0,1\}//p' "$0" >&2; exit 1; }
tag=$1 version=${1#v}
[ "$tag" = "v$version" ] || die "a tag is v and the version, not $tag"
[ -z "$(git -C "$top" status --porcelain)" ] ||
	die "the tree has changes that are not committed"
commit=$(git -C "$top" rev-parse -q --verify "refs/tags/$tag^{commit}") ||
	die "there is no tag $tag"
[ "$commit" = "$(git -C "$top" rev-parse HEAD)" ] ||
	die "$tag is not the commit that is checked out"
here=$(sed -n 's/^AC_INIT(\[HPN-SSH\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
[ "$here" = "$version" ] || die "$tag, but configure.ac has version $here"
heading=$(awk -v version="$version" '/^## / && $2 == version' \
	"$top/CHANGELOG.md")
case $heading in
'') die "CHANGELOG.md has no heading for $version" ;;
*unreleased*) die "CHANGELOG.md calls $version unreleased" ;;
esac
[ -n "$(notes "$version")" ] || die "CHANGELOG.md says nothing of $version"
[ -z "$check" ] || exit 0

mkdir -p "$2"
to=$(cd "$2" && pwd)
case $to/ in
"$top"/*) die "the directory is in the tree: take one outside" ;;
esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-release.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
name=hpn-ssh-$version
sh "$top/build-aux/dist.sh" "$to"
# packaging/make-rpm.sh has built one such tarball.
tar -C "$scratch" -xf "$to/$name.tar.gz"
mkdir "$scratch/build"
if ! (cd "$scratch/build" && "../$name/configure" -q) \
	>"$scratch/log" 2>&1; then
	tail -n 20 "$scratch/log" >&2
	die "configure of the tarball fails"
fi
SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct) \
	python3 "$top/build-aux/sbom.py" "$scratch/build" \
	>"$to/$name.spdx.json"
mkdir "$scratch/recipes"
sh "$top/packaging/recipes.sh" "$to/$name.tar.gz" \
	"$scratch/recipes/$name-recipes"
tar -C "$scratch/recipes" --sort=name --owner=0 --group=0 --numeric-owner \
	--mtime="@$(git -C "$top" log -1 --format=%ct)" -cf - "$name-recipes" |
	gzip -9n >"$to/$name-recipes.tar.gz"
notes "$version" >"$to/NOTES.md"
rm -f "$to"/SHA256SUMS* "$to/$name.provenance.json"
(cd "$to" && files | xargs -0 sha256sum) >"$scratch/sums"
python3 "$top/build-aux/provenance.py" "$tag" "$commit" <"$scratch/sums" \
	>"$scratch/provenance"
mv "$scratch/provenance" "$to/$name.provenance.json"
(cd "$to" && files | xargs -0 sha256sum) >"$scratch/sums"
mv "$scratch/sums" "$to/SHA256SUMS"
cat "$to/SHA256SUMS"
