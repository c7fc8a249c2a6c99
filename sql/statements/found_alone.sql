-- The hits, where no turns are added.
SELECT ranked.* FROM ranked
