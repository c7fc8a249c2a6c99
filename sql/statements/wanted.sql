-- The judged memories among them.
SELECT scored.* FROM scored WHERE scored.id = ANY (:judged_ids::uuid[])
