"""The reranking stage in the interfaces of other libraries, one module for each host; nothing else imports them."""
