"""More than one process or machine: corpora in shards, and studies on Ray.

A corpus is cut into shards (`shards`), a manifest says which are done (`manifest`), and a crew runs them:
worker processes of this machine (`processes`) or actors of Ray (`ray_engine`). What is done with a shard is a
`Work`: `explaining` or `evaluating`.
"""
