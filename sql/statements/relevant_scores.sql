-- Those of relevant memories.
SELECT scores.* FROM scores WHERE scores.gain > 0
