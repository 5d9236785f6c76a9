"""The documentation's site: what its pages say of games, agents, commands and modules is made from these.

`directives` is the extension of Sphinx that `docs/conf.py` loads. The other modules work out what to show, as Markdown,
and need no Sphinx.
"""
