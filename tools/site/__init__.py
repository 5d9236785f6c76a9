"""The documentation's site: generates what its pages say about games, agents and modules from the library itself.

`directives` is the Sphinx extension that `docs/conf.py` loads. The other modules do not need Sphinx.
"""
