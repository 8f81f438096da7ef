/* SPDX-License-Identifier: ISC */
/* What hpnsync --help shows. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "What is copied" },
	{ "-a", "all of a tree: -rlptgoD" },
	{ "-r", "directories with all that is in them" },
	{ "-d", "directories without what is in them" },
	{ "-l", "symbolic links as such" },
	{ "-L, -k", "what links lead to; what links to directories lead to" },
	{ "-D, --devices, --specials", "device files, FIFOs and sockets" },
	{ "-x", "not what is on other file systems" },
	{ "-R", "keep the whole path of each source" },
	{ "-m", "no empty directories" },
	{ "--files-from=file", "only the names in the file" },
	{ "--max-size=size, --min-size=size", "only files of such sizes" },
	{ "--exclude=pattern, --include=pattern", "leave out, or not" },
	{ "--exclude-from=file, --include-from=file", "patterns in a file" },
	{ "-f rule", "a rule: merge, dir-merge, protect, hide and so on" },
	{ "-F", "rules in .rsync-filter of each directory" },
	{ "-C", "without what version control and builds leave" },
	{ NULL, "Which attributes" },
	{ "-p, -E", "permissions; only whether a file is a program" },
	{ "-t, -O, -J", "times; not of directories; not of links" },
	{ "-o, -g, --numeric-ids", "owner and group, by name or by number" },
	{ "-X, -A", "extended attributes; ACLs, which is -p, too" },
	{ "--chmod=changes, --chown=user:group",
	    "other ones than the source's" },
	{ NULL, "Which files have changed" },
	{ "-u", "leave alone what is newer at the target" },
	{ "-c", "compare digests, not size and time" },
	{ "-I, --size-only", "all of them; only those of another size" },
	{ "--modify-window=seconds", "times so near are equal" },
	{ "--existing, --ignore-existing", "nothing new; only what is new" },
	{ NULL, "What is deleted" },
	{ "--delete", "what the source does not have, after all else" },
	{ "--delete-excluded", "also what the rules exclude" },
	{ "--max-delete=number", "nothing, if it were more than so many" },
	{ "--ignore-errors, --force", "also after errors; directories for "
				     "files" },
	{ "-b, --backup-dir=dir, --suffix=text", "keep what is replaced" },
	{ "--remove-source-files", "files of the source, once they are there" },
	{ "--break-lock", "another run that holds the target is dead" },
	{ NULL, "How it goes on" },
	{ "-n", "only tell what would be done" },
	{ "-e command", "ssh with its options: -e 'ssh -p 22 -i key'" },
	{ "--sftp-server=command", "what serves the host's files: 'sudo -n "
				   "/usr/libexec/hpnsftp-server'" },
	{ "-j number|auto", "so many connections" },
	{ "--retry[=times]", "make a lost connection again (40 times)" },
	{ "--partial, -P", "keep parts, which are kept anyway; -P: --progress "
			   "as well" },
	{ "-H", "hard links stay such" },
	{ "--link-dest=dir", "what dir has becomes a hard link to it" },
	{ "--compare-dest=dir, --copy-dest=dir", "is left out; is copied" },
	{ "-y, --detect-renames", "look into files with similar names; into "
				  "those that --delete deletes" },
	{ "-W", "send files whole, also what an old target has" },
	{ "--inplace, -S, --fsync", "write the target itself; holes; to disk" },
	{ "--append-verify", "only files that have grown, in place" },
	{ "--verify", "compare both ends of each file" },
	{ "-z, --bwlimit=rate", "compress; at most so many KiB/s" },
	{ "--timeout=seconds, --stop-after=time", "give up; stop, and go on "
						  "later" },
	{ "-4, -6", "IPv4 only, IPv6 only" },
	{ NULL, "In parts, by many processes" },
	{ "--plan=dir --shards=number", "divide what is to be copied" },
	{ "--shard=i[/number] --job=dir", "copy one of the shards" },
	{ "--finish=dir", "all that is left, and deletes" },
	{ NULL, "What is told" },
	{ "-v, -i, -q", "names; what of each differs; errors only" },
	{ "--progress[=style]", "tty, plain or none" },
	{ "--manifest=file", "digests of all files, as sha256sum writes "
			     "them" },
	{ "--check=file [--extra] tree", "is the tree what the manifest has?" },
	{ "--stats, --json, -h", "sums; events for programs; short numbers" },
	{ "--report=file", "a page about the run, for a browser" },
	{ "--out-format=text, --log-file=file", "a line for each; a log" },
	{ NULL, "About" },
	{ "--help", "this list" },
	{ "-V", "the version" },
	{ NULL, NULL },
};

const struct help sync_help = {
	.manual = "hpnsync",
	.usage = "hpnsync [option ...] source ... target\n"
	    "  one side may be [user@]host:path; \"dir/\" is what is in dir, "
	    "\"dir\" is dir itself",
	.rows = rows,
	.foot = "Options mean what they mean to rsync(1). --no-OPTION takes "
		"one back.\n",
};
