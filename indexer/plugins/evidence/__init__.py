"""What sources cover of a claim, sentence by sentence, and the changes between two versions of a text.

It adds the operations `compare` and `changes`, their views in a terminal and on a page, and the command `compare`. Its
numerics, the other half of the plug-in, are `rerank.plugins.evidence`. A server's page shows what the method `page` of
an operation returns. Those who check summaries and answers against their sources use it, and editors.
"""
