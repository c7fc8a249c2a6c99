-- The ids to read to one place: those of the best.
SELECT ranked.id FROM ranked
