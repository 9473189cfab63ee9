"""The tests against packages on npm are there where these packages are."""

from tests.senders import corpus_npm

collect_ignore = [] if corpus_npm.folder() else ["test_corpus_npm.py"]
