-- All that was found.
SELECT found.* FROM found
