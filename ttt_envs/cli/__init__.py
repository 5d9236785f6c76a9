"""The command `ttt`: one file a verb, one shell for all of them."""
