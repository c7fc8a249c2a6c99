-- No event tells of a retrieval, so recorded queries are ranked as if there had been none.
SELECT memory_usage.* FROM pgrecall.memory_usage WHERE false
