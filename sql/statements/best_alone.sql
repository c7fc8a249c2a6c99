-- Best first, ties by id.
SELECT ranked.* FROM ranked ORDER BY ranked.score DESC, ranked.id
