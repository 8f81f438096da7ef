# SPDX-License-Identifier: ISC
# What ./configure leaves as the Makefile of the tree itself: all that is built is
# in obj/, and each goal is handed on to the Makefile there.
goals = $(or $(MAKECMDGOALS),all)
.PHONY: in-obj $(goals)
$(goals): in-obj
	@:
# distclean has left nothing in it.
in-obj:
	@$(MAKE) -C obj dist_to=.. $(goals)
	@[ -e obj/Makefile ] || rm -rf obj Makefile
