SELECT ranked.id FROM ranked UNION SELECT beside.id FROM beside
