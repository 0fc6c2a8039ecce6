"""The reranking stage in the interfaces of other libraries, one module for each host; nothing else imports them.

It needs the host that it is named after, an extra each; engineers with a pipeline of that host use it.
"""
