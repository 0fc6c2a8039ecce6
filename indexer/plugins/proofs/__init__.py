"""Proofs that the hits of a search are the nearest documents, and a verifier of them that runs alone.

It adds the command `verify` and three operations, which servers do not answer: `prove` writes the file of a proof, for
`search --proof` and `similar --proof`; `digest` names the documents that proofs are about, for `info --digest`;
`check-searches` proves searches of stored documents, for `check --searches`. It needs a collection in one place. Those
who must show others that no nearer document was left out use it, and whoever doubts a search.
"""
