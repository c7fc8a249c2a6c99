-- The ids to read to one place: those of the best and of the turns beside them.
SELECT ranked.id FROM ranked UNION SELECT beside.id FROM beside
