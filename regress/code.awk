# SPDX-License-Identifier: ISC
# code.awk: the code of a line of C, for scripts that look through sources line by
# line. in_comment is 1 inside a comment of several lines; who reads several files
# sets it to 0 at the first line of each.

# The line without comments, and without what is in its strings.
function code(s,   from, to) {
	if (in_comment) {
		if ((to = index(s, "*/")) == 0)
			return ""
		s = substr(s, to + 2)
		in_comment = 0
	}
	gsub(/"([^"\\]|\\.)*"/, "\"\"", s)
	while ((from = index(s, "/*")) > 0) {
		to = index(substr(s, from + 2), "*/")
		if (to == 0) {
			in_comment = 1
			return substr(s, 1, from - 1)
		}
		s = substr(s, 1, from - 1) " " substr(s, from + to + 3)
	}
	return s
}
