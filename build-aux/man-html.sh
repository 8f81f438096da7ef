#!/bin/sh
# SPDX-License-Identifier: ISC
# man-html.sh DIRECTORY: makes an HTML page of each manual page that lies in the
# directory, with links between them, and index.html, which tells what each of
# them is about. A page of another program is a link to Debian's.
set -eu
cd "$1"
command -v mandoc >/dev/null ||
	{ echo "make html needs mandoc (Debian package: mandoc)" >&2; exit 1; }

cat >man.css <<'END'
body { max-width: 45em; margin: 1em auto; padding: 0 1em; line-height: 1.4;
	font-family: sans-serif; color: #222; background: #fff; }
table.head, table.foot { width: 100%; color: #666; }
td.head-vol, td.foot-os { text-align: center; }
td.head-rtitle, td.foot-date { text-align: right; }
.Nm, .Fl, .Cm, .Ic { font-family: monospace; font-weight: bold; }
.Pa, .Ar { font-style: italic; }
.Nd, .Op { display: inline; }
.Bd-indent, .D1 { margin-left: 2em; }
pre, .D1 { overflow-x: auto; background: #f4f4f4; padding: 0.4em; }
dl.Bl-tag > dt { margin-top: 0.6em; }
dl.Bl-compact > dt { margin-top: 0; }
a.permalink { color: inherit; text-decoration: none; }
a.permalink:hover { text-decoration: underline; }
END

# mandoc links to a page of ours if its file is there.
ours='%N.%S.html'
others='https://manpages.debian.org/%N.%S'
for page in *.[158]; do
	: >"$page.html"
done
{
	echo '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
	echo '<title>Manual of HPN-SSH</title>'
	echo '<link rel="stylesheet" href="man.css"></head><body>'
	echo '<h1>Manual of HPN-SSH</h1><dl>'
} >index.html
for page in *.[158]; do
	mandoc -T html -O "toc,style=man.css,man=$ours;$others" \
	    "$page" >"$page.html"
	about=$(sed -n 's/^\.Nd //p' "$page")
	printf '<dt><a href="%s.html">%s(%s)</a></dt><dd>%s</dd>\n' "$page" \
		"${page%.*}" "${page##*.}" "$about" >>index.html
	rm "$page"
done
echo '</dl></body></html>' >>index.html
