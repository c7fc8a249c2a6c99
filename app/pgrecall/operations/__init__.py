"""The operations of a repository, each written once as a generator of steps.

Checks come first, then embedding, then the database: bad input costs no connection, and no
connection is held while a model computes. Their docstrings are those of the repositories.
"""
